"""Which topics to serve so that as many subscribers as possible are satisfied, within a capacity.

B3M counts subscribers that get their threshold of events, F-B3M adds up what share of it each gets (thesis on social
publish/subscribe, chapter 6). Both choose greedily. What a topic would bring is a sum of shares in whole numbers, so it
does not depend on the order of adding up, and of topics that would bring the same for their cost the first is taken.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tidegate.capacity.demand import Demand
from tidegate.capacity.heap import heap_of, lower, pop, raise_
from tidegate.csr import Csr, Int64
from tidegate.errors import ConfigError
from tidegate.kernels import njit

WHOLE: Final = 1 << 30
"""A share of 1."""


class By(StrEnum):
    """What the greedy choice for F-B3M looks at."""

    GAIN = "G"
    RATIO = "R"
    """The gain for its cost."""


@dataclass(frozen=True)
class Selection:
    """Topics to serve, in the order of their choice."""

    topics: Int64
    cost: int
    satisfied: int
    """Subscribers that get their threshold."""
    satisfaction: float
    """Shares of thresholds that subscribers get, added up."""


def b3m(demand: Demand, satisfied_by: int | Int64, capacity: int, costs: Int64 | None = None) -> Selection:
    """Serve what satisfies most subscribers: the greedy choice (Algorithms 1 and 2).

    What a topic brings grows as subscribers come near to their thresholds, so nothing can be put off: what rises is
    raised at once; only what sinks waits until it comes to the top.
    """
    thresholds, prices = demand.thresholds(satisfied_by), checked_costs(demand, costs)
    chosen = _b3m(demand.events, demand.topics, demand.followers, thresholds, prices, _checked(capacity))
    return selection(demand, thresholds, prices, chosen)


def fb3m(
    demand: Demand, satisfied_by: int | Int64, capacity: int, costs: Int64 | None = None, *, lazy: bool = True
) -> Selection:
    """Serve what brings most satisfaction: the better of two greedy choices (Algorithm 7), ½(1 − 1/e) of the best.

    What a topic brings can only shrink; if `lazy`, it is computed anew only for who comes to the top.
    """
    thresholds, prices = demand.thresholds(satisfied_by), checked_costs(demand, costs)
    gains = _first_gains(demand.events, demand.followers, thresholds)

    def by(what: By) -> Selection:
        return _by(what, demand, thresholds, prices, _checked(capacity), gains.copy(), lazy=lazy)

    with ThreadPoolExecutor(len(By)) as both:
        gain, ratio = both.map(by, By)
    return gain if gain.satisfaction >= ratio.satisfaction else ratio


def fb3m_by(
    by: By,
    demand: Demand,
    satisfied_by: int | Int64,
    capacity: int,
    costs: Int64 | None = None,
    *,
    lazy: bool = True,
) -> Selection:
    """Choose greedily by one of the two (Algorithm 5)."""
    thresholds, prices = demand.thresholds(satisfied_by), checked_costs(demand, costs)
    gains = _first_gains(demand.events, demand.followers, thresholds)
    return _by(by, demand, thresholds, prices, _checked(capacity), gains, lazy=lazy)


def _by(
    by: By, demand: Demand, thresholds: Int64, costs: Int64, capacity: int, gains: Int64, *, lazy: bool
) -> Selection:
    divisors = costs if by is By.RATIO else np.ones_like(costs)
    if lazy:
        chosen = _lazy(demand.events, demand.followers, thresholds, costs, divisors, capacity, gains)
    else:
        chosen = _eager(demand.events, demand.topics, demand.followers, thresholds, costs, divisors, capacity, gains)
    return selection(demand, thresholds, costs, chosen)


def selection(demand: Demand, thresholds: Int64, costs: Int64, topics: Int64) -> Selection:
    """Return what serving these topics comes to."""
    got = received(demand, topics)
    shares = np.minimum(got, thresholds) / thresholds
    return Selection(topics, int(costs[topics].sum()), int(np.count_nonzero(got >= thresholds)), float(shares.sum()))


def received(demand: Demand, topics: Int64) -> Int64:
    """Return by subscriber how many events it gets if these topics are served."""
    served = np.zeros(demand.n_topics, np.int64)
    served[topics] = demand.events[topics]
    return _received(demand.topics, served)  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Course:
    """What a choice comes to, topic by topic."""

    cost: Int64
    satisfied: Int64
    satisfaction: NDArray[np.float64]


def course(demand: Demand, satisfied_by: int | Int64, chosen: Selection, costs: Int64 | None = None) -> Course:
    """Return how cost and satisfaction have grown; it ends with what the selection comes to."""
    prices = checked_costs(demand, costs)
    satisfied, shares = _course(demand.events, demand.followers, demand.thresholds(satisfied_by), chosen.topics)
    return Course(np.cumsum(prices[chosen.topics]), satisfied, shares)


def checked_costs(demand: Demand, costs: Int64 | None) -> Int64:
    """Return these costs of topics, or the normalised ones; each is a whole number above 0."""
    if costs is None:
        return demand.costs
    prices = np.asarray(costs)
    if prices.shape != (demand.n_topics,) or prices.dtype.kind not in "iu":
        raise ConfigError(f"costs are {demand.n_topics:,} whole numbers, one for each topic")
    if prices.size and prices.min() <= 0:
        raise ConfigError(f"topic {np.argmin(prices):,} costs {prices.min():,}: a cost is above 0")
    return prices.astype(np.int64)


def _checked(capacity: int) -> int:
    if capacity < 0:
        raise ConfigError(f"a capacity of {capacity:,}: it is 0 or more")
    return capacity


@njit(cache=True, nogil=True)
def _towards(events: int, remaining: int, scale: float) -> int:
    """What an event rate does towards satisfying a subscriber, of whom so much remains; `scale` is WHOLE of that."""
    return WHOLE if events >= remaining else int(events * scale)


@njit(cache=True, nogil=True)
def _share(events: float, remaining: float, scale: float) -> int:
    """What share of its threshold a subscriber gets from these events, of which it still wants `remaining`."""
    return int(min(events, remaining) * scale)


_GAIN, _LIMIT, _EVENTS = range(3)


@njit(cache=True, nogil=True)
def _b3m(events: Int64, topics: Csr, followers: Csr, thresholds: Int64, costs: Int64, capacity: int) -> Int64:
    remaining = thresholds.copy()
    # What is touched together lies together: most of the time is spent on waiting for memory.
    known = np.zeros((len(events), 3), np.int64)
    known[:, _EVENTS] = events
    for topic in range(len(events)):
        for who in followers.values[followers.offsets[topic] : followers.offsets[topic + 1]]:
            known[topic, _GAIN] += _towards(events[topic], remaining[who], WHOLE / remaining[who])
    # A topic's key in the heap is its limit for its cost; no limit is below the gain, and on top it is made true.
    known[:, _LIMIT] = known[:, _GAIN]
    heap = heap_of(known[:, _LIMIT] / costs)
    chosen, n, left = np.empty(len(events), np.int64), 0, capacity
    while heap.size[0] > 0:
        topic = heap.topics[0]
        gain = known[topic, _GAIN]
        if gain < known[topic, _LIMIT]:
            known[topic, _LIMIT] = gain
            lower(heap, topic, gain / costs[topic])
            continue
        if gain == 0:
            break
        pop(heap)
        known[topic, _LIMIT] = np.iinfo(np.int64).max
        if costs[topic] > left:
            continue
        chosen[n], n, left = topic, n + 1, left - costs[topic]
        for who in followers.values[followers.offsets[topic] : followers.offsets[topic + 1]]:
            before = remaining[who]
            if before <= 0:
                continue
            remaining[who] = after = before - events[topic]
            was = WHOLE / before
            if after <= 0:
                for other in topics.values[topics.offsets[who] : topics.offsets[who + 1]]:
                    known[other, _GAIN] -= _towards(known[other, _EVENTS], before, was)
                continue
            now = WHOLE / after
            for other in topics.values[topics.offsets[who] : topics.offsets[who + 1]]:
                rate = known[other, _EVENTS]
                gain = known[other, _GAIN] + _towards(rate, after, now) - _towards(rate, before, was)
                known[other, _GAIN] = gain
                if gain > known[other, _LIMIT]:
                    # An eighth more than it must be: where a topic rises often, it is raised seldom.
                    gain += gain >> 3
                    known[other, _LIMIT] = gain
                    raise_(heap, other, gain / costs[other])
    return chosen[:n]


_REMAINING, _SCALE = range(2)


@njit(cache=True, nogil=True)
def _lazy(
    events: Int64, followers: Csr, thresholds: Int64, costs: Int64, divisors: Int64, capacity: int, gains: Int64
) -> Int64:
    wants = np.empty((len(thresholds), 2))
    wants[:, _REMAINING], wants[:, _SCALE] = thresholds, WHOLE / thresholds
    heap = heap_of(gains / divisors)
    # Who is satisfied has no share left in any topic, and is dropped from its followers.
    hopeful, ends = followers.values.copy(), followers.offsets[1:].copy()
    known_at = np.zeros(len(events), np.int64)
    chosen, n, left = np.empty(len(events), np.int64), 0, capacity
    while heap.size[0] > 0:
        topic = heap.topics[0]
        if costs[topic] > left:
            pop(heap)
            continue
        rate, first = float(events[topic]), followers.offsets[topic]
        if known_at[topic] < n:
            known_at[topic], gain, kept = n, 0, first
            for i in range(first, ends[topic]):
                who = hopeful[i]
                if wants[who, _REMAINING] > 0:
                    gain += _share(rate, wants[who, _REMAINING], wants[who, _SCALE])
                    hopeful[kept] = who
                    kept += 1
            ends[topic] = kept
            if gain < gains[topic]:
                gains[topic] = gain
                lower(heap, topic, gain / divisors[topic])
                continue
        if gains[topic] == 0:
            break
        pop(heap)
        chosen[n], n, left = topic, n + 1, left - costs[topic]
        for who in hopeful[first : ends[topic]]:
            wants[who, _REMAINING] = max(0.0, wants[who, _REMAINING] - rate)
    return chosen[:n]


@njit(cache=True, nogil=True)
def _eager(
    events: Int64,
    topics: Csr,
    followers: Csr,
    thresholds: Int64,
    costs: Int64,
    divisors: Int64,
    capacity: int,
    gains: Int64,
) -> Int64:
    remaining = thresholds.copy()
    heap = heap_of(gains / divisors)
    waits = np.ones(len(events), np.bool_)
    chosen, n, left = np.empty(len(events), np.int64), 0, capacity
    while heap.size[0] > 0 and gains[heap.topics[0]] > 0:
        topic = pop(heap)
        waits[topic] = False
        if costs[topic] > left:
            continue
        chosen[n], n, left = topic, n + 1, left - costs[topic]
        for who in followers.values[followers.offsets[topic] : followers.offsets[topic + 1]]:
            before = remaining[who]
            if before == 0:
                continue
            remaining[who] = after = max(0, before - events[topic])
            scale = WHOLE / thresholds[who]
            for other in topics.values[topics.offsets[who] : topics.offsets[who + 1]]:
                if waits[other]:
                    gains[other] -= _share(events[other], before, scale) - _share(events[other], after, scale)
                    lower(heap, other, gains[other] / divisors[other])
    return chosen[:n]


@njit(cache=True, nogil=True)
def _first_gains(events: Int64, followers: Csr, thresholds: Int64) -> Int64:
    gains = np.zeros(len(events), np.int64)
    for topic in range(len(events)):
        for who in followers.values[followers.offsets[topic] : followers.offsets[topic + 1]]:
            gains[topic] += _share(events[topic], thresholds[who], WHOLE / thresholds[who])
    return gains


@njit(cache=True, nogil=True)
def _received(topics: Csr, served: Int64) -> Int64:
    got = np.zeros(len(topics.offsets) - 1, np.int64)
    for who in range(len(got)):
        for topic in topics.values[topics.offsets[who] : topics.offsets[who + 1]]:
            got[who] += served[topic]
    return got


@njit(cache=True, nogil=True)
def _course(events: Int64, followers: Csr, thresholds: Int64, chosen: Int64) -> Any:
    remaining = thresholds.copy()
    satisfied, shares = np.zeros(len(chosen), np.int64), np.zeros(len(chosen))
    happy, sum_ = 0, 0.0
    for i in range(len(chosen)):
        topic = chosen[i]
        for who in followers.values[followers.offsets[topic] : followers.offsets[topic + 1]]:
            if remaining[who] > 0:
                sum_ += min(events[topic], remaining[who]) / thresholds[who]
                remaining[who] -= events[topic]
                happy += remaining[who] <= 0
        satisfied[i], shares[i] = happy, sum_
    return satisfied, shares
