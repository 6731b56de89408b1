"""What brokers tell each other of a chunk while it is still growing, and the chunk that comes of it."""

from dataclasses import dataclass, field
from math import inf
from typing import Literal, NamedTuple

from tidegate.errors import PipelineError
from tidegate.rank.chunks import Chunk
from tidegate.rank.event import Event


class Start(NamedTuple):
    """A chunk of a feed begins."""

    feed: str
    chunk: int
    width: int
    """How many events make a guard."""


class Part(NamedTuple):
    """An event of a chunk, and what it is there for; the same event may be a guard and win windows."""

    feed: str
    chunk: int
    role: Literal["left", "right", "top"]
    event: Event
    rank: int = 0
    """Of one that won: the best rank so far."""
    is_news: bool = True
    """Whether it has not been sent in this chunk before: if it has, its id is enough."""


class End(NamedTuple):
    """A chunk is complete."""

    feed: str
    chunk: int
    length: int
    oldest: float = inf
    """No chunk that is under way anywhere behind has an event from before this time."""


Message = Start | Part | End


@dataclass
class _Open:
    left: list[Event] = field(default_factory=list)
    right: list[Event] = field(default_factory=list)
    tops: dict[Event, int] = field(default_factory=dict)


class Assembly:
    """Puts the messages of chunks together; chunks of several feeds and sources may arrive at the same time."""

    def __init__(self) -> None:
        """Expect nothing yet."""
        self._open: dict[tuple[str, int], _Open] = {}

    def receive(self, message: Message) -> Chunk | None:
        """Return the chunk that a message completes; None for all others."""
        name = message.feed, message.chunk
        if isinstance(message, Start):
            self._open[name] = _Open()
            return None
        if name not in self._open:
            raise PipelineError(f"chunk {message.chunk} of feed {message.feed} goes on, but has not begun")
        known = self._open[name]
        if isinstance(message, End):
            del self._open[name]
            return Chunk(message.length, tuple(known.left), tuple(known.right), known.tops)
        if message.role == "top":
            known.tops[message.event] = min(message.rank, known.tops.get(message.event, message.rank))
        else:
            (known.left if message.role == "left" else known.right).append(message.event)
        return None
