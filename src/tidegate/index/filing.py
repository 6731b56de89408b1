"""Filing conjunctions with a box into plots: how finely a term is cut, and what a copy of a box says.

A box is copied into every cell of its term that it overlaps, so a finer cut pays only while lists shrink by more than
copies grow.
"""

from typing import Any, Final

import numpy as np

from tidegate.csr import Csr, Int32, Int64
from tidegate.errors import ConfigError
from tidegate.index.box_words import Words, box_word, learned_frame
from tidegate.index.filed import (
    CELLS,
    COPIES,
    KINDS,
    LEAST_DUE,
    MORE,
    NO_BLOCK,
    Filed,
    block_of,
    roomy,
    with_cells,
    with_copies,
    with_more,
)
from tidegate.index.kd_cells import KdCells, reaches
from tidegate.index.placed import Degrees, Placed
from tidegate.index.plots import COUNT, CUTS, LEAST_MORE, NO_MORE, START, Plots
from tidegate.index.settled import grouped
from tidegate.intrinsics import prefetch
from tidegate.kernels import njit

_SHORT: Final = 1.0
"""Copies in a list, of which fewer are not worth a cut."""
_WORTH: Final = 0.9
"""A cut is worth it if it shortens lists to this share."""
_MOST_COPIES: Final = 6
"""Of a box, on average over a term."""
_AHEAD: Final = 8
_HALF: Final = np.uint64(32)
_FIRST_HALF: Final = np.uint64(0xFFFF_FFFF)


def filed_plots(placed: Placed, whose: Int32, cells: KdCells, n_terms: int) -> Filed:
    """File conjunctions, each of which is somebody's, under the cells. Their terms are below `n_terms`."""
    frame, roots, nothing = learned_frame(placed.boxes), np.zeros(n_terms, np.int64), np.empty(0, np.int64)
    plots = Plots(frame, roots, nothing, np.empty(0, np.uint64), np.zeros(LEAST_MORE, np.int32))
    empty = Filed(plots, np.zeros(3, np.int64), np.empty(n_terms, np.int32), np.full(KINDS, NO_BLOCK))
    rows = grouped(rarest_of(placed.sets), np.arange(placed.rows, dtype=np.int32), n_terms)
    filed = Filed(*_file_all(empty, cells, rows, placed, whose))
    # Half of what a list's start can say: as many again may come before all is filed anew.
    if filed.used[:2].max() >= 2**30:
        raise ConfigError(f"{placed.rows:,} conjunctions with a place are too many for one index: spread them")
    plots, (copies, n_cells, _) = filed.plots, filed.used
    plots = plots._replace(cells=roomy(plots.cells, n_cells), copies=roomy(plots.copies, 2 * copies))
    return filed._replace(plots=plots)


@njit(cache=True, nogil=True)
def rarest_of(sets: Csr) -> Int32:
    """Return the rarest term of every row."""
    rarest = np.empty(len(sets.offsets) - 1, np.int32)
    for row in range(len(rarest)):
        rarest[row] = sets.values[sets.offsets[row]]
        for i in range(sets.offsets[row] + 1, sets.offsets[row + 1]):
            rarest[row] = max(rarest[row], sets.values[i])
    return rarest


@njit(cache=True, nogil=True)
def second_word(terms: Int32, rarest: int, whose: int, more: Int32, used: Int64) -> Any:
    """Return the second word of a conjunction's copies; write its further terms, if there are several."""
    further, place, count = np.int32(NO_MORE), used[MORE], 0
    for term in terms:
        if term not in (np.int32(rarest), further):
            further = term
            # From the third on they stand behind the place where their number goes, if there are many.
            count += 1
            more[place + count - (count == 1)] = term
    if count >= 2:
        more[place + 1] = further if count == 2 else -1 - count
        used[MORE] += 2 if count == 2 else 1 + count
        further = np.int32(-2 - place)
    return (np.uint64(whose) & _FIRST_HALF) | (np.uint64(further) << _HALF)


@njit(cache=True, nogil=True)
def room_for_more(sets: Csr) -> Any:
    """How many words of `Plots.more` some sets take at most."""
    room = 3
    for row in range(len(sets.offsets) - 1):
        length = sets.offsets[row + 1] - sets.offsets[row]
        room += length if length > 2 else 0
    return room


