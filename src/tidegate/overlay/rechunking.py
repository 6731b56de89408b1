"""Adaptive rechunking: a core that recombines chunks in a row, so that guards between them go no further."""

from collections.abc import Iterator
from math import inf
from typing import Final, Literal

from tidegate.rank.chunks import Chunk, recombined
from tidegate.rank.event import Event
from tidegate.rank.messages import Assembly, End, Message, Part, Start
from tidegate.rank.windows import Windows

_ROLES: Final[tuple[Literal["left", "top", "right"], ...]] = ("left", "top", "right")


class Rechunker:
    """For the streams of one source. It forwards chunks as a whole: winners wait for the end of the last."""

    def __init__(self, together: int, windows: dict[str, Windows]) -> None:
        """Recombine so many chunks into one, of streams with these windows."""
        self._together, self._windows = together, windows
        self._assembly = Assembly()
        self._held: dict[str, tuple[int, int, Chunk]] = {}
        """By stream, of the chunks so far: the number of the first, how many they are, and what they make."""

    def receive(self, message: Message) -> Iterator[Message]:
        """Take a message of a chunk, and yield what is to be sent on."""
        chunk = self._assembly.receive(message)
        if chunk is None:
            return
        assert isinstance(message, End)
        name = message.feed
        number, count, whole = message.chunk, 1, chunk
        if name in self._held:
            number, count, before = self._held[name]
            count, whole = count + 1, recombined(before, chunk, self._windows[name])
        self._held[name] = number, count, whole
        if count == self._together:
            yield from self._released(name, message.oldest)

    def flush(self) -> Iterator[Message]:
        """Yield what is held, as no more chunks will come."""
        for name in list(self._held):
            yield from self._released(name, inf)

    def _released(self, name: str, oldest: float) -> Iterator[Message]:
        number, _, chunk = self._held.pop(name)
        # Those that are held are under way still.
        since = [whole.left[0].time for _, _, whole in self._held.values()]
        yield from messages_of(chunk, name, number, self._windows[name].width, min([oldest, *since]))


def messages_of(chunk: Chunk, feed: str, number: int, width: int, oldest: float) -> Iterator[Message]:
    """Yield a chunk as the messages that it would have been told by as it grew, though in another order."""
    yield Start(feed, number, width)
    sent: set[Event] = set()
    for role, events in zip(_ROLES, (chunk.left, chunk.tops, chunk.right), strict=True):
        for event in events:
            rank = chunk.tops[event] if role == "top" else 0
            yield Part(feed, number, role, event, rank, event not in sent)
            sent.add(event)
    yield End(feed, number, chunk.length, oldest)
