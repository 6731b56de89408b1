"""Events as ranked feeds see them, and which is better."""

from collections.abc import Iterable
from heapq import nsmallest
from typing import NamedTuple


class Event(NamedTuple):
    """A post that belongs to a feed, with what the feed's score makes of it."""

    id: str
    score: float
    time: float = 0.0

    @property
    def order(self) -> tuple[float, float, str]:
        """What sorts the best first: the highest score, then the newest, then the lowest id."""
        return -self.score, -self.time, self.id


def best(events: Iterable[Event], k: int) -> list[Event]:
    """Return the `k` best events, the best of all first.

    >>> [event.id for event in best([Event("a", 1), Event("b", 3), Event("c", 3, time=1)], 2)]
    ['c', 'b']
    """
    return nsmallest(k, events, key=lambda event: event.order)
