"""Group commit: calls that come while a commit is under way share the next one."""

import time
from collections.abc import Callable
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Any

# Callers who were answered together ask again together: so long is waited for the rest of them.
_GATHERING_S = 0.002
# A thread with nothing to do ends; the next call starts another.
_IDLE_S = 5.0


class GroupCommit:
    """A call returns when its own change is committed; a thread of its own commits for all who wait."""

    def __init__(self, commit: Callable[[list[Any]], int]) -> None:
        """Commit groups of changes, in the order of their coming, by `commit`, which returns their version."""
        self._commit = commit
        self._waiting: SimpleQueue[tuple[Any, Future[int]]] = SimpleQueue()
        self._lock = Lock()
        self._running = False

    def submit(self, change: Any) -> int:
        """Return the version of the commit that made the change; raise what the commit raised."""
        ticket: Future[int] = Future()
        with self._lock:
            self._waiting.put((change, ticket))
            if not self._running:
                self._running = True
                Thread(target=self._run, name="tidegate-group-commit", daemon=True).start()
        return ticket.result()

    def _run(self) -> None:
        several = False
        while group := self._next(several):
            several = len(group) > 1
            try:
                version = self._commit([change for change, _ in group])
            except Exception as error:  # whatever it is, it belongs to the callers
                for _, ticket in group:
                    ticket.set_exception(error)
            else:
                for _, ticket in group:
                    ticket.set_result(version)

    def _next(self, gather: bool) -> list[tuple[Any, Future[int]]]:
        """Everything that waits; nothing if nothing came for a while, and then the thread is over."""
        try:
            group = [self._waiting.get(timeout=_IDLE_S)]
        except Empty:
            with self._lock:
                self._running = not self._waiting.empty()
                return [self._waiting.get()] if self._running else []
        if gather:
            time.sleep(_GATHERING_S)
        while not self._waiting.empty():
            group.append(self._waiting.get())
        return group
