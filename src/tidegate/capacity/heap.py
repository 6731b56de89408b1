"""A heap of topics, the best on top: the one with the greatest key, and of equal ones the first.

Below a place are four others, which lie together with their keys: with millions of topics, most time goes by waiting
for memory.
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidegate.csr import Int32, Int64
from tidegate.kernels import njit

Keys = NDArray[np.float64]
_BELOW: Final = 4


class Heap(NamedTuple):
    """What the kernels read and write."""

    topics: Int32
    """In the order of the heap; the first `size[0]` count."""
    keys: Keys
    """In the same order."""
    place: Int32
    """By topic: where it is among them."""
    size: Int64


@njit(cache=True, nogil=True)
def heap_of(keys: Keys) -> Heap:
    """Return the heap of all topics by these keys, which it keeps."""
    n = len(keys)
    heap = Heap(np.arange(n, dtype=np.int32), keys, np.arange(n, dtype=np.int32), np.array([n]))
    for at in range((n - 2) // _BELOW, -1, -1):
        _sink(heap, at, heap.topics[at], keys[at])
    return heap


@njit(cache=True, nogil=True)
def pop(heap: Heap) -> int:
    """Take the best one away and return it."""
    best, end = heap.topics[0], heap.size[0] - 1
    heap.size[0] = end
    if end > 0:
        _sink(heap, 0, heap.topics[end], heap.keys[end])
    return best  # type: ignore[no-any-return]


@njit(cache=True, nogil=True)
def lower(heap: Heap, topic: int, key: float) -> None:
    """Give a topic that is in the heap a key that is not greater than the one it has."""
    _sink(heap, heap.place[topic], topic, key)


@njit(cache=True, nogil=True)
def raise_(heap: Heap, topic: int, key: float) -> None:
    """Give a topic that is in the heap a key that is not smaller than the one it has."""
    at = heap.place[topic]
    while at > 0:
        above = (at - 1) // _BELOW
        if not _is_better(key, topic, heap.keys[above], heap.topics[above]):
            break
        _put(heap, at, heap.topics[above], heap.keys[above])
        at = above
    _put(heap, at, topic, key)


@njit(cache=True, nogil=True)
def _sink(heap: Heap, at: int, topic: int, key: float) -> None:
    """Put a topic here, or below, where those that are better have been."""
    size = heap.size[0]
    while True:
        first = _BELOW * at + 1
        if first >= size:
            break
        best, best_topic, best_key = first, heap.topics[first], heap.keys[first]
        for below in range(first + 1, min(first + _BELOW, size)):
            if _is_better(heap.keys[below], heap.topics[below], best_key, best_topic):
                best, best_topic, best_key = below, heap.topics[below], heap.keys[below]
        if not _is_better(best_key, best_topic, key, topic):
            break
        _put(heap, at, best_topic, best_key)
        at = best
    _put(heap, at, topic, key)


@njit(cache=True, nogil=True)
def _put(heap: Heap, at: int, topic: int, key: float) -> None:
    heap.topics[at], heap.keys[at], heap.place[topic] = topic, key, at


@njit(cache=True, nogil=True)
def _is_better(key: float, topic: int, other_key: float, other: int) -> bool:
    return key > other_key or (key == other_key and topic < other)
