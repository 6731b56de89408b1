"""Plots: conjunctions with a box, filed by rarest term and by the cells of one tree, a term as finely as it deserves.

A term that is the rarest of many conjunctions is cut into many cells, one with a handful into none: a list is short
wherever a post lies, and finding it is one look, whatever the depth. So every conjunction is pruned by whichever of its
words and its place is rarer. How they are filed is said in `filing`; this is what there is to read, and how.
"""

from typing import Any, Final, NamedTuple

import numpy as np

from tidegate.csr import Csr, Int32, Int64
from tidegate.index.box_words import Words, holds, may_hold
from tidegate.index.kd_cells import NOWHERE, KdCells, leaves_of
from tidegate.index.placed import Degrees
from tidegate.intrinsics import prefetch
from tidegate.kernels import njit

CUTS: Final = 8
"""Bits for the number of cuts of a term."""
START: Final = 32
"""A list is one number: where in `Plots.copies` it begins, and in so many last bits how many copies it has."""
COUNT: Final = (1 << START) - 1
NO_MORE: Final = -1
"""What a copy says of further terms if there are none."""
LEAST_MORE: Final = 2
"""Words of `Plots.more` at the least: two are read whether or not a copy says that they count."""

_AHEAD: Final = 24
"""Lists, that are asked for from memory before they are read."""
_LINE, _LINES = 8, 8
"""Words in a line of the cache, and how many lines of a list are asked for; more follow by themselves."""
_FIRST_HALF, _HALF = np.uint64(0xFFFF_FFFF), np.uint64(32)
_ONE, _TWO = np.uint64(1), np.uint64(2)


class Plots(NamedTuple):
    """What the kernels read."""

    frame: Degrees
    """Of the boxes' words."""
    roots: Int64
    """By term: its list if it is not cut; else -1 - (its first cell, and in the last `CUTS` bits how many cuts)."""
    cells: Int64
    """By cell: its list."""
    copies: Words
    """Two words each: the box; whose it is and, in the upper half, its further terms.

    `NO_MORE`, the one further term, or -2 - the place in `more` of several. Between lists is room to grow.
    """
    more: Int32
    """Of conjunctions with more than two terms: the second and the third; if there are more than three, instead of the
    third -2 - how many follow, and these."""

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(array.nbytes for array in self)


@njit(cache=True, nogil=True)
def lists_of(plots: Plots, cells: KdCells, terms: Csr, lat: Degrees, lon: Degrees) -> Int64:
    """Find the lists of all terms of all posts; empty ones for terms that are not filed, and posts that are nowhere.

    Each look goes to another place in memory, so these are asked for well ahead.
    """
    values, n_terms = terms.values, len(plots.roots)
    lists, leaves = np.empty(len(values), np.int64), leaves_of(cells, lat, lon)
    for post in range(len(lat)):
        leaf = leaves[post]
        for i in range(terms.offsets[post], terms.offsets[post + 1]):
            if i + _AHEAD < len(values) and 0 <= values[i + _AHEAD] < n_terms:
                prefetch(plots.roots, values[i + _AHEAD])
            root = np.int64(0)
            if leaf != NOWHERE and 0 <= values[i] < n_terms:
                root = plots.roots[values[i]]
                if root < 0:
                    root = -1 - root
                    cell = (root >> CUTS) + (leaf >> (cells.levels - (root & ((1 << CUTS) - 1))))
                    prefetch(plots.cells, cell)
                    root = -1 - cell
            lists[i] = root
    for i in range(len(values)):
        if lists[i] < 0:
            lists[i] = plots.cells[-1 - lists[i]]
    return lists


@njit(cache=True, nogil=True)
def ask_for(copies: Words, lists: Int64, i: Any) -> None:
    """Ask for the list from memory that is to be read some lists after the `i`-th."""
    ahead = np.uint64(i + _AHEAD)
    if ahead < np.uint64(len(lists)) and lists[ahead] != 0:
        start = 2 * (lists[ahead] >> START)
        stop = start + 2 * (lists[ahead] & COUNT)
        for word in range(start, min(stop, start + _LINES * _LINE), _LINE):
            prefetch(copies, word)


@njit(cache=True, nogil=True)
def read_lists(
    copies: Words,
    further: Int32,
    lists: Int64,
    first: int,
    last: int,
    point: Any,
    held: Any,
    mark: Any,
    out: Int32,
) -> Any:
    """Write whose boxes may hold a point, and whose terms a post, of lists `first` to `last`.

    There is room for one more than these lists have.
    `copies` and `further` are those of the plots. Return how many there are; and of how many, the first, it is not
    certain, for the point is near to a side. The post has term `t` if `held[t] == mark`.
    """
    # Indices are unsigned: a signed one may be negative, and looking at that for every word takes longer than the rest.
    near = np.uint64(0)
    for i in range(np.uint64(first), np.uint64(last)):
        copy = np.uint64(lists[i] >> START)
        stop = copy + np.uint64(lists[i] & COUNT)
        while copy < stop:
            # Kept if it is near: which boxes are is no branch to predict.
            out[near] = np.int32(copy)
            near += np.uint64(may_hold(copies[_TWO * copy], point))
            copy += _ONE
    kept = doubtful = np.uint64(0)
    for j in range(near):
        word = _TWO * np.uint64(out[j])
        box, copy = copies[word], copies[word + _ONE]
        whose, more = np.int32(copy & _FIRST_HALF), np.int32(copy >> _HALF)
        # How many terms there are is no branch to predict, either.
        place = np.uint64(max(np.int32(-2 - more), np.int32(0)))
        second, third = further[place], further[place + _ONE]
        second, third = (second, third) if more < NO_MORE else (more, more)
        found = (held[np.uint64(max(second, 0))] == mark) & (held[np.uint64(max(third, 0))] == mark)
        found |= more == NO_MORE
        if third < NO_MORE:
            found = _has_all(further[place + _TWO : place + np.uint64(-third)], second, held, mark)
        out[kept] = whose
        if found and not holds(box, point):
            out[kept], out[doubtful] = out[doubtful], whose
            doubtful += _ONE
        kept += np.uint64(found)
    return np.int64(kept), np.int64(doubtful)


@njit(cache=True, nogil=True)
def _has_all(terms: Int32, second: int, held: Any, mark: Any) -> Any:
    """Whether a post has the second term of a conjunction and all of the others."""
    found = held[second] == mark
    for term in terms:
        found &= held[term] == mark
    return found
