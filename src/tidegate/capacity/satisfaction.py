"""Which topics to serve so that as many subscribers as possible are satisfied, within a capacity.

B3M counts subscribers that get their threshold of events, F-B3M adds up what share of it each gets (thesis on social
publish/subscribe, chapter 6). Both choose greedily. What a topic would bring is a sum of shares in whole numbers, so it
does not depend on the order of adding up, and of topics that would bring the same for their cost the first is taken.
"""

from concurrent.futures import ThreadPoolExecutor
from enum import StrEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tidegate.capacity.demand import Demand
from tidegate.capacity.heap import heap_of, lower, pop, raise_
from tidegate.capacity.selection import Selection, checked_costs, selection
from tidegate.csr import Csr, Int32, Int64
from tidegate.errors import ConfigError
from tidegate.intrinsics import prefetch
from tidegate.kernels import njit

WHOLE: Final = 1 << 30
"""A share of 1."""
_AHEAD: Final = 16
"""So many followers before their turn, what is known of them is asked for: most time goes by waiting for memory."""


class By(StrEnum):
    """What the greedy choice for F-B3M looks at."""

    GAIN = "G"
    RATIO = "R"
    """The gain for its cost."""


def b3m(demand: Demand, satisfied_by: int | Int64, capacity: int, costs: Int64 | None = None) -> Selection:
    """Serve what satisfies most subscribers: the greedy choice (Algorithms 1 and 2).

    What a topic brings grows as subscribers come near to their thresholds, so nothing can be put off: what rises is
    raised at once; only what sinks waits until it comes to the top.
    """
    thresholds, prices = demand.thresholds(satisfied_by), checked_costs(demand, costs)
    gains = _first_towards(demand.events, demand.followers, thresholds)
    # What is touched together lies together: a subscriber with where its topics begin, and these with their events.
    # And it is NumPy's memory, which comes in large pages: most time goes by waiting for it.
    wants = np.stack((np.append(thresholds, 0), demand.topics.offsets), axis=1)
    known, rows = np.stack((gains, gains), axis=1), demand.topics.values
    rates, room = demand.events[rows], _checked(capacity)
    chosen = _b3m(demand.events, rows, rates, demand.followers, wants, known, prices, room)
    return selection(demand, thresholds, prices, chosen)


def fb3m(
    demand: Demand, satisfied_by: int | Int64, capacity: int, costs: Int64 | None = None, *, lazy: bool = True
) -> Selection:
    """Serve what brings most satisfaction: the better of two greedy choices (Algorithm 7), ½(1 − 1/e) of the best.

    What a topic brings can only shrink; if `lazy`, it is computed anew only for who comes to the top.
    """
    thresholds, prices = _divisible(demand.thresholds(satisfied_by)), checked_costs(demand, costs)
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
    thresholds, prices = _divisible(demand.thresholds(satisfied_by)), checked_costs(demand, costs)
    gains = _first_gains(demand.events, demand.followers, thresholds)
    return _by(by, demand, thresholds, prices, _checked(capacity), gains, lazy=lazy)


def _by(
    by: By, demand: Demand, thresholds: Int64, costs: Int64, capacity: int, gains: Int64, *, lazy: bool
) -> Selection:
    divisors = costs if by is By.RATIO else np.ones_like(costs)
    if lazy:
        wants = np.stack((thresholds, WHOLE / thresholds), axis=1)
        hopeful = demand.followers.values.copy()
        chosen = _lazy(demand.events, demand.followers.offsets, hopeful, wants, costs, divisors, capacity, gains)
    else:
        chosen = _eager(demand.events, demand.topics, demand.followers, thresholds, costs, divisors, capacity, gains)
    return selection(demand, thresholds, costs, chosen)


def _divisible(thresholds: Int64) -> Int64:
    """The thresholds, if one event is a share of each that is not lost in rounding."""
    if len(thresholds) and thresholds.max() > WHOLE:
        raise ConfigError(
            f"a threshold of {thresholds.max():,} events: shares can be told of {WHOLE:,} and fewer, so count the "
            "events of a shorter period"
        )
    return thresholds


def _checked(capacity: int) -> int:
    if capacity < 0:
        raise ConfigError(f"a capacity of {capacity:,}: it is 0 or more")
    return capacity


@njit(cache=True, nogil=True)
def _towards(events: int, remaining: int, scale: float) -> int:
    """What an event rate does towards satisfying a subscriber, of whom so much remains; `scale` is WHOLE of that."""
    # Nothing to guess for the processor: which of the two it is cannot be foreseen.
    part = int(events * scale)
    return part + (WHOLE - part) * int(events >= remaining)


