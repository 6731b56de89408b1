"""The lists of GI²: inverted lists that grow and shrink, all in one pool, found by one hash table from (cell, term).

Lists lie in blocks of a power of two. A removed entry's copies leave a list when it is read, or would have to grow.
"""

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidegate.csr import Int32, Int64
from tidegate.kernels import njit

NOTHING: Final = -1
NO_MORE_TERMS: Final = -1
_FULL: Final = 0.5  # share of the hash table's slots beyond which it doubles
_SPARE: Final = 0.75  # share of a block that may be in use after removed entries left it, else it doubles
_END_OF_RECORDS, _END_OF_TAILS, _LISTS = range(3)
_SPREADING: Final = np.uint64(0x9E3779B97F4A7C15)

SLOT: Final = np.dtype([("key", np.int64), ("start", np.int32), ("count", np.int32)])
RECORD: Final = np.dtype(
    [
        ("west", np.float64),
        ("south", np.float64),
        ("east", np.float64),
        ("north", np.float64),
        ("number", np.int32),
        ("more", np.int32),
    ]
)


class Lists(NamedTuple):
    """What the kernels read and write."""

    slots: NDArray[np.void]
    """The hash table: cell and term as one key, and where the list lies in the pool."""
    rooms: NDArray[np.int8]
    """By slot: the list's block holds two to this power of records."""
    records: NDArray[np.void]
    """The pool: an entry's box and number, and its other terms: none (-1), one, or a place in `tails` (below -1)."""
    vacant: Int32
    """By power of two: the first free block of that many records; `number` of its first record leads to the next."""
    tails: Int32
    """Where an entry has three terms and more: copies that refer to them, how many there are, the terms."""
    vacant_tails: Int32
    """By power of two: the first free block of `tails`, whose first word leads to the next."""
    sizes: Int64
    """End of the used records, end of the used tails, number of lists."""


@njit(cache=True, nogil=True)
def key_of(cell: int, term: int) -> Any:
    """Return cell and term as one number."""
    return (cell << 32) | np.int64(term)


@njit(cache=True, nogil=True)
def first_slot(slots: NDArray[np.void], key: int) -> Any:
    """Where the search for a key begins: the table's size is a power of two."""
    return np.int64((np.uint64(key) * _SPREADING) >> np.uint64(32)) & (len(slots) - 1)


@njit(cache=True, nogil=True)
def slot_of(slots: NDArray[np.void], key: int) -> Any:
    """The slot that has the key, or the empty one where it belongs."""
    slot = first_slot(slots, key)
    while slots[slot].key != key and slots[slot].key != NOTHING:
        slot = (slot + 1) & (len(slots) - 1)
    return slot


@njit(cache=True, nogil=True)
def is_alive(alive: NDArray[np.uint64], number: int) -> Any:
    """Return the bit of an entry: whether it is not removed."""
    return (alive[number >> 6] >> np.uint64(number & 63)) & np.uint64(1)


@njit(cache=True, nogil=True)
def _power(size: int) -> Any:
    """The exponent of the least power of two that is no smaller."""
    power = 0
    while (1 << power) < size:
        power += 1
    return power


