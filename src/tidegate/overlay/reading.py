"""At the subscriber's edge: what is delivered of a feed, and when it can be."""

from collections import deque
from collections.abc import Iterable

from tidegate.rank.chunks import Chunk
from tidegate.rank.dechunking import Dechunker
from tidegate.rank.event import Event, best
from tidegate.rank.windows import Windows


class ChunkReader:
    """Reads one chunk at a time, even while it still grows; chunks of other sources wait until it has ended.

    What has won inside the chunk that is read is delivered at once, as no other event can come between.
    """

    def __init__(self, windows: Windows) -> None:
        """Start a feed."""
        self._dechunker, self._k = Dechunker(windows), windows.k
        # By chunk, in the order in which they begin, what has won so far: the first is the one that is read.
        self._open: dict[int, list[Event]] = {}
        self._waiting: list[Chunk] = []
        self._delivered: set[str] = set()

    def begin(self, chunk: int) -> None:
        """Take note of a new chunk."""
        self._open[chunk] = []

    def win(self, chunk: int, event: Event, rank: int) -> list[Event]:
        """Return what is delivered when an event has won."""
        if rank >= self._k:
            return []
        self._open[chunk].append(event)
        return self._news([event]) if self._is_read(chunk) else []

    def end(self, chunk: int, whole: Chunk) -> list[Event]:
        """Return what is delivered when a chunk is complete."""
        self._waiting.append(whole.covered(self._k))
        was_read = self._is_read(chunk)
        del self._open[chunk]
        if not was_read:
            return []
        # It is first, if others have ended meanwhile.
        self._waiting.insert(0, self._waiting.pop())
        found = [event for one in self._waiting for event in self._news(self._dechunker.receive(one))]
        self._waiting.clear()
        return found + (self._news(next(iter(self._open.values()))) if self._open else [])

    def _is_read(self, chunk: int) -> bool:
        return next(iter(self._open)) == chunk

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
