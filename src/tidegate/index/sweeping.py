"""Sweeping: plots without the copies of what is gone, and without gaps between lists.

A tenth of the work of filing everything anew, so it is done instead while the cells still fit what there is.
"""

from typing import Any, Final

import numpy as np

from tidegate.csr import Int32, Int64
from tidegate.index.box_words import Words
from tidegate.index.filed import CELLS, COPIES, KINDS, MORE, NO_BLOCK, Filed, block_of, room_like
from tidegate.index.plots import COUNT, CUTS, NO_MORE, START, Plots
from tidegate.index.register import has_bit
from tidegate.kernels import njit

_ONE: Final = np.uint64(1)
_HALF, _WHOSE = np.uint64(32), np.uint64(0xFFFF_FFFF)


def swept(filed: Filed, alive: Words) -> Filed:
    """Return the plots with the copies of living entries alone: of those whose bit is set."""
    plots, (n_copies, n_cells, n_more) = filed.plots, filed.used
    copies, cells = room_like(plots.copies, 2 * n_copies), room_like(plots.cells, n_cells)
    more = np.empty_like(plots.more)
    used = _swept(plots, alive, n_more, copies, cells, more)
    kept = Plots(plots.frame, plots.roots, cells, copies, more)
    return Filed(kept, used, filed.due, np.full(KINDS, NO_BLOCK))


@njit(cache=True, nogil=True)
def _swept(plots: Plots, alive: Words, n_more: int, copies: Words, cells: Int64, more: Int32) -> Int64:
    """Write what is kept; roots are changed in place. Return how much of each array is used."""
    used = np.zeros(3, np.int64)
    moved = np.full(n_more, -1, np.int32)
    for term in range(len(plots.roots)):
        root = plots.roots[term]
        if root >= 0:
            plots.roots[term] = _kept(root, plots, alive, copies, more, moved, used)
            continue
        first, level = (-1 - root) >> CUTS, (-1 - root) & ((1 << CUTS) - 1)
        plots.roots[term] = -1 - ((used[CELLS] << CUTS) | level)
        for cell in range(first, first + (1 << level)):
            cells[used[CELLS]] = _kept(plots.cells[cell], plots, alive, copies, more, moved, used)
            used[CELLS] += 1
    return used


@njit(cache=True, nogil=True)
def _kept(old: int, plots: Plots, alive: Words, copies: Words, more: Int32, moved: Int32, used: Int64) -> Any:
    """Write the living copies of a list; return where they are."""
    start, end = used[COPIES], used[COPIES]
    for copy in range(old >> START, (old >> START) + (old & COUNT)):
        box, second = plots.copies[2 * copy], plots.copies[2 * copy + 1]
        if has_bit(alive, second & _WHOSE):
            further = np.int32(second >> _HALF)
            if further < NO_MORE:
                place = _kept_more(-2 - further, plots.more, more, moved, used)
                second = (second & _WHOSE) | (np.uint64(np.uint32(np.int32(-2 - place))) << _HALF)
            copies[2 * end], copies[2 * end + 1] = box, second
            end += 1
    count = end - start
    used[COPIES] += block_of(count)
    return (start << START) | count if count else np.int64(0)


@njit(cache=True, nogil=True)
def _kept_more(place: int, before: Int32, more: Int32, moved: Int32, used: Int64) -> Any:
    """Write the further terms of a conjunction, once for all of its copies; return where they are."""
    if moved[place] < 0:
        # The second, and the third or instead of it how many follow.
        length = 2 if before[place + 1] >= 0 else -before[place + 1]
        moved[place] = used[MORE]
        for i in range(length):
            more[used[MORE] + i] = before[place + i]
        used[MORE] += length
    return moved[place]