@njit(cache=True, nogil=True)
def _share(events: float, remaining: float, scale: float) -> int:
    """What share of its threshold a subscriber gets from these events, of which it still wants `remaining`."""
    return int(min(events, remaining) * scale)


_GAIN, _LIMIT = range(2)
_LEFT, _BEGIN = range(2)


@njit(cache=True, nogil=True)
def _b3m(
    events: Int64,
    topics: Int32,
    rates: Int64,
    followers: Csr,
    wants: Int64,
    known: Int64,
    costs: Int64,
    capacity: int,
) -> Int64:
    # A topic's key in the heap is its limit for its cost; no limit is below the gain, and on top it is made true.
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
        end = followers.offsets[topic + 1]
        for i in range(followers.offsets[topic], end):
            _ask_ahead(followers.values, i, end, wants, topics, known)
            who = followers.values[i]
            before = wants[who, _LEFT]
            if before <= 0:
                continue
            wants[who, _LEFT] = after = before - events[topic]
            was, begin, stop = WHOLE / before, wants[who, _BEGIN], wants[who + 1, _BEGIN]
            if after <= 0:
                for j in range(begin, stop):
                    known[topics[j], _GAIN] -= _towards(rates[j], before, was)
                continue
            now = WHOLE / after
            for j in range(begin, stop):
                # A topic that was enough still is.
                if rates[j] >= before:
                    continue
                other = topics[j]
                gain = known[other, _GAIN] + _towards(rates[j], after, now) - _towards(rates[j], before, was)
                known[other, _GAIN] = gain
                if gain > known[other, _LIMIT]:
                    # An eighth more than it must be: where a topic rises often, it is raised seldom.
                    gain += gain >> 3
                    known[other, _LIMIT] = gain
                    raise_(heap, other, gain / costs[other])
    return chosen[:n]


@njit(cache=True, nogil=True)
def _ask_ahead(followers: Int32, at: int, end: int, wants: Int64, rows: Int32, known: Int64) -> None:
    """Ask for what is needed of a follower that comes later; of one that comes sooner, for its topics."""
    if at + _AHEAD < end:
        prefetch(wants, 2 * np.int64(followers[at + _AHEAD]))
    if at + _AHEAD // 2 < end:
        prefetch(rows, wants[followers[at + _AHEAD // 2], _BEGIN])
    if at + _AHEAD // 4 < end:
        prefetch(known, 2 * np.int64(rows[wants[followers[at + _AHEAD // 4], _BEGIN]]))


@njit(cache=True, nogil=True)
def _first_towards(events: Int64, followers: Csr, thresholds: Int64) -> Int64:
    gains = np.zeros(len(events), np.int64)
    for topic in range(len(events)):
        for i in range(followers.offsets[topic], followers.offsets[topic + 1]):
            if i + _AHEAD < len(followers.values):
                prefetch(thresholds, followers.values[i + _AHEAD])
            threshold = thresholds[followers.values[i]]
            gains[topic] += _towards(events[topic], threshold, WHOLE / threshold)
    return gains


_REMAINING, _SCALE = range(2)


@njit(cache=True, nogil=True)
def _lazy(
    events: Int64,
    offsets: Int64,
    hopeful: Int32,
    wants: NDArray[np.float64],
    costs: Int64,
    divisors: Int64,
    capacity: int,
    gains: Int64,
) -> Int64:
    heap = heap_of(gains / divisors)
    # Who is satisfied has no share left in any topic, and is dropped from its followers.
    ends = offsets[1:].copy()
    known_at = np.zeros(len(events), np.int64)
    chosen, n, left = np.empty(len(events), np.int64), 0, capacity
    while heap.size[0] > 0:
        topic = heap.topics[0]
        if costs[topic] > left:
            pop(heap)
            continue
        rate, first = float(events[topic]), offsets[topic]
        if known_at[topic] < n:
            known_at[topic], gain, kept = n, 0, first
            for i in range(first, ends[topic]):
                if i + _AHEAD < ends[topic]:
                    prefetch(wants, 2 * np.int64(hopeful[i + _AHEAD]))
                who = hopeful[i]
                gain += _share(rate, wants[who, _REMAINING], wants[who, _SCALE])
                hopeful[kept] = who
                kept += int(wants[who, _REMAINING] > 0)
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
        for i in range(followers.offsets[topic], followers.offsets[topic + 1]):
            if i + _AHEAD < len(followers.values):
                prefetch(thresholds, followers.values[i + _AHEAD])
            threshold = thresholds[followers.values[i]]
            gains[topic] += _share(events[topic], threshold, WHOLE / threshold)
    return gains