@njit(cache=True, nogil=True)
def _file_all(filed: Filed, cells: KdCells, rows: Csr, placed: Placed, whose: Int32) -> Filed:
    sets, boxes = placed.sets, placed.boxes
    n_terms = len(rows.offsets) - 1
    largest = 0
    for term in range(n_terms):
        largest = max(largest, rows.offsets[term + 1] - rows.offsets[term])
    desk = desk_for(largest)
    some_boxes, some_copies = np.empty((largest, 4)), np.empty((largest, 2), np.uint64)
    filed = with_more(with_copies(filed, 2 * len(boxes)), room_for_more(sets))
    for term in range(n_terms):
        first, last = rows.offsets[term], rows.offsets[term + 1]
        for i in range(first, last):
            if i + _AHEAD < len(rows.values):
                prefetch(boxes, 4 * rows.values[i + _AHEAD])
                prefetch(sets.offsets, rows.values[i + _AHEAD])
            row = rows.values[i]
            terms = sets.values[sets.offsets[row] : sets.offsets[row + 1]]
            some_boxes[i - first] = boxes[row]
            some_copies[i - first, 0] = box_word(filed.plots.frame, boxes[row])
            some_copies[i - first, 1] = second_word(terms, term, whose[row], filed.plots.more, filed.used)
        filed = file_term(filed, cells, term, some_boxes[: last - first], some_copies[: last - first], desk)
    return filed


@njit(cache=True, nogil=True)
def desk_for(most: int) -> Any:
    """Where so many conjunctions can be cut: at this level and the next, whose copies there are, and in which node."""
    return np.empty((2, 2, 2 * _MOST_COPIES * most + 2), np.int32)


@njit(cache=True, nogil=True)
def file_term(filed: Filed, cells: KdCells, term: int, boxes: Degrees, copies: Words, desk: Any) -> Filed:
    """Cut a term as often as is worth it for its conjunctions, and write its lists."""
    count = len(boxes)
    filed.due[term] = max(count, LEAST_DUE)
    if count == 0:
        filed.plots.roots[term] = 0
        return filed
    desk[0, 0, :count] = np.arange(count)
    desk[0, 1, :count] = 0
    level, now = 0, 0
    while level < cells.levels and count > _SHORT * (1 << level):
        more = _halved(cells, boxes, desk[now, 0, :count], desk[now, 1, :count], desk[1 - now, 0], desk[1 - now, 1])
        if more > _MOST_COPIES * len(boxes) or more > 2 * _WORTH * count:
            break
        count, level, now = more, level + 1, 1 - now
    row, node = desk[now, 0, :count], desk[now, 1, :count]
    first, leftmost = filed.used[CELLS], (1 << level) - 1
    filed = with_cells(filed, 1 << level)
    lists = filed.plots.cells[first : first + (1 << level)]
    lists[:] = 0
    for i in range(count):
        lists[node[i] - leftmost] += 1
    start = filed.used[COPIES]
    for cell in range(len(lists)):
        length = lists[cell]
        # The length so far: copies are counted as they come.
        lists[cell] = start << START if length > 0 else 0
        start += block_of(length)
    filed = with_copies(filed, start - filed.used[COPIES])
    filed.plots.copies[2 * filed.used[COPIES] : 2 * start] = 0
    filed.used[COPIES] = start
    for i in range(count):
        cell = node[i] - leftmost
        place = (lists[cell] >> START) + (lists[cell] & COUNT)
        filed.plots.copies[2 * place] = copies[row[i], 0]
        filed.plots.copies[2 * place + 1] = copies[row[i], 1]
        lists[cell] += 1
    if level == 0:
        filed.plots.roots[term] = lists[0]
    else:
        filed.plots.roots[term] = -1 - ((first << CUTS) | level)
        filed.used[CELLS] += 1 << level
    return filed


@njit(cache=True, nogil=True)
def _halved(cells: KdCells, boxes: Degrees, row: Int32, node: Int32, next_row: Int32, next_node: Int32) -> int:
    """Hand every copy on to the halves of its node; return how many copies there are then."""
    count = 0
    for i in range(len(row)):
        left, right = reaches(cells, node[i], boxes[row[i]])
        next_row[count], next_node[count] = row[i], 2 * node[i] + 1
        count += left
        next_row[count], next_node[count] = row[i], 2 * node[i] + 2
        count += right
    return count
