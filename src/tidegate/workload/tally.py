"""Counting pairs of subscribers and topics as they come, batch by batch: what is kept does not grow with the pairs.

Pairs have to come grouped by subscriber; then one pass finds how many topics each follows and how many events it is
sent, how many followers each topic has, and which pairs are there twice.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, Self

import numpy as np

from tidegate.csr import Int32, Int64
from tidegate.errors import ConfigError
from tidegate.kernels import njit
from tidegate.workload.histogram import Histogram, Moments, three_digits

_SHOWN: Final = 60_000
"""Of so many pairs, subscribers are shown one by one; of more, as many."""
_LEAP: Final = 1_000
"""So many times a usual step from one subscriber to the next."""
_SUBSCRIBER, _RUN, _SIZE, _EVENTS, _REPEATED, _UNRATED = range(6)


@dataclass(frozen=True)
class Topics:
    """Topics by number, rising, and how many events each has."""

    numbers: Int64 | None
    """None if they are 0, 1, 2, …"""
    events: Int64

    @classmethod
    def of(cls, numbers: Any, events: Any) -> Self:
        """Check topics and sort them."""
        names, counts = np.asarray(numbers).astype(np.int64), np.asarray(events).astype(np.int64)
        if not len(names):
            raise ConfigError("there are no topics: rates are needed, one for each that is followed")
        if counts.min() < 0:
            topic = names[counts.argmin()]
            raise ConfigError(f"topic {topic:,} has {counts.min():,} events: a rate is a count, from 0 on")
        if not (np.diff(names) > 0).all():
            order = np.argsort(names, kind="stable")
            names, counts = names[order], counts[order]
            twice = int(np.count_nonzero(np.diff(names) == 0))
            if twice:
                raise ConfigError(
                    f"{twice:,} topics have more than one rate, as has {names[:-1][np.diff(names) == 0][0]:,}"
                )
        dense = names[0] == 0 and names[-1] == len(names) - 1
        return cls(None if dense else names, counts)

    def places(self, topics: Any) -> Any:
        """Return where topics are among these; −1 for those that are not."""
        if self.numbers is None:
            there = (topics >= 0) & (topics < len(self.events))
            return topics if there.all() else np.where(there, topics, -1)
        place = np.minimum(np.searchsorted(self.numbers, topics), len(self.numbers) - 1)
        return np.where(self.numbers[place] == topics, place, -1)


@dataclass(frozen=True)
class SubscriberCounts:
    """Of the subscribers of one part of the pairs."""

    sizes: Histogram
    """By topics followed: how many, and the events they are sent."""
    received: Histogram
    """By events that they are sent, to three digits: how many."""
    moments: Moments
    """Of topics followed, and events."""
    most: int
    """Events that one is sent."""
    sample: Int64
    """Topics followed and events, of some."""
    repeated: int
    unrated: int


class Tally:
    """Counts of pairs that come grouped by subscriber.

    Pairs that are there twice count once, and those of topics without a rate not at all.
    """

    followers: Int32
    """By topic."""
    stretches: list[tuple[int, int]]
    """In which the subscribers came in rising order: the first and the last of each, the last stretch when all ended.

    If none overlap, all pairs of a subscriber came together.
    """

    def __init__(self, topics: Topics, shown: int = 1) -> None:
        """Begin; every so many subscribers, by number, one is kept as it is, for a figure."""
        self.followers = np.zeros(len(topics.events), np.int32)
        self.stretches = []
        self._topics, self._shown = topics, shown
        self._first: int | None = None
        self._last = 0
        self._seen = np.full(len(topics.events), -1, np.int32)
        self._state = np.zeros(6, np.int64)
        self._sizes: list[Histogram] = []
        self._received: list[Histogram] = []
        self._samples: list[Int64] = []
        self._moments = Moments()
        self._most = 0

    def take(self, subscribers: Any, topics: Any) -> None:
        """Count a batch."""
        if not len(subscribers):
            return
        if self._first is None:
            self._first = self._last = self._state[_SUBSCRIBER] = int(subscribers[0])
        places = self._topics.places(topics)
        out = np.empty((3, len(subscribers)), np.int64)
        n = _take(subscribers, places, self._topics.events, self.followers, self._seen, self._state, out)
        self._add(*out[:, :n])

    def ended(self) -> SubscriberCounts:
        """Return the counts, the last subscriber's among them: no more will come."""
        if self._first is not None:
            self._add(*self._state[[_SUBSCRIBER, _SIZE, _EVENTS], None])
            self.stretches.append((self._first, self._last))
        return SubscriberCounts(
            Histogram.merged(self._sizes),
            Histogram.merged(self._received),
            self._moments,
            self._most,
            sampled(self._samples),
            int(self._state[_REPEATED]),
            int(self._state[_UNRATED]),
        )

    def _add(self, subscribers: Int64, sizes: Int64, events: Int64) -> None:
        """Add subscribers all of whose pairs have been seen."""
        if len(subscribers):
            self._stretch(subscribers)
        # Who follows nothing but topics without a rate is no subscriber of any that count.
        some = sizes > 0
        if not some.any():
            return
        subscribers, sizes, events = subscribers[some], sizes[some], events[some]
        self._sizes = _few(self._sizes, Histogram.of(sizes, events))
        self._received = _few(self._received, Histogram.of(three_digits(events)))
        self._moments = self._moments.plus(Moments.of(sizes, events))
        self._most = max(self._most, int(events.max()))
        chosen = subscribers % self._shown == 0
        self._samples.append(np.stack((sizes[chosen], events[chosen])))

    def _stretch(self, subscribers: Int64) -> None:
        # Between two files that are read one after the other there may be others, which are read elsewhere: a stretch
        # ends where numbers leap as well.
        steps = np.diff(subscribers, prepend=self._last)
        for cut in np.flatnonzero((steps < 0) | (steps > _LEAP * max(np.median(np.abs(steps)), 1))):
            self.stretches.append((self._first or 0, int(subscribers[cut] - steps[cut])))
            self._first = int(subscribers[cut])
        self._last = int(subscribers[-1])


