"""GI² (PS²Stream §IV-D): a fixed grid, in each cell an inverted list for every least frequent keyword, lazy deletion.

An entry is copied into the list of its highest rank in every cell that its box overlaps. Removing one clears its bit;
its copies leave the lists when matching next reads them, or when a full list would have to grow. All lists lie in one
pool, in blocks of a power of two, found by one hash table from (cell, term).
"""

from typing import Any, ClassVar, Final, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from tidegate.csr import Csr, Int32, Int64
from tidegate.errors import ConfigError
from tidegate.growth import with_room
from tidegate.index.contract import Cursor, Matches, collect
from tidegate.index.placed import EAST, NORTH, SOUTH, WEST, Degrees, Placed, PlacedIndex, PlacedPosts, checked
from tidegate.index.sets import ranked_items
from tidegate.intrinsics import prefetch

WORLD: Final = (-180.0, -90.0, 180.0, 90.0)

_NOTHING: Final = -1
_NO_MORE_TERMS: Final = -1
_FULL: Final = 0.5  # share of the hash table's slots beyond which it doubles
_SPARE: Final = 0.75  # share of a block that may be in use after removed entries left it, else it doubles
_END_OF_RECORDS, _END_OF_TAILS, _LISTS = range(3)
_SPREADING: Final = np.uint64(0x9E3779B97F4A7C15)

_SLOT: Final = np.dtype([("key", np.int64), ("start", np.int32), ("count", np.int32)])
_RECORD: Final = np.dtype(
    [
        ("west", np.float64),
        ("south", np.float64),
        ("east", np.float64),
        ("north", np.float64),
        ("number", np.int32),
        ("more", np.int32),
    ]
)


class Frame(NamedTuple):
    """How points fall into cells. What lies outside of the grid belongs to the cells of its border."""

    west: float
    south: float
    per_lon: float
    """Columns in a degree."""
    per_lat: float
    columns: int
    rows: int


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


