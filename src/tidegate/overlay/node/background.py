"""A peer for programs that do not run on an event loop: it lives in a thread, and is asked from any other."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from tidegate.overlay.node.node import Node
from tidegate.overlay.node.settings import NodeSettings

_T = TypeVar("_T")


class BackgroundNode:
    """Open from `open` to `close`; what it is asked is done on the peer's own loop."""

    def __init__(self, settings: NodeSettings) -> None:
        """Nothing is opened yet."""
        self._settings = settings
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._node: Node | None = None

    @property
    def is_open(self) -> bool:
        """Whether the peer is there."""
        return self._node is not None

    def open(self) -> None:
        """Start the peer, unless it has been; what it refuses is raised here."""
        if self.is_open:
            return
        self._loop = asyncio.new_event_loop()
        # Nobody need wait for it at the end of a program that was not ended by `close`.
        self._thread = threading.Thread(target=self._loop.run_forever, name="peer", daemon=True)
        self._thread.start()
        node = Node(self._settings)
        try:
            self._run(node.__aenter__())
        except BaseException:
            self._end()
            raise
        self._node = node

    def ask(self, what: Callable[[Node], Coroutine[Any, Any, _T]]) -> _T:
        """Have something done with the peer, which is open, and return what comes of it."""
        assert self._node is not None, "the peer is not open"
        return self._run(what(self._node))

    def close(self) -> None:
        """Let the peer take its leave."""
        if self._node is not None:
            node, self._node = self._node, None
            self._run(node.__aexit__())
            self._end()

    def _run(self, what: Coroutine[Any, Any, _T]) -> _T:
        assert self._loop is not None
        return asyncio.run_coroutine_threadsafe(what, self._loop).result()

    def _end(self) -> None:
        assert self._loop is not None
        assert self._thread is not None
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
