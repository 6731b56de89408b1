"""Ranking at the subscriber's end: of the events that its peers bring it, a peer tells its reader the best of each
window.

The overlay carries as many events as before, and each goes to everybody who follows its topic: what is saved is the
reader's attention, and memory, since an event is let go as soon as it cannot be among the best any more. Of the best 5
of 1,000, a reader is told 1 event in 200 and the peer holds about 31; with windows that overlap by nine tenths, 1 in
144. Events come in any order, each once: whoever receives them from peers drops copies first. Scores are the caller's.
"""

from bisect import insort
from collections import deque

from tidegate.rank.event import Event, best
from tidegate.rank.ranking import TimeWindows
from tidegate.rank.windows import Windows


class CountedPicks:
    """The best of windows by count, in the order in which events have come to this peer: `Windows.delivered`, event by
    event.

    >>> picks = CountedPicks(Windows(1, 2, 1))
    >>> [[told.id for told in picks.receive(Event(id, score))] for id, score in [("a", 4), ("b", 1), ("c", 2)]]
    [[], ['a'], ['c']]
    """

    def __init__(self, windows: Windows) -> None:
        """Start before the first event."""
        self._windows = windows
        self.received = 0
        # When each came, itself, and how many better ones have come since: with k of these it wins no window to come.
        self._held: deque[tuple[int, Event, int]] = deque()
        self._told: set[str] = set()
        """Of those held."""

    @property
    def held(self) -> int:
        """Events in memory: for scores in random order about k (1 + ln(width / k)), however many a window has."""
        return len(self._held)

    @property
    def ids(self) -> set[str]:
        """Of the events in memory."""
        return {event.id for _, event, _ in self._held}

    def advance(self, now: float) -> list[Event]:
        """Return whom to tell of now that it is so late: nobody, as events alone count here."""
        return []

    def receive(self, event: Event) -> list[Event]:
        """Take the next event, and return whom to tell of now: the best of a window that it completes, each once."""
        self._let_go(event)
        self._held.append((self.received, event, 0))
        self.received += 1
        complete = self.received - self._windows.width
        if complete < 0 or complete % self._windows.shift:
            return []
        news = [one for one in best(self._window(complete), self._windows.k) if one.id not in self._told]
        self._told.update(one.id for one in news)
        return news

    def _window(self, start: int) -> list[Event]:
        return [event for when, event, _ in self._held if when >= start]

    def _let_go(self, newest: Event) -> None:
        """Forget who is behind all windows to come, or has k better ones behind it."""
        oldest = self.received + 1 - self._windows.width
        kept = deque[tuple[int, Event, int]]()
        for when, event, better in self._held:
            beaten = better + (newest.order < event.order)
            if when >= oldest and beaten < self._windows.k:
                kept.append((when, event, beaten))
            else:
                self._told.discard(event.id)
        self._held = kept


class TimedPicks:
    """The best of windows of time; times are microseconds.

    A window is complete when its owner says that it is so late. An event that comes after that counts for the windows
    that are still open, and is late if there are none.
    """

    def __init__(self, windows: TimeWindows) -> None:
        """Start with no window open."""
        self._windows = windows
        self.received = self.late = 0
        self._open: dict[int, list[Event]] = {}
        """By the number of a window, its best so far, the best of all first."""
        self._told: dict[str, int] = {}
        """By id, the last window that an event is in, until that is complete."""
        self._now: float | None = None

    @property
    def held(self) -> int:
        """Events in memory, each as often as there are open windows that it is among the best of."""
        return sum(map(len, self._open.values()))

    @property
    def ids(self) -> set[str]:
        """Of the events in memory."""
        return {event.id for tops in self._open.values() for event in tops}

    def receive(self, event: Event) -> list[Event]:
        """Take an event in, and return whom to tell of now: nobody, before a window has ended."""
        self.received += 1
        first, last = self._span(event)
        is_late = True
        for window in range(first, last + 1):
            if self._now is not None and self._end(window) <= self._now:
                continue
            is_late = False
            tops = self._open.setdefault(window, [])
            insort(tops, event, key=lambda one: one.order)
            del tops[self._windows.k :]
        self.late += is_late
        return []

    def advance(self, now: float) -> list[Event]:
        """Return whom to tell of now that it is so late: the best of windows that have ended, each once."""
        self._now = now if self._now is None else max(self._now, now)
        news: list[Event] = []
        for window in sorted(window for window in self._open if self._end(window) <= self._now):
            for event in self._open.pop(window):
                if event.id not in self._told:
                    self._told[event.id] = self._span(event)[1]
                    news.append(event)
        self._told = {id_: last for id_, last in self._told.items() if self._end(last) > self._now}
        return news

    def _span(self, event: Event) -> tuple[int, int]:
        """Return the first and the last window that an event is in."""
        width, shift = self._windows.width, self._windows.shift
        return int((event.time - width) // shift) + 1, int(event.time // shift)

    def _end(self, window: int) -> int:
        return window * self._windows.shift + self._windows.width
