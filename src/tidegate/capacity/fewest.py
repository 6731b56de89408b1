"""The fewest events that satisfy a subscriber: a knapsack for each, solved exactly.

The thesis names the problem (§7.2.1) and leaves it for a greedy choice, for the time that it would take. Which sums
below a threshold can be reached is a bit each: most thresholds fit into a few words, and most subscribers are done
early.
"""

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidegate.capacity.demand import Demand
from tidegate.capacity.pairs import greedy_row, key_of
from tidegate.csr import Csr, Int32, Int64
from tidegate.intrinsics import popcount
from tidegate.kernels import njit

MOST_SUMS: Final = 1 << 16
"""Thresholds above have too many sums below them: there, the choice is greedy, and what it is compared with is less."""
_WORD: Final = 64
_NONE: Final = np.iinfo(np.int64).max


class Sums(NamedTuple):
    """What is kept while the topics of a subscriber are gone over; for any number of subscribers."""

    reached: NDArray[np.uint64]
    """A bit for each sum: some of the topics have so many events together."""
    last: Int32
    """By sum: the topic with which it was reached first, by its place in the row."""


class Best(NamedTuple):
    """The best choice of a row."""

    events: int
    """That it brings, not below the threshold."""
    last: int
    """The topic that it ends with, by its place in the row."""
    rest: int
    """What the others bring."""


def fewest_pairs(demand: Demand, satisfied_by: int | Int64) -> Csr:
    """Return by subscriber topics that satisfy it with as few events as can be; with a threshold too high, greedily.

    It takes `O(|topics| · threshold / 64)` for a subscriber at most.
    """
    thresholds = demand.thresholds(satisfied_by)
    return Csr(*_least(demand.events, demand.topics, thresholds, no_sums(_highest(thresholds))))


def no_sums(threshold: int) -> Sums:
    """Return memory for thresholds up to this one."""
    room = min(threshold, MOST_SUMS)
    return Sums(np.zeros(room // _WORD + 1, np.uint64), np.zeros(room + 1, np.int32))


def _highest(thresholds: Int64) -> int:
    return int(thresholds.max()) if len(thresholds) else 0


@njit(cache=True, nogil=True)
def best_of(rates: Int64, threshold: int, sums: Sums) -> Best:
    """Return the least that topics with these rates can bring, not below a threshold, which all of them exceed.

    No topic of the best choice can be left out, so all but its last one stay below the threshold.
    """
    words = (threshold - 1) // _WORD + 1
    sums.reached[:words] = 0
    sums.reached[0] = 1
    best, most = Best(_NONE, -1, 0), 0
    for at in range(len(rates)):
        rate = rates[at]
        rest = _first_from(sums.reached, max(threshold - rate, 0), most)
        if rest >= 0 and rest + rate < best.events:
            best = Best(rest + rate, at, rest)
            if best.events == threshold:
                break
        if rate < threshold:
            _reach(sums, rate, at, threshold, words)
            most = min(most + rate, threshold - 1)
    return best


@njit(cache=True, nogil=True)
def fewest_row(row: Int32, rates: Int64, best: Best, sums: Sums, chosen: Int32, n: int) -> int:
    """Write the topics of the best choice to `chosen` from `n` on; return where they end."""
    chosen[n], n, rest = row[best.last], n + 1, best.rest
    while rest > 0:
        at = sums.last[rest]
        chosen[n], n, rest = row[at], n + 1, rest - rates[at]
    return n


@njit(cache=True, nogil=True)
def _first_from(reached: Any, least: int, most: int) -> int:
    """Return the first sum from `least` to `most` that is reached, -1 if there is none."""
    if least > most:
        return -1
    word = least // _WORD
    bits = reached[word] >> np.uint64(least % _WORD) << np.uint64(least % _WORD)
    while bits == 0:
        word += 1
        if word > most // _WORD:
            return -1
        bits = reached[word]
    return word * _WORD + _lowest(bits)  # type: ignore[no-any-return]


@njit(cache=True, nogil=True)
def _reach(sums: Sums, rate: int, at: int, threshold: int, words: int) -> None:
    """Add a topic's rate to all sums that are reached, as long as it stays below the threshold."""
    skipped, shift = rate // _WORD, np.uint64(rate % _WORD)
    # From above, so that what is added to was there before the topic.
    for word in range(words - 1, skipped - 1, -1):
        bits = sums.reached[word - skipped] << shift
        if shift > 0 and word > skipped:
            bits |= sums.reached[word - skipped - 1] >> (np.uint64(_WORD) - shift)
        if word == words - 1 and threshold % _WORD > 0:
            bits &= (np.uint64(1) << np.uint64(threshold % _WORD)) - np.uint64(1)
        bits &= ~sums.reached[word]
        sums.reached[word] |= bits
        while bits != 0:
            sums.last[word * _WORD + _lowest(bits)] = at
            bits &= bits - np.uint64(1)


@njit(cache=True, nogil=True)
def _lowest(bits: Any) -> int:
    """Return the place of the lowest bit that is set; there is one."""
    return np.int64(popcount(~bits & (bits - np.uint64(1))))  # type: ignore[return-value]


@njit(cache=True, nogil=True)
def _least(events: Int64, topics: Csr, thresholds: Int64, sums: Sums) -> Any:
    offsets, chosen = np.zeros(len(thresholds) + 1, np.int64), np.empty(len(topics.values), np.int32)
    rates = np.empty(np.diff(topics.offsets).max() if len(thresholds) else 0, np.int64)
    n = 0
    for who in range(len(thresholds)):
        row = topics.values[topics.offsets[who] : topics.offsets[who + 1]]
        rates[: len(row)] = events[row]
        n = fewest_or_greedy_row(row, rates[: len(row)], thresholds[who], sums, chosen, n)
        offsets[who + 1] = n
    return offsets, chosen[:n].copy()


@njit(cache=True, nogil=True)
def fewest_or_greedy_row(row: Int32, rates: Int64, threshold: int, sums: Sums, chosen: Int32, n: int) -> int:
    """Choose from a subscriber's topics; they are written to `chosen` from `n` on, and where they end is returned."""
    if threshold == rates.sum():
        chosen[n : n + len(row)] = row
        return n + len(row)
    if threshold <= MOST_SUMS:
        return fewest_row(row, rates, best_of(rates, threshold, sums), sums, chosen, n)  # type: ignore[no-any-return]
    keys = np.empty(len(row), np.int64)
    for i in range(len(row)):
        keys[i] = key_of(row[i], rates[i])
    return greedy_row(keys, threshold, chosen, n)  # type: ignore[no-any-return]
