"""At the subscriber's edge: what is delivered of a feed, and when it can be."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from tidegate.rank.chunks import Chunk
from tidegate.rank.dechunking import Dechunker
from tidegate.rank.event import Event, best
from tidegate.rank.windows import Windows


@dataclass
class _Open:
    """A chunk that still grows."""

    left: list[Event] = field(default_factory=list)
    won: list[Event] = field(default_factory=list)


class ChunkReader:
    """Reads one chunk at a time, even while it still grows; chunks of other sources wait until it has ended.

    What has won inside the chunk that is read is delivered at once, as no other event can come between; and so is what
    has won across its beginning, as its left guard becomes known.
    """

    def __init__(self, windows: Windows) -> None:
        """Start a feed."""
        self._dechunker, self._windows = Dechunker(windows), windows
        # In the order in which they begin: the first is the one that is read.
        self._open: dict[int, _Open] = {}
        self._waiting: list[Chunk] = []
        self._position = 0
        """How many events the chunks stand for that have been read whole."""
        self._last: tuple[Event, ...] = ()
        """Of these, the last ones, as many as a window has."""
        self._delivered: set[str] = set()

    def begin(self, chunk: int) -> None:
        """Take note of a new chunk."""
        self._open[chunk] = _Open()

    def start(self, chunk: int, event: Event) -> list[Event]:
        """Return what is delivered when an event of a left guard is known."""
        left = self._open[chunk].left
        left.append(event)
        return self._news(self._across(left)) if self._is_read(chunk) else []

    def win(self, chunk: int, event: Event, rank: int) -> list[Event]:
        """Return what is delivered when an event has won."""
        if rank >= self._windows.k:
            return []
        self._open[chunk].won.append(event)
        return self._news([event]) if self._is_read(chunk) else []

    def end(self, chunk: int, whole: Chunk) -> list[Event]:
        """Return what is delivered when a chunk is complete."""
        was_read = self._is_read(chunk)
        del self._open[chunk]
        if not was_read:
            self._waiting.append(whole)
            return []
        found = [event for one in (whole, *self._waiting) for event in self._read(one)]
        self._waiting.clear()
        for following in self._open.values():
            known = [event for n in range(len(following.left)) for event in self._across(following.left[: n + 1])]
            return found + self._news(known + following.won)
        return found

    def _is_read(self, chunk: int) -> bool:
        return next(iter(self._open)) == chunk

    def _read(self, whole: Chunk) -> list[Event]:
        self._position += whole.length
        self._last = (*self._last, *whole.right)[-self._windows.width :]
        return self._news(self._dechunker.receive(whole.covered(self._windows.k)))

    def _across(self, left: list[Event]) -> list[Event]:
        """Return the winners of the window that ends with the last of these, if it began in a chunk before."""
        before = self._windows.width - len(left)
        start = self._position - before
        if before < 1 or start < 0 or start % self._windows.shift:
            return []
        return best((*self._last[-before:], *left), self._windows.k)

    def _news(self, events: Iterable[Event]) -> list[Event]:
        news = [event for event in dict.fromkeys(events) if event.id not in self._delivered]
        self._delivered.update(event.id for event in news)
        return news


class EventReader:
    """Ranks the events themselves, in the order in which they arrive: all that EDGE does."""

    def __init__(self, windows: Windows) -> None:
        """Start a feed."""
        self._windows, self._count = windows, 0
        self._window: deque[Event] = deque(maxlen=windows.width)
        self._delivered: set[str] = set()

    def receive(self, event: Event) -> list[Event]:
        """Return what is delivered when an event arrives."""
        self._window.append(event)
        self._count += 1
        since = self._count - self._windows.width
        if since < 0 or since % self._windows.shift:
            return []
        news = [one for one in best(self._window, self._windows.k) if one.id not in self._delivered]
        self._delivered.update(one.id for one in news)
        return news
