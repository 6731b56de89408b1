"""Events that wait for the reader of a peer: each once, and no more of them than there is room for."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Final, NamedTuple

from tidegate.overlay.node.messages import Event
from tidegate.overlay.node.seen import Seen

_MOST: Final = 10_000
_MOST_BYTES: Final = 1 << 26


class Delivered(NamedTuple):
    """An event of a topic that the peer is subscribed to."""

    topic: str
    body: bytes
    id: bytes

    @property
    def text(self) -> str:
        """The body as text; what is none is marked."""
        return self.body.decode(errors="replace")

    def to_json(self) -> str:
        """One line for it."""
        return json.dumps({"topic": self.topic, "text": self.text, "id": self.id.hex()}, ensure_ascii=False)


class Unread:
    """A queue for one reader, until `end`."""

    def __init__(self) -> None:
        """Nothing waits yet."""
        self._queue: asyncio.Queue[Delivered | None] = asyncio.Queue()
        self._bytes = 0
        self._told = Seen()

    def __contains__(self, id_: bytes) -> bool:
        """Whether the reader has been told, or will be, as far as is remembered."""
        return id_ in self._told

    @property
    def is_full(self) -> bool:
        """Whether as much waits as may."""
        return self._queue.qsize() >= _MOST or self._bytes >= _MOST_BYTES

    def skip(self, id_: bytes) -> None:
        """Take an event for told: the reader published it itself."""
        self._told.add(id_)

    def put(self, event: Event) -> None:
        """Keep an event that the reader has not been told."""
        self._told.add(event.id)
        self._bytes += len(event.body)
        self._queue.put_nowait(Delivered(event.topic, event.body, event.id))

    def end(self) -> None:
        """Let the reader know that nothing more comes."""
        self._queue.put_nowait(None)

    async def events(self) -> AsyncIterator[Delivered]:
        """Tell of events as they come, until the end."""
        while (event := await self._queue.get()) is not None:
            self._bytes -= len(event.body)
            yield event
        # Whoever asks again is told so, too.
        self.end()
