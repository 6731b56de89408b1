"""The small, growing part of an index by words and place: linked lists by rarest term and cell.

Adding is a few writes per cell a box overlaps. It is emptied into an immutable index before its lists grow long.
"""

from typing import Any, Final, NamedTuple

import numpy as np
from numba import njit

from tidegate.csr import Csr, Int32, Int64
from tidegate.growth import with_room
from tidegate.index.kd_cells import KdCells, reaches
from tidegate.index.placed import Degrees, Placed
from tidegate.index.plots import is_inside

_LEVELS: Final = 8
_END: Final = -1
_EMPTY: Final = np.int64(-1)
_SPREAD: Final = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio: neighbouring keys end up far apart


class TailLists(NamedTuple):
    """What the kernels read and write."""

    keys: Int64
    """A hash table, open addressing: term and cell; `_EMPTY` where there is none."""
    newest: Int32
    """By slot: the copy added last."""
    row_of: Int32
    """By copy: its row."""
    older: Int32
    """By copy: the one added before it under the same key."""
    counts: Int64
    """Rows, copies, keys in use."""
    offsets: Int64
    values: Int32
    """The terms of the rows."""
    boxes: Degrees


class PlacedTail:
    """Rows are counted from 0."""

    def __init__(self, cells: KdCells) -> None:
        """Start empty, with the coarsest cells of a tree."""
        self.cells = cells.coarsened(_LEVELS)
        self.lists = TailLists(
            np.full(1 << 12, _EMPTY),
            np.empty(1 << 12, np.int32),
            np.empty(64, np.int32),
            np.empty(64, np.int32),
            np.zeros(3, np.int64),
            np.zeros(65, np.int64),
            np.empty(64, np.int32),
            np.empty((64, 4)),
        )

    @property
    def rows(self) -> int:
        """How many there are."""
        return int(self.lists.counts[0])

    @property
    def placed(self) -> Placed:
        """All of it, as views."""
        offsets = self.lists.offsets[: self.rows + 1]
        return Placed(Csr(offsets, self.lists.values[: offsets[-1]]), self.lists.boxes[: self.rows])

    def add(self, placed: Placed) -> None:
        """Append rows."""
        lists, rows = self.lists, self.rows
        used, added = int(lists.offsets[rows]), placed.rows
        lists = lists._replace(
            offsets=with_room(lists.offsets, rows + added + 1),
            values=with_room(lists.values, used + len(placed.sets.values)),
            boxes=with_room(lists.boxes, rows + added),
        )
        lists.offsets[rows + 1 : rows + added + 1] = used + placed.sets.offsets[1:]
        lists.values[used : used + len(placed.sets.values)] = placed.sets.values
        lists.boxes[rows : rows + added] = placed.boxes
        while _link(self.cells, lists, rows + added) < rows + added:
            lists = _grown(lists, 1 << self.cells.levels)
        self.lists = lists

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(array.nbytes for array in self.lists)


def _grown(lists: TailLists, most: int) -> TailLists:
    """Return the lists with room for `most` more copies and keys; what has to grow at all is doubled."""
    _, copies, used = lists.counts
    if copies + most > len(lists.row_of):
        room = int(copies) + most
        lists = lists._replace(row_of=with_room(lists.row_of, room), older=with_room(lists.older, room))
    if 2 * (used + most) > len(lists.keys):
        keys, newest = np.full(2 * len(lists.keys), _EMPTY), np.empty(2 * len(lists.keys), np.int32)
        _rehash(lists.keys, lists.newest, keys, newest)
        lists = lists._replace(keys=keys, newest=newest)
    return lists


@njit(cache=True, nogil=True)
def _rehash(keys: Int64, newest: Int32, larger: Int64, newest_there: Int32) -> None:
    for slot in range(len(keys)):
        if keys[slot] != _EMPTY:
            place = _slot(larger, keys[slot])
            larger[place], newest_there[place] = keys[slot], newest[slot]


@njit(cache=True, nogil=True)
def _slot(keys: Int64, key: int) -> Any:
    """Return where a key is, or the empty slot where it would be."""
    mask = len(keys) - 1
    slot = np.int64((np.uint64(key) * _SPREAD) >> np.uint64(33)) & mask
    while keys[slot] != _EMPTY and keys[slot] != key:
        slot = (slot + 1) & mask
    return slot


@njit(cache=True, nogil=True)
def _key(term: int, cell: int) -> Any:
    return (np.int64(term) << _LEVELS) | cell


@njit(cache=True, nogil=True)
def _link(cells: KdCells, lists: TailLists, rows: int) -> int:
    """Link rows up to `rows`, as far as there is room; return how many are."""
    most = 1 << cells.levels
    stack = np.empty(2 * cells.levels + 2, np.int32)
    for row in range(lists.counts[0], rows):
        if lists.counts[1] + most > len(lists.row_of) or 2 * (lists.counts[2] + most) > len(lists.keys):
            return row
        rarest = np.int32(-1)
        for i in range(lists.offsets[row], lists.offsets[row + 1]):
            rarest = max(rarest, lists.values[i])
        depth = 1
        stack[0] = 0
        while depth > 0:
            depth -= 1
            node = stack[depth]
            if node >= len(cells.splits):
                _push(lists, _key(rarest, node - len(cells.splits)), row)
                continue
            left, right = reaches(cells, node, lists.boxes[row])
            if left:
                stack[depth] = 2 * node + 1
                depth += 1
            if right:
                stack[depth] = 2 * node + 2
                depth += 1
        lists.counts[0] = row + 1
    return rows


@njit(cache=True, nogil=True)
def _push(lists: TailLists, key: int, row: int) -> None:
    slot = _slot(lists.keys, key)
    if lists.keys[slot] == _EMPTY:
        lists.keys[slot], lists.newest[slot] = key, _END
        lists.counts[2] += 1
    copy = lists.counts[1]
    lists.row_of[copy], lists.older[copy] = row, lists.newest[slot]
    lists.newest[slot] = copy
    lists.counts[1] += 1


@njit(cache=True, nogil=True)
def read_tail(
    lists: TailLists, terms: Int32, held: Any, mark: int, cell: int, lat: float, lon: float, out: Int32, end: int
) -> tuple[int, int]:
    """Append the rows that a post matches; return the new end, -1 for no room, and how many were looked at.

    `held[term] == mark` for its terms, and `cell` is where it lies.
    """
    looked_at = 0
    for term in terms:
        slot = _slot(lists.keys, _key(term, cell))
        copy = lists.newest[slot] if lists.keys[slot] != _EMPTY else _END
        while copy != _END:
            row = lists.row_of[copy]
            looked_at += 1
            if is_inside(lists.boxes[row], lat, lon):
                contained = True
                for i in range(lists.offsets[row], lists.offsets[row + 1]):
                    contained &= held[lists.values[i]] == mark
                if contained:
                    if end == len(out):
                        return -1, looked_at
                    out[end] = row
                    end += 1
            copy = lists.older[copy]
    return end, looked_at