def apart(stretches: Iterable[tuple[int, int]]) -> bool:
    """Do none of these overlap?

    >>> apart([(5, 9), (1, 4)]), apart([(5, 9), (1, 5)])
    (True, False)
    """
    return all(before[1] < after[0] for before, after in pairwise(sorted(stretches)))


def every(pairs: int) -> int:
    """Return which of so many pairs' subscribers are shown one by one: every so many."""
    return max(pairs // _SHOWN, 1)


def _few(parts: list[Histogram], another: Histogram) -> list[Histogram]:
    """Add one; where they get many, make them one."""
    return [*parts, another] if len(parts) < 64 else [Histogram.merged([*parts, another])]


def sampled(samples: Sequence[Int64]) -> Int64:
    """Return samples as one, in an order that does not depend on who took them."""
    together = np.concatenate([*samples, np.empty((2, 0), np.int64)], axis=1)
    return together[:, np.lexsort(together[::-1])]


@njit(cache=True, nogil=True)
def _take(subscribers: Any, places: Any, events: Int64, followers: Int32, seen: Int32, state: Int64, out: Any) -> int:
    """Count pairs; write the subscribers that are complete to `out`, and return how many they are."""
    done = 0
    for i in range(len(subscribers)):
        subscriber = subscribers[i]
        if subscriber != state[_SUBSCRIBER]:
            out[0, done], out[1, done], out[2, done] = state[_SUBSCRIBER], state[_SIZE], state[_EVENTS]
            done += 1
            state[_SUBSCRIBER] = subscriber
            state[_RUN] += 1
            state[_SIZE] = 0
            state[_EVENTS] = 0
        topic = places[i]
        if topic < 0:
            state[_UNRATED] += 1
        elif seen[topic] == state[_RUN]:
            state[_REPEATED] += 1
        else:
            seen[topic] = state[_RUN]
            followers[topic] += 1
            state[_SIZE] += 1
            state[_EVENTS] += events[topic]
    return done
