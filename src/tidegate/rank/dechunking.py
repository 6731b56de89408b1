"""Dechunking: the events that a subscriber gets, from the chunks of its feed, one after the other."""

from collections.abc import Iterable

from tidegate.rank.chunks import Chunk, across, check_length
from tidegate.rank.event import Event
from tidegate.rank.windows import Windows


class Dechunker:
    """Takes chunks in whatever order they arrive, those of one source in order; belongs to one feed."""

    def __init__(self, windows: Windows) -> None:
        """Start a feed."""
        self._windows = windows
        self._position = 0
        # The last events so far, one fewer than a window has: the windows that are still open begin among them.
        self._tail: list[Event] = []
        self._delivered: set[Event] = set()

    def receive(self, chunk: Chunk) -> list[Event]:
        """Return the events to deliver now that a chunk is known, each once in the life of the feed."""
        check_length(chunk.length, self._windows)
        winners = across(self._tail, chunk.left, self._position, self._windows)
        found = self._news([event for tops in winners for event in tops])
        found += self._news(chunk.tops)
        keep = self._windows.width - 1
        known = chunk.right if chunk.length >= keep else (*self._tail, *chunk.right)
        self._tail = list(known[-keep:]) if keep else []
        self._position += chunk.length
        # Who is not in the tail cannot win again.
        self._delivered.intersection_update(self._tail)
        return found

    def _news(self, winners: Iterable[Event]) -> list[Event]:
        news = [event for event in dict.fromkeys(winners) if event not in self._delivered]
        self._delivered.update(news)
        return news
