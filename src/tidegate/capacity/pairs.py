"""Which pairs of a subscriber and a topic to serve so that everybody is satisfied (MCSS, stage 1; thesis, §7.2.1)."""

from typing import Any, Final

import numpy as np

from tidegate.capacity.demand import Demand
from tidegate.csr import Csr, Int32, Int64
from tidegate.kernels import njit

_ID_BITS: Final = 31
_ID: Final = (1 << _ID_BITS) - 1
_SPENT: Final = np.iinfo(np.int64).max
_LOOKED_FOR: Final = 8


def greedy_pairs(demand: Demand, satisfied_by: int | Int64) -> Csr:
    """Return by subscriber the topics that satisfy it with few events (GSP, Algorithms 8 and 9).

    All topics that do not overshoot are worth the same there: here the largest comes first, then the first by number;
    when none is left, the smallest that overshoots is the last.
    """
    return Csr(*_greedy(demand.events, demand.topics, demand.thresholds(satisfied_by)))


def random_pairs(demand: Demand, satisfied_by: int | Int64, seed: int) -> Csr:
    """Return by subscriber topics in random order, as many as satisfy it (RSP): the naive choice."""
    return Csr(*_random(demand.events, demand.topics, demand.thresholds(satisfied_by), np.uint64(seed)))


@njit(cache=True, nogil=True)
def _greedy(events: Int64, topics: Csr, thresholds: Int64) -> Any:
    offsets, chosen = np.zeros(len(thresholds) + 1, np.int64), np.empty(len(topics.values), np.int32)
    keys = np.empty(np.diff(topics.offsets).max() if len(thresholds) else 0, np.int64)
    for who in range(len(thresholds)):
        row = topics.values[topics.offsets[who] : topics.offsets[who + 1]]
        for i in range(len(row)):
            keys[i] = key_of(row[i], events[row[i]])
        offsets[who + 1] = greedy_row(keys[: len(row)], thresholds[who], chosen, offsets[who])
    return offsets, chosen[: offsets[-1]].copy()


@njit(cache=True, nogil=True)
def key_of(topic: int, events: int) -> int:
    """Return a number by which topics are sorted: the most events first, and of equal ones the first by number."""
    return (-events << _ID_BITS) | topic


@njit(cache=True, nogil=True)
def greedy_row(keys: Int64, threshold: int, chosen: Int32, n: int) -> int:
    """Choose from a subscriber's topics by their keys, which come in any order and are spent.

    Topics are written to `chosen` from `n` on; return where they end.
    """
    left = threshold
    # Few topics are enough for most subscribers: these are looked for. For the others it is worth sorting.
    for _ in range(_LOOKED_FOR):
        best, best_key, least = -1, _SPENT, -left << _ID_BITS
        for i in range(len(keys)):
            if least <= keys[i] < best_key:
                best, best_key = i, keys[i]
        if best < 0:
            break
        chosen[n], n, left = best_key & _ID, n + 1, left + (best_key >> _ID_BITS)
        keys[best] = _SPENT
        if left == 0:
            return n
    keys.sort()
    for i in range(len(keys)):
        if -left << _ID_BITS <= keys[i] < _SPENT:
            chosen[n], n, left = keys[i] & _ID, n + 1, left + (keys[i] >> _ID_BITS)
            keys[i] = _SPENT
            if left == 0:
                return n
    over, over_events = -1, np.iinfo(np.int64).max
    for key in keys:
        if key < _SPENT and -(key >> _ID_BITS) < over_events:
            over, over_events = key & _ID, -(key >> _ID_BITS)
    chosen[n] = over
    return n + 1


@njit(cache=True, nogil=True)
def _random(events: Int64, topics: Csr, thresholds: Int64, seed: Any) -> Any:
    offsets, chosen = np.zeros(len(thresholds) + 1, np.int64), np.empty(len(topics.values), np.int32)
    shuffled = topics.values.copy()
    state = np.array([seed])
    for who in range(len(thresholds)):
        row = shuffled[topics.offsets[who] : topics.offsets[who + 1]]
        offsets[who + 1] = random_row(row, events, thresholds[who], state, chosen, offsets[who])
    return offsets, chosen[: offsets[-1]].copy()


@njit(cache=True, nogil=True)
def random_row(row: Int32, events: Int64, threshold: int, state: Any, chosen: Int32, n: int) -> int:
    """Do as `greedy_row` does, but at random; what of the row is drawn comes to its front."""
    left = threshold
    for at in range(len(row)):
        state[0] = state[0] * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
        drawn = at + np.int64((state[0] >> np.uint64(33)) % np.uint64(len(row) - at))
        row[at], row[drawn] = row[drawn], row[at]
        chosen[n] = row[at]
        n += 1
        left -= events[row[at]]
        if left <= 0:
            break
    return n