class GridInverted(PlacedIndex):
    """Exact for any input, fast for boxes about the size of a cell. Its node is a list; a copy read is a candidate."""

    name: ClassVar[str] = "grid-inverted"

    def __init__(self, bounds: tuple[float, float, float, float] = WORLD, *, columns: int = 64, rows: int = 64) -> None:
        """Start empty, with equal cells over `bounds` (west, south, east, north)."""
        west, south, east, north = bounds
        if not (west < east and south < north and np.isfinite(bounds).all()):
            raise ConfigError(f"bounds {bounds} hold no cells: the order is west, south, east, north")
        if columns < 1 or rows < 1 or columns * rows >= 2**31:
            raise ConfigError(f"{columns} columns and {rows} rows: from 1 to 2,147,483,647 cells are allowed")
        self._frame = Frame(west, south, columns / (east - west), rows / (north - south), columns, rows)
        slots = np.zeros(64, _SLOT)
        slots["key"] = _NOTHING
        self._lists = Lists(
            slots,
            np.zeros(len(slots), np.int8),
            np.empty(0, _RECORD),
            np.full(32, _NOTHING, np.int32),
            np.empty(0, np.int32),
            np.full(32, _NOTHING, np.int32),
            np.zeros(3, np.int64),
        )
        self._alive = np.zeros(1, np.uint64)  # a bit per number: the table of removed ids, turned round
        self._numbered = 0
        self._n_terms = 0

    def add(self, placed: Placed) -> Int32:
        """Append a copy of each entry to one list of every cell it overlaps. Amortised constant time per copy."""
        highest = checked(placed)
        sets, first = placed.sets, self._numbered
        if first + sets.rows >= 2**31:
            raise ConfigError("a grid-inverted index numbers at most 2,147,483,647 entries in its life")
        self._alive = with_room(self._alive, (first + sets.rows + 63) // 64)
        self._n_terms = max(self._n_terms, highest + 1)
        self._lists = _add(self._lists, self._frame, self._alive, sets, np.ascontiguousarray(placed.boxes), first)
        self._numbered += sets.rows
        return np.arange(first, first + sets.rows, dtype=np.int32)

    def remove(self, entries: Any) -> None:
        """Remove entries by number, in constant time each. Nothing happens if one of them is not there."""
        numbers = np.atleast_1d(np.asarray(entries, np.int64))
        stranger = _first_stranger(self._alive, self._numbered, numbers)
        if stranger < len(numbers):
            raise ConfigError(
                f"entry {numbers[stranger]} is not in the index: it was never added, or is already removed"
            )
        _clear(self._alive, numbers)

    def match(self, posts: PlacedPosts) -> Matches:
        """Return exactly the entries that each post matches; drop removed ones from every list that is read."""
        known = posts._replace(terms=ranked_items(posts.terms, self._n_terms))
        found, counters = collect(
            known.terms,
            lambda first, out: int(_match(self._lists, self._frame, self._alive, self._n_terms, known, first, out)),
        )
        return Matches(found, int(counters[0]), int(counters[1]))

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays, with the room they have to grow."""
        return self._alive.nbytes + sum(array.nbytes for array in self._lists)


@njit(cache=True, nogil=True)
def _column(frame: Frame, lon: float) -> Any:
    # Cut to size before rounding, for infinite degrees; every step keeps the order, so no box misses a point of it.
    return np.int64(min(max((lon - frame.west) * frame.per_lon, 0.0), frame.columns - 1.0))


@njit(cache=True, nogil=True)
def _row(frame: Frame, lat: float) -> Any:
    return np.int64(min(max((lat - frame.south) * frame.per_lat, 0.0), frame.rows - 1.0))


@njit(cache=True, nogil=True)
def _cell(frame: Frame, lat: float, lon: float) -> Any:
    return _row(frame, lat) * frame.columns + _column(frame, lon)


@njit(cache=True, nogil=True)
def _key(cell: int, term: int) -> Any:
    return (cell << 32) | np.int64(term)


@njit(cache=True, nogil=True)
def _first_slot(slots: NDArray[np.void], key: int) -> Any:
    """Where the search for a key begins: the table's size is a power of two."""
    return np.int64((np.uint64(key) * _SPREADING) >> np.uint64(32)) & (len(slots) - 1)


@njit(cache=True, nogil=True)
def _slot(slots: NDArray[np.void], key: int) -> Any:
    """The slot that has the key, or the empty one where it belongs."""
    slot = _first_slot(slots, key)
    while slots[slot].key != key and slots[slot].key != _NOTHING:
        slot = (slot + 1) & (len(slots) - 1)
    return slot


@njit(cache=True, nogil=True)
def _is_alive(alive: NDArray[np.uint64], number: int) -> Any:
    return (alive[number >> 6] >> np.uint64(number & 63)) & np.uint64(1)


@njit(cache=True, nogil=True)
def _first_stranger(alive: NDArray[np.uint64], numbered: int, numbers: Int64) -> int:
    """The place of the first number that is of no entry, or their count."""
    for i in range(len(numbers)):
        if not (0 <= numbers[i] < numbered and _is_alive(alive, numbers[i])):
            return i
    return len(numbers)


@njit(cache=True, nogil=True)
def _clear(alive: NDArray[np.uint64], numbers: Int64) -> None:
    for number in numbers:
        alive[number >> 6] &= ~(np.uint64(1) << np.uint64(number & 63))


@njit(cache=True, nogil=True)
def _power(size: int) -> Any:
    """The exponent of the least power of two that is no smaller."""
    power = 0
    while (1 << power) < size:
        power += 1
    return power


@njit(cache=True, nogil=True)
def _add(lists: Lists, frame: Frame, alive: NDArray[np.uint64], sets: Csr, boxes: Degrees, first: int) -> Any:
    for entry in range(len(sets.offsets) - 1):
        number = first + entry
        alive[number >> 6] |= np.uint64(1) << np.uint64(number & 63)
        first_column, last_column = _column(frame, boxes[entry, WEST]), _column(frame, boxes[entry, EAST])
        first_row, last_row = _row(frame, boxes[entry, SOUTH]), _row(frame, boxes[entry, NORTH])
        copies = (last_column - first_column + 1) * (last_row - first_row + 1)
        terms = sets.values[sets.offsets[entry] : sets.offsets[entry + 1]]
        term = terms.max()
        lists, more = _with_tail(lists, terms, term, copies)
        for row in range(first_row, last_row + 1):
            for column in range(first_column, last_column + 1):
                lists, slot = _with_place(lists, alive, _key(row * frame.columns + column, term))
                at = lists.slots[slot].start + lists.slots[slot].count
                lists.records[at].west = boxes[entry, WEST]
                lists.records[at].south = boxes[entry, SOUTH]
                lists.records[at].east = boxes[entry, EAST]
                lists.records[at].north = boxes[entry, NORTH]
                lists.records[at].number = number
                lists.records[at].more = more
                lists.slots[slot].count += 1
    return lists


@njit(cache=True, nogil=True)
def _with_tail(lists: Lists, terms: Int32, key: int, copies: int) -> Any:
    """Return what a record says of the terms besides `key`, and the lists with the tail that it may refer to."""
    others = 0
    other = np.int32(_NO_MORE_TERMS)
    for term in terms:
        if term not in (key, other):
            others += 1
            other = term
    if others < 2:
        return lists, other
    size = 2 + len(terms)
    power = _power(size)
    at = np.int64(lists.vacant_tails[power])
    if at == _NOTHING:
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
def _with_place(lists: Lists, alive: NDArray[np.uint64], key: int) -> Any:
    """Return the slot of a key's list, and the lists with a free place at its end."""
    slot = _slot(lists.slots, key)
    if lists.slots[slot].key == _NOTHING:
        if lists.sizes[_LISTS] + 1 > _FULL * len(lists.slots):
            lists = _rehashed(lists)
            slot = _slot(lists.slots, key)
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
    if start != _NOTHING:
        lists.vacant[power] = lists.records[start].number
        return lists, start
    start = lists.sizes[_END_OF_RECORDS]
    end = start + (1 << power)
    lists.sizes[_END_OF_RECORDS] = end
    if end > len(lists.records):
        records = np.empty(end * 3 // 2, _RECORD)
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
        if lists.slots[slot].key != _NOTHING and lists.slots[slot].count > 0:
            kept += 1
    size = len(lists.slots) * 2 if kept > _FULL / 2 * len(lists.slots) else len(lists.slots)
    slots, rooms = np.empty(size, _SLOT), np.zeros(size, np.int8)
    for slot in range(size):
        slots[slot].key = _NOTHING
    for old in range(len(lists.slots)):
        if lists.slots[old].key == _NOTHING:
            continue
        if lists.slots[old].count == 0:
            _free_block(lists, old)
            continue
        slot = _slot(slots, lists.slots[old].key)
        slots[slot] = lists.slots[old]
        rooms[slot] = lists.rooms[old]
    lists.sizes[_LISTS] = kept
    return Lists(slots, rooms, lists.records, lists.vacant, lists.tails, lists.vacant_tails, lists.sizes)


@njit(cache=True, nogil=True)
def _drop_removed(lists: Lists, alive: NDArray[np.uint64], slot: int) -> None:
    at = lists.slots[slot].start
    stop = at + lists.slots[slot].count
    while at < stop:
        if _is_alive(alive, lists.records[at].number):
            at += 1
        else:
            stop -= 1
            _drop(lists.records, lists.tails, lists.vacant_tails, at, stop)
    lists.slots[slot].count = stop - lists.slots[slot].start


@njit(cache=True, nogil=True)
def _drop(records: NDArray[np.void], tails: Int32, vacant_tails: Int32, at: int, last: int) -> None:
    """Put a list's last record in the place of a removed one, and free the tail with its last copy."""
    more = records[at].more
    records[at] = records[last]
    if more < _NO_MORE_TERMS:
        tail = -2 - more
        tails[tail] -= 1
        if tails[tail] == 0:
            power = _power(2 + tails[tail + 1])
            tails[tail] = vacant_tails[power]
            vacant_tails[power] = tail


@njit(cache=True, nogil=True)
def _has_tail(tails: Int32, more: int, held: NDArray[np.uint8]) -> Any:
    tail = -2 - more
    for i in range(tail + 2, tail + 2 + tails[tail + 1]):
        if not held[tails[i]]:
            return np.uint8(0)
    return np.uint8(1)


@njit(cache=True, nogil=True)
def _is_place(lat: float, lon: float) -> Any:
    return not (np.isnan(lat) or np.isnan(lon))


@njit(cache=True, nogil=True)
def _ask_for(slots: NDArray[np.void], frame: Frame, posts: PlacedPosts, post: int) -> None:
    """Let the slots of a post's terms be on their way from memory."""
    if _is_place(posts.lat[post], posts.lon[post]):
        cell = _cell(frame, posts.lat[post], posts.lon[post])
        for i in range(posts.terms.offsets[post], posts.terms.offsets[post + 1]):
            prefetch(slots, _first_slot(slots, _key(cell, posts.terms.values[i])))


@njit(cache=True, nogil=True)
def _match(
    lists: Lists, frame: Frame, alive: NDArray[np.uint64], n_terms: int, posts: PlacedPosts, first: int, out: Cursor
) -> int:
    slots, records, tails = lists.slots, lists.records, lists.tails
    n_posts = len(posts.terms.offsets) - 1
    longest = np.int64(0)
    for post in range(first, n_posts):
        longest = max(longest, posts.terms.offsets[post + 1] - posts.terms.offsets[post])
    found = np.empty(longest, np.int64)
    held = np.zeros(n_terms + 1, np.uint8)
    held[_NO_MORE_TERMS] = 1  # the last place: no further term is always held

    for post in range(first, n_posts):
        if post + 1 < n_posts:
            _ask_for(slots, frame, posts, post + 1)
        written = out.offsets[post]
        out.offsets[post + 1] = written
        lat, lon = posts.lat[post], posts.lon[post]
        if not _is_place(lat, lon):
            continue
        cell = _cell(frame, lat, lon)
        terms = posts.terms.values[posts.terms.offsets[post] : posts.terms.offsets[post + 1]]
        n_found, candidates = 0, np.int64(0)
        for term in terms:
            held[term] = 1
            slot = _slot(slots, _key(cell, term))
            if slots[slot].key != _NOTHING:
                prefetch(records, slots[slot].start)
                found[n_found] = slot
                n_found += 1
                candidates += slots[slot].count
        if written + candidates > len(out.numbers):
            return post
        for i in range(n_found):
            slot = found[i]
            at = np.int64(slots[slot].start)
            stop = at + slots[slot].count
            while at < stop:
                if not _is_alive(alive, records[at].number):
                    stop -= 1
                    _drop(records, tails, lists.vacant_tails, at, stop)
                    continue
                # Without branches: most boxes of a cell fail, but not by the same side.
                inside = (
                    (records[at].west <= lon)
                    & (lon <= records[at].east)
                    & (records[at].south <= lat)
                    & (lat <= records[at].north)
                )
                if inside:
                    more = records[at].more
                    out.numbers[written] = records[at].number
                    written += held[more] if more >= _NO_MORE_TERMS else _has_tail(tails, more, held)
                at += 1
            slots[slot].count = stop - slots[slot].start
        for term in terms:
            held[term] = 0
        out.offsets[post + 1] = written
        out.counters[0] += n_found
        out.counters[1] += candidates
    return n_posts
