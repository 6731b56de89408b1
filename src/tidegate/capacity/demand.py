"""Demand: who follows what, and how many events come there (thesis on social publish/subscribe, §6.2).

Events are counted, in whole numbers, over a period that only whoever asks knows: sums are exact, whatever their order.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, NamedTuple, Self

import numpy as np

from tidegate.csr import Csr, Int64, offsets_of
from tidegate.errors import ConfigError
from tidegate.kernels import njit

MOST_EVENTS: Final = 2**32
"""Of a topic or a threshold: shares of them are computed in 63 bits."""
_MOST: Final = np.iinfo(np.int64).max


class Mended(NamedTuple):
    """What was left out when pairs were made into demand."""

    repeated: int
    """Pairs that were there before."""
    silent_topics: int
    """Topics without an event that somebody follows."""
    silent_pairs: int
    """Pairs of those."""
    idle: int
    """Subscribers that follow nothing but silent topics."""

    def __str__(self) -> str:
        """Say it in a line; nothing if there is nothing to say."""
        told = [
            (self.repeated, "repeated pairs"),
            (self.silent_topics, f"topics without events ({self.silent_pairs:,} pairs)"),
            (self.idle, "subscribers without topics"),
        ]
        return ", ".join(f"{count:,} {what}" for count, what in told if count)


@dataclass(frozen=True)
class Demand:
    """Topics and subscribers by number. Every topic has events, every subscriber follows some, and none twice.

    >>> demand, mended = Demand.of([5, 0, 7], [0, 0, 1, 1, 1, 3], [0, 1, 2, 2, 0, 1])
    >>> demand.events, demand.topics.offsets, demand.topics.values, demand.costs
    (array([5, 7]), array([0, 1, 3]), array([0, 0, 1], dtype=int32), array([10,  7]))
    >>> str(mended)
    '1 repeated pairs, 1 topics without events (2 pairs), 1 subscribers without topics'
    """

    events: Int64
    """By topic: how many there are in a period."""
    topics: Csr
    """By subscriber: what it follows, rising."""
    topic_names: Int64
    """By topic: its number in what the demand was made of."""
    subscriber_names: Int64
    """By subscriber: the same."""

    @classmethod
    def of(cls, events: object, subscribers: object, topics: object) -> tuple[Self, Mended]:
        """Make demand of pairs; return what was left out as well. `events` are by topic, of all topics there are."""
        counts = _whole("events", events)
        who, what = _whole("subscribers", subscribers), _whole("topics", topics)
        if len(who) != len(what):
            raise ConfigError(f"{len(who):,} subscribers and {len(what):,} topics: pairs have one of each")
        if len(what) and what.max() >= len(counts):
            raise without_rate(what, len(counts))
        if len(counts) and counts.max() >= MOST_EVENTS:
            topic = int(np.argmax(counts))
            raise ConfigError(
                f"topic {topic:,} has {counts[topic]:,} events: fewer than {MOST_EVENTS:,} can be counted"
            )
        if len(who) and who.max() > _MOST // len(counts) - 1:
            raise ConfigError(f"subscriber {who.max():,} is beyond what can be numbered: number them from 0 on")
        pairs = np.unique(who * len(counts) + what) if len(who) else np.empty(0, np.int64)
        repeated = len(who) - len(pairs)
        who, what = np.divmod(pairs, max(len(counts), 1))
        heard = counts[what] > 0
        n_subscribers = len(np.unique(who))
        silent_pairs, silent_topics = int(np.count_nonzero(~heard)), len(np.unique(what[~heard]))
        who, what = who[heard], what[heard]
        names, row = np.unique(who, return_inverse=True)
        followed, numbers = np.unique(what, return_inverse=True)
        csr = Csr(offsets_of(np.bincount(row, minlength=len(names))), numbers.astype(np.int32))
        mended = Mended(repeated, silent_topics, silent_pairs, n_subscribers - len(names))
        return cls(counts[followed], csr, followed, names), mended

    @property
    def n_topics(self) -> int:
        """How many topics there are."""
        return len(self.events)

    @property
    def n_subscribers(self) -> int:
        """How many subscribers there are."""
        return self.topics.rows

    @property
    def pairs(self) -> int:
        """How many pairs of a subscriber and a topic there are."""
        return len(self.topics.values)

    @cached_property
    def followers(self) -> Csr:
        """By topic: its subscribers, rising."""
        return _transposed(self.topics, self.n_topics)  # type: ignore[no-any-return]

    @cached_property
    def costs(self) -> Int64:
        """By topic: what it costs to serve if an event to a subscriber costs 1, the normalised cost."""
        return self.events * np.diff(self.followers.offsets)

    @cached_property
    def wanted(self) -> Int64:
        """By subscriber: the events of all topics it follows."""
        return _summed(self.topics, self.events)  # type: ignore[no-any-return]

    def thresholds(self, satisfied_by: int | Int64) -> Int64:
        """Return by subscriber how many events satisfy it: `satisfied_by`, of all or each, or all that it wants."""
        asked = np.asarray(satisfied_by, np.int64)
        if asked.ndim and asked.shape != (self.n_subscribers,):
            raise ConfigError(f"{len(asked):,} thresholds for {self.n_subscribers:,} subscribers: one for all, or each")
        if asked.size:
            check_threshold(int(asked.min()))
            check_threshold(int(asked.max()))
        return np.minimum(self.wanted, asked)


def check_threshold(events: int) -> None:
    """Refuse a number of events that satisfies nobody, or is too large to be counted."""
    if not 0 < events < MOST_EVENTS:
        raise ConfigError(f"a threshold is a number of events from 1 to {MOST_EVENTS - 1:,}, not {events:,}")


def without_rate(topics: Any, rates: int) -> ConfigError:
    """Return what is wrong with pairs of which some are of topics beyond those that have rates."""
    beyond = topics[topics >= rates]
    return ConfigError(
        f"topic {beyond.max():,} is followed, but has no rate: rates are of {rates:,} topics, "
        f"{len(beyond):,} pairs of {len(np.unique(beyond)):,} others"
    )


def _whole(what: str, values: object) -> Int64:
    array = np.asarray(values)
    if array.size == 0:
        return np.empty(0, np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise ConfigError(f"{what} are whole numbers, not {array.dtype}: count events over a longer period")
    if array.max() > _MOST:
        raise ConfigError(f"{what} have {array.max():,} among them: there is nothing above {_MOST:,}")
    if array.min() < 0:
        below = np.count_nonzero(array < 0)
        raise ConfigError(f"{what} have {array.min():,} among them: there is nothing below 0, but {below:,} are")
    return array.astype(np.int64)


@njit(cache=True, nogil=True)
def _transposed(rows: Csr, columns: int) -> Csr:
    offsets = np.zeros(columns + 2, np.int64)
    for value in rows.values:
        offsets[value + 2] += 1
    for column in range(columns):
        offsets[column + 2] += offsets[column + 1]
    values = np.empty(len(rows.values), np.int32)
    for row in range(len(rows.offsets) - 1):
        for value in rows.values[rows.offsets[row] : rows.offsets[row + 1]]:
            values[offsets[value + 1]] = row
            offsets[value + 1] += 1
    return Csr(offsets[:-1], values)


@njit(cache=True, nogil=True)
def _summed(rows: Csr, of: Int64) -> Int64:
    sums = np.zeros(len(rows.offsets) - 1, np.int64)
    for row in range(len(sums)):
        for value in rows.values[rows.offsets[row] : rows.offsets[row + 1]]:
            sums[row] += of[value]
    return sums