@njit(cache=True, nogil=True)
def with_tail(lists: Lists, terms: Int32, key: int, copies: int) -> Any:
    """Return what a record says of the terms besides `key`, and the lists with the tail that it may refer to."""
    others = 0
    other = np.int32(NO_MORE_TERMS)
    for term in terms:
        if term not in (key, other):
            others += 1
            other = term
    if others < 2:
        return lists, other
    size = 2 + len(terms)
    power = _power(size)
    at = np.int64(lists.vacant_tails[power])
    if at == NOTHING:
        at = lists.sizes[_END_OF_TAILS]
        lists.sizes[_END_OF_TAILS] = at + (1 << power)
        if at + (1 << power) > len(lists.tails):
            tails = np.empty((at + (1 << power)) * 3 // 2, np.int32)
            tails[:at] = lists.tails[:at]
            lists = Lists(lists.slots, lists.rooms, lists.records, lists.vacant, tails, lists.vacant_tails, lists.sizes)
    else:
        lists.vacant_tails[power] = lists.tails[at]
    lists.tails[at] = copies
    lists.tails[at + 1] = len(terms)
    lists.tails[at + 2 : at + size] = terms
    return lists, np.int32(-2 - at)


@njit(cache=True, nogil=True)
def with_place(lists: Lists, alive: NDArray[np.uint64], key: int) -> Any:
    """Return the slot of a key's list, and the lists with a free place at its end."""
    slot = slot_of(lists.slots, key)
    if lists.slots[slot].key == NOTHING:
        if lists.sizes[_LISTS] + 1 > _FULL * len(lists.slots):
            lists = _rehashed(lists)
            slot = slot_of(lists.slots, key)
        lists, start = _with_block(lists, 0)
        lists.slots[slot].key = key
        lists.slots[slot].start = start
        lists.slots[slot].count = 0
        lists.rooms[slot] = 0
        lists.sizes[_LISTS] += 1
        return lists, slot
    room = 1 << lists.rooms[slot]
    if lists.slots[slot].count < room:
        return lists, slot
    _drop_removed(lists, alive, slot)
    start, count = lists.slots[slot].start, lists.slots[slot].count
    if count <= _SPARE * room:
        return lists, slot
    lists, grown = _with_block(lists, lists.rooms[slot] + 1)
    lists.records[grown : grown + count] = lists.records[start : start + count]
    _free_block(lists, slot)
    lists.slots[slot].start = grown
    lists.rooms[slot] += 1
    return lists, slot


@njit(cache=True, nogil=True)
def _with_block(lists: Lists, power: int) -> Any:
    """Return the start of a free block of two to this power of records, and the lists that have it."""
    start = np.int64(lists.vacant[power])
    if start != NOTHING:
        lists.vacant[power] = lists.records[start].number
        return lists, start
    start = lists.sizes[_END_OF_RECORDS]
    end = start + (1 << power)
    lists.sizes[_END_OF_RECORDS] = end
    if end > len(lists.records):
        records = np.empty(end * 3 // 2, RECORD)
        records[:start] = lists.records[:start]
        lists = Lists(lists.slots, lists.rooms, records, lists.vacant, lists.tails, lists.vacant_tails, lists.sizes)
    return lists, start


@njit(cache=True, nogil=True)
def _free_block(lists: Lists, slot: int) -> None:
    start, power = lists.slots[slot].start, lists.rooms[slot]
    lists.records[start].number = lists.vacant[power]
    lists.vacant[power] = start


@njit(cache=True, nogil=True)
def _rehashed(lists: Lists) -> Any:
    """The lists in a table that is less full; those without entries are forgotten."""
    kept = 0
    for slot in range(len(lists.slots)):
        if lists.slots[slot].key != NOTHING and lists.slots[slot].count > 0:
            kept += 1
    size = len(lists.slots) * 2 if kept > _FULL / 2 * len(lists.slots) else len(lists.slots)
    slots, rooms = np.empty(size, SLOT), np.zeros(size, np.int8)
    for slot in range(size):
        slots[slot].key = NOTHING
    for old in range(len(lists.slots)):
        if lists.slots[old].key == NOTHING:
            continue
        if lists.slots[old].count == 0:
            _free_block(lists, old)
            continue
        slot = slot_of(slots, lists.slots[old].key)
        slots[slot] = lists.slots[old]
        rooms[slot] = lists.rooms[old]
    lists.sizes[_LISTS] = kept
    return Lists(slots, rooms, lists.records, lists.vacant, lists.tails, lists.vacant_tails, lists.sizes)


@njit(cache=True, nogil=True)
def _drop_removed(lists: Lists, alive: NDArray[np.uint64], slot: int) -> None:
    at = lists.slots[slot].start
    stop = at + lists.slots[slot].count
    while at < stop:
        if is_alive(alive, lists.records[at].number):
            at += 1
        else:
            stop -= 1
            drop(lists.records, lists.tails, lists.vacant_tails, at, stop)
    lists.slots[slot].count = stop - lists.slots[slot].start


@njit(cache=True, nogil=True)
def drop(records: NDArray[np.void], tails: Int32, vacant_tails: Int32, at: int, last: int) -> None:
    """Put a list's last record in the place of a removed one, and free the tail with its last copy."""
    more = records[at].more
    records[at] = records[last]
    if more < NO_MORE_TERMS:
        tail = -2 - more
        tails[tail] -= 1
        if tails[tail] == 0:
            power = _power(2 + tails[tail + 1])
            tails[tail] = vacant_tails[power]
            vacant_tails[power] = tail


@njit(cache=True, nogil=True)
def has_tail(tails: Int32, more: int, held: NDArray[np.uint8]) -> Any:
    """Whether all terms are held that a record refers to."""
    tail = -2 - more
    for i in range(tail + 2, tail + 2 + tails[tail + 1]):
        if not held[tails[i]]:
            return np.uint8(0)
    return np.uint8(1)
