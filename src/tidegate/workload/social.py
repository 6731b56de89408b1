"""Who follows which topics, and how many events come there: workloads like two that were measured, of any size.

Spotify and Twitter, as chapter 5 of the thesis on social publish/subscribe describes their traces. Topics and
subscribers are numbers, in no order; pairs are drawn block by block, so that there is never more of them in memory.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple, Self

import numpy as np

from tidegate.csr import Csr, Int32, Int64, offsets_of
from tidegate.errors import ConfigError
from tidegate.kernels import njit
from tidegate.workload.alias import Alias, State, alias_table, draw, random_state
from tidegate.workload.saturation import drawing_weights
from tidegate.workload.tails import Knot, Tail
from tidegate.workload.terms import Floats

BLOCK: Final = 1 << 22
"""Pairs that are drawn at once, about; the same whoever draws them, so that a seed determines them all."""
_MOST_TOPICS: Final = 0.25
"""Of all topics, nobody follows more."""
_FEW: Final = 10
"""So many topics anybody may follow, if there are no more."""
_MOST_SUBSCRIBERS: Final = 0.125
"""Of all subscribers, no topic has more."""
_MOST_FAME: Final = 0.3
"""What popularity adds to the mean rate at most: the fewer subscribers, the fewer followers make a topic famous."""
_DRAWS: Final = 100
"""Draws of topics that a subscriber has already, before it takes the next one that it has not."""
_SHORT: Final = 32


class Numbers(NamedTuple):
    """How large a workload is."""

    topics: int
    subscribers: int
    pairs: int
    """Of a subscriber and a topic that it follows; about, when it is asked for."""

    def scaled(self, scale: float) -> "Numbers":
        """Return this share of it."""
        return Numbers(*(max(round(number * scale), 1) for number in self))

    def check(self) -> None:
        """Refuse what no workload can have."""
        if min(self) < 1 or max(self.topics, self.subscribers) > np.iinfo(np.int32).max:
            raise ConfigError(f"{self.topics:,} topics and {self.subscribers:,} subscribers: give 1 to {2**31 - 1:,}")
        if self.pairs < max(self.topics, self.subscribers):
            raise ConfigError(f"{self.pairs:,} pairs are too few: every topic and every subscriber has one at least")


@dataclass(frozen=True)
class Kind:
    """What is known of a workload, whatever its size."""

    name: str
    numbers: Numbers
    """Of the trace."""
    followers: Tail
    """Of a topic; one share is open, and settled by the mean."""
    followings: Tail
    """Of a subscriber; the same."""
    events: Tail
    """Of a topic, in ten days, before popularity counts; the same."""
    mean_events: float
    """Of a topic, in ten days."""
    has_traffic: bool
    """Is it known what was published and subscribed to by the hour?"""
    fame: float = 0.0
    """How many times the mean rate a topic has besides when a 300th of the subscribers follow it."""


_FAMOUS: Final = 1 / 300
"""Of subscribers: up to here the mean rate of topics rises with their followers, beyond it is half of the rise."""

SPOTIFY: Final = Kind(
    "spotify",
    Numbers(1_100_000, 4_900_000, 12_000_000),
    # Both straight; the largest subscription wants 0.2 % of all events.
    followers=Tail((Knot(1, 1.0), Knot(600_000))),
    followings=Tail((Knot(1, 1.0), Knot(2_200))),
    # Nearly flat, with a sharp bend at 0.0005 % of all events.
    events=Tail((Knot(1, 1.0), Knot(100, 0.8), Knot(1_000, 0.5), Knot(15_200), Knot(300_000, 1 / 1.1e6))),
    mean_events=2_763,
    has_traffic=True,
)
TWITTER: Final = Kind(
    "twitter",
    Numbers(8_000_000, 30_000_000, 683_500_000),
    # 4,000 have more than 10⁴ and 66 more than 10⁶, with a glitch at 10⁵: an exponent of 0.89. All the way down, it
    # would give fewer pairs than there are; so it begins later, and the many have more followers than it says.
    followers=Tail(
        (
            Knot(1, 1.0),
            Knot(100),
            Knot(1e4, 4_000 / 8e6),
            Knot(1e5, 6.9e-5, 0.85),
            Knot(1e6, 66 / 8e6),
            Knot(3.5e6, 1 / 8e6),
        )
    ),
    # Who joined was once given 20 to follow, and could not follow more than 2,000; 550 follow more than 10,000.
    followings=Tail(
        (Knot(1, 1.0), Knot(20, None, 0.8), Knot(2_000, 1e-3, 0.6), Knot(1e4, 550 / 3e7), Knot(260_000, 1 / 3e7))
    ),
    # Half have fewer than 10, 46,000 more than 1,000, and one more than 10⁵.
    events=Tail(
        (
            Knot(1, 1.0),
            Knot(10, 0.5),
            Knot(100),
            Knot(1_000, 46_000 / 8e6),
            Knot(1e5, 1 / 8e6),
            Knot(1.2e5, 0.4 / 8e6),
        )
    ),
    mean_events=455e6 / 8e6,
    has_traffic=False,
    fame=10.0,
)
KINDS: Final = {kind.name: kind for kind in (SPOTIFY, TWITTER)}


@dataclass(frozen=True)
class Social:
    """A workload before its pairs are drawn. Every topic is followed and has events, every subscriber follows some."""

    kind: Kind
    seed: int
    sizes: Int32
    """By subscriber: how many topics it follows."""
    events: Int64
    """By topic: how many come in ten days."""
    weights: Floats
    """By topic: how often it is drawn, besides the one time that is its own."""

    @classmethod
    def draw(cls, kind: Kind, numbers: Numbers, seed: int) -> Self:
        """Settle everything but the pairs; the same for a seed."""
        numbers.check()
        topics, subscribers, pairs = numbers
        generator = np.random.default_rng([seed, 4])

        def shuffled(law: Tail, mean: float, n: int, most: float = np.inf) -> Int64:
            # Of a handful, a law may not have the mean that it has of many: then it has the nearest.
            least, greatest = law.reach(n, most)
            return generator.permutation(law.settled(min(max(mean, least), greatest), n, most).quantiles(n))

        most = max(_MOST_TOPICS * topics, min(topics, _FEW))
        reach = [subscribers * mean for mean in kind.followings.reach(subscribers, most)]
        if not reach[0] <= pairs <= reach[1]:
            raise ConfigError(
                f"{pairs:,} pairs of {subscribers:,} subscribers and {topics:,} topics: {reach[0]:,.0f} to "
                f"{reach[1]:,.0f} can be had; ask for so many, or for other numbers of topics and subscribers"
            )
        sizes = shuffled(kind.followings, pairs / subscribers, subscribers, most).astype(np.int32)
        if (drawn_pairs := int(sizes.sum(dtype=np.int64))) < topics:
            raise ConfigError(f"{drawn_pairs:,} pairs are too few for {topics:,} topics, each has one: ask for more")
        followers = shuffled(kind.followers, pairs / topics, topics, max(_MOST_SUBSCRIBERS * subscribers, 1))
        rise = _rise(followers / (_FAMOUS * subscribers))
        fame = kind.mean_events * min(kind.fame, _MOST_FAME / float(rise.mean())) * rise
        events = shuffled(kind.events, kind.mean_events - float(fame.mean()), topics)
        # Who hardly posts does not for being followed: the more active half has it all, and the median stays.
        events += np.where(events > np.median(events), np.rint(2 * fame), 0).astype(np.int64)
        drawn = sizes * (1 - topics / sizes.sum(dtype=np.int64))
        weights = drawing_weights((followers - 1) * (drawn.sum() / max((followers - 1).sum(), 1)), drawn)
        return cls(kind, seed, sizes, events, weights)

    @property
    def numbers(self) -> Numbers:
        """How large it is, exactly."""
        return Numbers(len(self.events), len(self.sizes), int(self.offsets[-1]))

    @cached_property
    def offsets(self) -> Int64:
        """By subscriber: where its pairs begin among all."""
        return offsets_of(self.sizes)

    @cached_property
    def blocks(self) -> Int64:
        """Where blocks begin: numbers of subscribers, and at the end how many there are."""
        pairs = int(self.offsets[-1])
        starts = np.searchsorted(self.offsets, np.arange(0, pairs, BLOCK))
        return np.unique(np.append(starts, len(self.sizes))).astype(np.int64)

    @cached_property
    def _alias(self) -> Alias:
        total = self.weights.sum()
        law = self.weights / total if total > 0 else np.full(len(self.weights), 1 / len(self.weights))
        return alias_table(law)

    def block(self, number: int, seen: Int32 | None = None) -> Csr:
        """Return what the subscribers of a block follow, rising; the same whatever was drawn before.

        Whoever draws several blocks, one after the other, may hand in memory for them all, which `unseen` returns.
        """
        start, stop = self.blocks[number : number + 2]
        state = random_state([self.seed, 5, number])
        seen = self.unseen() if seen is None else seen
        offsets = self.offsets[start : stop + 1]
        values = np.empty(offsets[-1] - offsets[0], np.int32)
        _fill(offsets, int(self.offsets[-1]), int(start), self._alias, state, seen, values)
        return Csr(offsets - offsets[0], values)

    def unseen(self) -> Int32:
        """Return memory for `block`."""
        return np.full(len(self.events), -1, np.int32)

    def all_pairs(self) -> Csr:
        """Return what each subscriber follows; for workloads that fit into memory."""
        seen = self.unseen()
        blocks = [self.block(number, seen).values for number in range(len(self.blocks) - 1)]
        return Csr(self.offsets, np.concatenate(blocks))


def _rise(fame: Floats) -> Floats:
    """Return what popularity adds: in proportion to it up to 1, and half as much as that beyond."""
    return np.where(fame <= 1, fame, 0.5)


@njit(cache=True, nogil=True)
def _fill(offsets: Int64, pairs: int, first: int, alias: Alias, state: State, seen: Int32, values: Int32) -> None:
    """Draw the rows of subscribers from `first` on, each of them different topics, rising.

    Of all `pairs`, by number, every topic has one to itself, as evenly as may be: it is followed by somebody.
    """
    topics = len(seen)
    for row in range(len(offsets) - 1):
        begin, end = offsets[row], offsets[row + 1]
        who = first + row
        at = begin - offsets[0]
        own = -(-begin * topics // pairs)
        while own < topics and own * pairs // topics < end:
            seen[own] = who
            values[at] = own
            at += 1
            own += 1
        last = end - offsets[0]
        refused = 0
        while at < last:
            topic = draw(alias, state)
            if seen[topic] == who and refused < _DRAWS:
                refused += 1
                continue
            while seen[topic] == who:
                topic = (topic + 1) % topics
            seen[topic] = who
            values[at] = topic
            at += 1
            refused = 0
        _sort(values[begin - offsets[0] : last])


@njit(cache=True, nogil=True)
def _sort(row: Int32) -> None:
    """Sort a row; most are so short that they are sorted where they are, each put in its place."""
    if len(row) > _SHORT:
        row.sort()
        return
    for i in range(1, len(row)):
        value = row[i]
        at = i
        while at > 0 and row[at - 1] > value:
            row[at] = row[at - 1]
            at -= 1
        row[at] = value
