"""Incremental chunking (Algorithm 2): a chunk that is sent while it grows.

As printed it does not run: events are counted by those sent, which expire; windows are skipped where they overlap; and
those open at the end are never looked at. Here events are counted, and every window is looked at once.
"""

from collections import deque
from collections.abc import Iterator
from itertools import count, islice

from tidegate.rank.chunks import check_length
from tidegate.rank.event import Event, best
from tidegate.rank.messages import End, Message, Part, Start
from tidegate.rank.windows import Windows


class Chunker:
    """Cuts the events of one feed at one source into chunks; whoever owns it decides when a chunk ends."""

    def __init__(self, feed: str, windows: Windows) -> None:
        """Start between two chunks."""
        self._feed, self._windows = feed, windows
        self._numbers = count()
        self._chunk = 0
        self.length = 0
        """Of the chunk at hand, so far."""
        # The last two windows of events: one may still have to be looked at when the chunk ends with the other.
        self._events: deque[Event] = deque()
        self._ranks: dict[Event, int | None] = {}
        """Of those of these events that were sent: the best rank so far, None if they have won nothing."""

    @property
    def can_finish(self) -> bool:
        """Whether a chunk that ended now would leave the windows of the next one in step."""
        return self.length > 0 and self.length % self._windows.shift == 0

    def receive(self, event: Event) -> Iterator[Message]:
        """Take the next event, and yield what is to be sent now."""
        width = self._windows.width
        if self.length == 0:
            self._chunk = next(self._numbers)
            yield Start(self._feed, self._chunk, width)
        self._events.append(event)
        self.length += 1
        if self.length <= width:
            self._ranks[event] = None
            yield Part(self._feed, self._chunk, "left", event)
        if len(self._events) == 2 * width:
            yield from self._won(list(islice(self._events, width)))
            for _ in range(self._windows.shift):
                self._ranks.pop(self._events.popleft(), None)

    def finish(self) -> Iterator[Message]:
        """End the chunk, and yield what is still to be sent of it."""
        check_length(self.length, self._windows)
        events = list(self._events)
        for start in self._windows.starts(len(events)):
            yield from self._won(events[start : start + self._windows.width])
        for event in events[-self._windows.width :]:
            yield Part(self._feed, self._chunk, "right", event, is_news=event not in self._ranks)
        yield End(self._feed, self._chunk, self.length)
        self._events.clear()
        self._ranks.clear()
        self.length = 0

    def _won(self, window: list[Event]) -> Iterator[Message]:
        for rank, event in enumerate(best(window, self._windows.k)):
            is_news, known = event not in self._ranks, self._ranks.get(event)
            if known is None or rank < known:
                self._ranks[event] = rank
                yield Part(self._feed, self._chunk, "top", event, rank, is_news)
