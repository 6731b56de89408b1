"""A heap of topics, the best on top: the one with the greatest key, and of equal ones the first."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidegate.csr import Int32, Int64
from tidegate.kernels import njit

Keys = NDArray[np.float64]


class Heap(NamedTuple):
    """What the kernels read and write."""

    topics: Int32
    """In the order of the heap; the first `size[0]` count."""
    place: Int32
    """By topic: where it is among them."""
    keys: Keys
    """By topic."""
    size: Int64


@njit(cache=True, nogil=True)
def heap_of(keys: Keys) -> Heap:
    """Return the heap of all topics by these keys, which it keeps."""
    n = len(keys)
    heap = Heap(np.arange(n, dtype=np.int32), np.arange(n, dtype=np.int32), keys, np.array([n]))
    for at in range(n // 2 - 1, -1, -1):
        _sink(heap, at)
    return heap


@njit(cache=True, nogil=True)
def pop(heap: Heap) -> int:
    """Take the best one away and return it."""
    best, last = heap.topics[0], heap.topics[heap.size[0] - 1]
    heap.size[0] -= 1
    heap.topics[0], heap.place[last] = last, 0
    if heap.size[0] > 0:
        _sink(heap, 0)
    return best  # type: ignore[no-any-return]


@njit(cache=True, nogil=True)
def lower(heap: Heap, topic: int, key: float) -> None:
    """Give a topic that is in the heap a key that is not greater than the one it has."""
    heap.keys[topic] = key
    _sink(heap, heap.place[topic])


@njit(cache=True, nogil=True)
def raise_(heap: Heap, topic: int, key: float) -> None:
    """Give a topic that is in the heap a key that is not smaller than the one it has."""
    heap.keys[topic] = key
    at = heap.place[topic]
    while at > 0:
        above = (at - 1) // 2
        if not _is_better(heap.keys, topic, heap.topics[above]):
            break
        _put(heap, at, heap.topics[above])
        at = above
    _put(heap, at, topic)


@njit(cache=True, nogil=True)
def _sink(heap: Heap, at: int) -> None:
    topic, size = heap.topics[at], heap.size[0]
    while True:
        below = 2 * at + 1
        if below >= size:
            break
        if below + 1 < size and _is_better(heap.keys, heap.topics[below + 1], heap.topics[below]):
            below += 1
        if not _is_better(heap.keys, heap.topics[below], topic):
            break
        _put(heap, at, heap.topics[below])
        at = below
    _put(heap, at, topic)


@njit(cache=True, nogil=True)
def _put(heap: Heap, at: int, topic: int) -> None:
    heap.topics[at], heap.place[topic] = topic, at


@njit(cache=True, nogil=True)
def _is_better(keys: Keys, one: int, other: int) -> bool:
    return keys[one] > keys[other] or (keys[one] == keys[other] and one < other)
