"""GI² (PS²Stream §IV-D): a fixed grid, in each cell an inverted list for every least frequent keyword, lazy deletion.

An entry is copied into the list of its highest rank in every cell that its box overlaps. Removing one clears its bit;
its copies leave the lists (`inverted_lists`) when matching next reads them, or when a full list would have to grow.
"""

from typing import Any, ClassVar, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidegate.csr import Csr, Int32, Int64
from tidegate.errors import ConfigError
from tidegate.growth import with_room
from tidegate.index.contract import Cursor, Matches, collect
from tidegate.index.inverted_lists import (
    NO_MORE_TERMS,
    NOTHING,
    RECORD,
    SLOT,
    Lists,
    drop,
    first_slot,
    has_tail,
    is_alive,
    key_of,
    slot_of,
    with_place,
    with_tail,
)
from tidegate.index.placed import EAST, NORTH, SOUTH, WEST, Degrees, Placed, PlacedIndex, PlacedPosts, checked
from tidegate.index.sets import ranked_items
from tidegate.intrinsics import prefetch
from tidegate.kernels import njit

WORLD: Final = (-180.0, -90.0, 180.0, 90.0)


class Frame(NamedTuple):
    """How points fall into cells. What lies outside of the grid belongs to the cells of its border."""

    west: float
    south: float
    per_lon: float
    """Columns in a degree."""
    per_lat: float
    columns: int
    rows: int


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
        slots = np.zeros(64, SLOT)
        slots["key"] = NOTHING
        self._lists = Lists(
            slots,
            np.zeros(len(slots), np.int8),
            np.empty(0, RECORD),
            np.full(32, NOTHING, np.int32),
            np.empty(0, np.int32),
            np.full(32, NOTHING, np.int32),
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
def _first_stranger(alive: NDArray[np.uint64], numbered: int, numbers: Int64) -> int:
    """The place of the first number that is of no entry, or their count."""
    for i in range(len(numbers)):
        if not (0 <= numbers[i] < numbered and is_alive(alive, numbers[i])):
            return i
    return len(numbers)


@njit(cache=True, nogil=True)
def _clear(alive: NDArray[np.uint64], numbers: Int64) -> None:
    for number in numbers:
        alive[number >> 6] &= ~(np.uint64(1) << np.uint64(number & 63))


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
        lists, more = with_tail(lists, terms, term, copies)
        for row in range(first_row, last_row + 1):
            for column in range(first_column, last_column + 1):
                lists, slot = with_place(lists, alive, key_of(row * frame.columns + column, term))
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
def _is_place(lat: float, lon: float) -> Any:
    return not (np.isnan(lat) or np.isnan(lon))


@njit(cache=True, nogil=True)
def _ask_for(slots: NDArray[np.void], frame: Frame, posts: PlacedPosts, post: int) -> None:
    """Let the slots of a post's terms be on their way from memory."""
    if _is_place(posts.lat[post], posts.lon[post]):
        cell = _cell(frame, posts.lat[post], posts.lon[post])
        for i in range(posts.terms.offsets[post], posts.terms.offsets[post + 1]):
            prefetch(slots, first_slot(slots, key_of(cell, posts.terms.values[i])))


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
    held[NO_MORE_TERMS] = 1  # the last place: no further term is always held

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
            slot = slot_of(slots, key_of(cell, term))
            if slots[slot].key != NOTHING:
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
                if not is_alive(alive, records[at].number):
                    stop -= 1
                    drop(records, tails, lists.vacant_tails, at, stop)
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
                    written += held[more] if more >= NO_MORE_TERMS else has_tail(tails, more, held)
                at += 1
            slots[slot].count = stop - slots[slot].start
        for term in terms:
            held[term] = 0
        out.offsets[post + 1] = written
        out.counters[0] += n_found
        out.counters[1] += candidates
    return n_posts
