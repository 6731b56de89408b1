"""Adding conjunctions to plots where they belong, and cutting a term anew that has grown since it was cut."""

from typing import Any, Final

import numpy as np

from tidegate.csr import Csr, Int32, Int64
from tidegate.index.box_words import Words, box_word
from tidegate.index.filed import COPIES, NO_BLOCK, Filed, block_of, is_full, kind_of, with_more, with_room
from tidegate.index.filing import desk_for, file_term, rarest_of, room_for_more, second_word
from tidegate.index.kd_cells import KdCells, reaches
from tidegate.index.placed import Degrees
from tidegate.index.plots import COUNT, CUTS, START, Plots
from tidegate.index.register import Boxes, box_of, has_bit
from tidegate.intrinsics import prefetch
from tidegate.kernels import njit

_AHEAD: Final = 8
_USUAL_COPIES: Final = 8
_ONE, _TWO = np.uint64(1), np.uint64(2)
_WHOSE: Final = np.uint64(0xFFFF_FFFF)


@njit(cache=True, nogil=True)
def add_to(filed: Filed, cells: KdCells, sets: Csr, boxes: Degrees, whose: Int32, alive: Words) -> Any:
    """File rows, each of which is somebody's, in the lists there are; return the plots, and the terms that are due.

    `alive` has a bit by number: lists that are full lose what is gone before they get more room.
    """
    rarest, copies = rarest_of(sets), np.empty((len(whose), 2), np.uint64)
    filed = with_more(filed, room_for_more(sets))
    due, n_due = np.empty(len(rarest), np.int32), 0
    room = _USUAL_COPIES * len(rarest)
    # By copy: its row, and the list it goes to: a cell, or -1 - a term that is not cut.
    target, row_of, count = np.empty(room, np.int64), np.empty(room, np.int32), 0
    stack = np.empty(2 * cells.levels + 2, np.int32)
    for row in range(len(rarest)):
        if row + _AHEAD < len(rarest):
            prefetch(filed.plots.roots, rarest[row + _AHEAD])
        term = rarest[row]
        terms = sets.values[sets.offsets[row] : sets.offsets[row + 1]]
        copies[row, 0] = box_word(filed.plots.frame, boxes[row])
        copies[row, 1] = second_word(terms, term, whose[row], filed.plots.more, filed.used)
        filed.due[term] -= 1
        if filed.due[term] == 0:
            due[n_due] = term
            n_due += 1
        root = filed.plots.roots[term]
        first, level = -1 - term, 0
        if root < 0:
            first, level = (-1 - root) >> CUTS, (-1 - root) & ((1 << CUTS) - 1)
        target, row_of = with_room(target, count + (1 << level)), with_room(row_of, count + (1 << level))
        depth, leftmost = 1, (1 << level) - 1
        stack[0] = 0
        while depth > 0:
            depth -= 1
            node = stack[depth]
            if node >= leftmost:
                target[count], row_of[count] = first + node - leftmost, row
                if root < 0:
                    prefetch(filed.plots.cells, target[count])
                count += 1
                continue
            left, right = reaches(cells, node, boxes[row])
            stack[depth] = 2 * node + 1
            depth += left
            stack[depth] = 2 * node + 2
            depth += right
    return _appended(filed, target[:count], row_of, copies, alive), due[:n_due]


@njit(cache=True, nogil=True)
def _appended(filed: Filed, target: Int64, row_of: Int32, words: Words, alive: Words) -> Filed:
    """Append copies to lists; one whose block is full is tidied first, and moves to another if that is too little."""
    vacant = filed.vacant
    roots, cells, copies, used = filed.plots.roots, filed.plots.cells, filed.plots.copies, filed.used
    for i in range(len(target)):
        if i + _AHEAD < len(target):
            start, count = _list_at(roots, cells, target[i + _AHEAD])
            prefetch(copies, 2 * (start + count))
        start, count = _list_at(roots, cells, target[i])
        if is_full(count):
            before, count = count, _tidied(copies, start, count, alive)
            block = block_of(count + 1)
            if block != before:
                moved = vacant[kind_of(block)]
                if moved == NO_BLOCK:
                    moved = used[COPIES]
                    used[COPIES] += block
                    if 2 * used[COPIES] > len(copies):
                        copies = with_room(copies, 2 * used[COPIES])
                else:
                    vacant[kind_of(block)] = np.int64(copies[2 * moved])
                for word in range(np.uint64(2 * count)):
                    copies[np.uint64(2 * moved) + word] = copies[np.uint64(2 * start) + word]
                if before > 0:
                    copies[2 * start] = np.uint64(vacant[kind_of(before)])
                    vacant[kind_of(before)] = start
                start = moved
        end = np.uint64(2 * (start + count))
        copies[end], copies[end + _ONE] = words[row_of[i], 0], words[row_of[i], 1]
        if target[i] >= 0:
            cells[target[i]] = (start << START) | (count + 1)
        else:
            roots[-1 - target[i]] = (start << START) | (count + 1)
    return Filed(Plots(filed.plots.frame, roots, cells, copies, filed.plots.more), used, filed.due, vacant)


@njit(cache=True, nogil=True)
def _tidied(copies: Words, start: int, count: int, alive: Words) -> Any:
    """Move the living copies of a list to its front; return how many they are."""
    kept = np.uint64(start)
    for copy in range(np.uint64(start), np.uint64(start + count)):
        box, second = copies[_TWO * copy], copies[_TWO * copy + _ONE]
        copies[_TWO * kept], copies[_TWO * kept + _ONE] = box, second
        kept += np.uint64(has_bit(alive, second & _WHOSE))
    return np.int64(kept) - start


@njit(cache=True, nogil=True)
def _list_at(roots: Int64, cells: Int64, target: int) -> tuple[int, int]:
    """Return start and length of the list of a cell, or of -1 - a term that is not cut."""
    found = cells[target] if target >= 0 else roots[-1 - target]
    return found >> START, found & COUNT


@njit(cache=True, nogil=True)
def recut(filed: Filed, cells: KdCells, boxes: Boxes, term: int) -> Any:
    """Return the plots with the living entries of a term in as many cells as they now deserve."""
    copies = _copies_of(filed.plots, term)
    order = np.argsort(copies[:, 1] & _WHOSE)
    own_boxes, own_copies, count = np.empty((len(order), 4)), np.empty((len(order), 2), np.uint64), 0
    last = np.int64(-1)
    for i in order:
        number = np.int64(copies[i, 1] & _WHOSE)
        if number != last and has_bit(boxes.alive, number):
            own_boxes[count], own_copies[count] = box_of(boxes, number), copies[i]
            count += 1
        last = number
    return file_term(filed, cells, term, own_boxes[:count], own_copies[:count], desk_for(count))


@njit(cache=True, nogil=True)
def _copies_of(plots: Plots, term: int) -> Words:
    """Return the copies in all lists of a term."""
    root = plots.roots[term]
    lists = plots.roots[term : term + 1]
    if root < 0:
        first, level = (-1 - root) >> CUTS, (-1 - root) & ((1 << CUTS) - 1)
        lists = plots.cells[first : first + (1 << level)]
    size = 0
    for found in lists:
        size += found & COUNT
    copies, end = np.empty((size, 2), np.uint64), 0
    for found in lists:
        for copy in range(found >> START, (found >> START) + (found & COUNT)):
            copies[end, 0], copies[end, 1] = plots.copies[2 * copy], plots.copies[2 * copy + 1]
            end += 1
    return copies
