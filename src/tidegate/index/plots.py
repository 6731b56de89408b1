"""Plots: conjunctions with a box, filed by rarest term and by the cells of one tree, a term as finely as it deserves.

A term that is the rarest of many conjunctions is cut into many cells, one with a handful into none: a list is short
wherever a post lies, and finding it is one look, whatever the depth. So every conjunction is pruned by whichever of its
words and its place is rarer. A box is copied into every cell it overlaps, so a finer cut pays only while lists shrink
by more than copies grow.
"""

from math import ceil, floor
from typing import Any, Final, NamedTuple

import numpy as np
from numba import njit

from tidegate.csr import Csr, Int32, Int64
from tidegate.errors import ConfigError
from tidegate.index.kd_cells import KdCells, reaches
from tidegate.index.placed import EAST, NORTH, SOUTH, WEST, Degrees, Placed
from tidegate.index.settled import grouped
from tidegate.intrinsics import prefetch

_SHORT: Final = 1.0
"""Copies in a list, of which fewer are not worth a cut."""
_WORTH: Final = 0.9
"""A cut is worth it if it lowers the cost of reading a list to this share."""
_MOST_WORDS: Final = 42
"""Of memory, for every box on average: six copies that must be looked at, or 42 that need not."""
_COVERING: Final = 0.1
"""What reading a copy costs that need not be looked at, against one that must."""

_CUTS: Final = 8
_WORDS: Final = 7
_W, _S, _E, _N, _WHOSE, _SECOND, _THIRD = (np.uint64(word) for word in range(_WORDS))
_STEPS: Final = 2.0**23
"""Steps in a degree: a power of two, so that nothing but the rounding rounds. One is a centimetre."""
_LAST_STEP: Final = 2.0**31 - 1
_AHEAD: Final = 8
_LINE, _LINES = 16, 4
"""Words in a line of the cache, and how many lines of a list are asked for; more follow by themselves."""


class Plots(NamedTuple):
    """What the kernels read."""

    roots: Int64
    """By term: its first cell, and in the last `_CUTS` bits how many times it is cut."""
    ends: Int32
    """Where in `copies` the boxes of cell `c` begin, `ends[2 * c]`, and in `covering`, `ends[2 * c + 1]`."""
    covering: Int32
    """Whose boxes cover the whole cell, and have no term but this: all that a post there needs to know."""
    copies: Int32
    """The others. Seven words each: the box in steps, rounded outwards; whose it is; its second and third rarest term.

    Where there is no such term, the rarest stands again; where there are more, the third is -1 - their place in `more`.
    """
    more: Int32
    """Of conjunctions with more than three terms: how many there are beyond the second, and these."""

    @classmethod
    def of(cls, placed: Placed, whose: Int32, cells: KdCells, n_terms: int) -> "Plots":
        """File conjunctions, each of which is somebody's, under the cells. Their terms are below `n_terms`."""
        ranked, more = _ranked(placed.sets)
        rows = grouped(ranked[:, 0], np.arange(placed.rows, dtype=np.int32), n_terms)
        is_single = (ranked[:, 0] == ranked[:, 1]) & (ranked[:, 0] == ranked[:, 2])
        roots, ends, covering, filed = _filed(rows, placed.boxes, is_single, cells, cells.bounds())
        if max(_WORDS * len(filed), len(ends)) >= 2**31:
            raise ConfigError(f"{placed.rows:,} conjunctions with a place are too many for one index: spread them")
        return cls(roots, ends, whose[covering], _copied(filed, placed.boxes, whose, ranked), more)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(array.nbytes for array in self)


@njit(cache=True, nogil=True)
def steps_below(degrees: float) -> Any:
    """Return the last step that is not above so many degrees."""
    return np.int32(floor(max(-_LAST_STEP, min(_LAST_STEP, degrees * _STEPS))))


@njit(cache=True, nogil=True)
def steps_above(degrees: float) -> Any:
    """Return the first step that is not below so many degrees."""
    return np.int32(ceil(max(-_LAST_STEP, min(_LAST_STEP, degrees * _STEPS))))


@njit(cache=True, nogil=True)
def _ranked(sets: Csr) -> Any:
    """Return the three rarest terms of every row, as `Plots.copies` has them, and the further ones."""
    ranked = np.empty((len(sets.offsets) - 1, 3), np.int32)
    more = np.empty(len(sets.values) + len(ranked), np.int32)
    end = 0
    for row in range(len(ranked)):
        terms = np.unique(sets.values[sets.offsets[row] : sets.offsets[row + 1]])[::-1]
        ranked[row] = terms[0]
        ranked[row, : min(len(terms), 3)] = terms[:3]
        if len(terms) > 3:
            ranked[row, 2] = -1 - end
            more[end] = len(terms) - 2
            more[end + 1 : end + len(terms) - 1] = terms[2:]
            end += len(terms) - 1
    return ranked, more[:end].copy()


@njit(cache=True, nogil=True)
def _filed(rows: Csr, boxes: Degrees, is_single: Any, cells: KdCells, bounds: Degrees) -> Any:
    """Cut every term as often as is worth it; return its cells, where they begin, and the rows in them.

    A copy that covers its cell goes by -1 - its row.
    """
    n_terms = len(rows.offsets) - 1
    largest = 0
    for term in range(n_terms):
        largest = max(largest, rows.offsets[term + 1] - rows.offsets[term])
    room = 2 * _MOST_WORDS * largest + 2
    # Copies of one term's rows, and in which node of the tree they are; at this level and at the next.
    row, node = np.empty(room, np.int32), np.empty(room, np.int32)
    next_row, next_node = np.empty(room, np.int32), np.empty(room, np.int32)
    roots = np.empty(n_terms, np.int64)
    ends = np.zeros(2 * (n_terms + len(rows.values) + 1), np.int32)
    covering, filed = np.empty(len(rows.values) + 1, np.int32), np.empty(2 * len(rows.values) + 1, np.int32)
    n_cells, n_covering, n_filed = 0, 0, 0
    for term in range(n_terms):
        members = rows.values[rows.offsets[term] : rows.offsets[term + 1]]
        count, partial, level = len(members), len(members), 0
        row[:count], node[:count] = members, 0
        while level < cells.levels and partial > _SHORT * (1 << level):
            more = _halved(cells, bounds, boxes, is_single, row[:count], node[:count], next_row, next_node)
            if more < 0:
                break
            looked_at = 0
            for i in range(more):
                looked_at += next_row[i] >= 0
            words = _WORDS * looked_at + (more - looked_at)
            cost, before = looked_at + _COVERING * (more - looked_at), partial + _COVERING * (count - partial)
            if words > _MOST_WORDS * len(members) or cost > 2 * _WORTH * before:
                break
            row, next_row, node, next_node = next_row, row, next_node, node
            count, partial, level = more, looked_at, level + 1
        roots[term] = (n_cells << _CUTS) + level
        ends = _with_room(ends, 2 * (n_cells + (1 << level) + 1))
        filed, covering = _with_room(filed, n_filed + partial), _with_room(covering, n_covering + count - partial)
        _file(row[:count], node[:count], level, ends[2 * n_cells :], filed, n_filed, covering, n_covering)
        n_cells, n_filed, n_covering = n_cells + (1 << level), n_filed + partial, n_covering + count - partial
    ends[2 * n_cells], ends[2 * n_cells + 1] = n_filed, n_covering
    return roots, ends[: 2 * n_cells + 2].copy(), covering[:n_covering].copy(), filed[:n_filed].copy()


@njit(cache=True, nogil=True)
def _halved(
    cells: KdCells,
    bounds: Degrees,
    boxes: Degrees,
    is_single: Any,
    row: Int32,
    node: Int32,
    next_row: Int32,
    next_node: Int32,
) -> int:
    """Hand every copy on to the halves of its node; return how many copies there are then, -1 if beyond all room."""
    count = 0
    for i in range(len(row)):
        if count + 2 > len(next_row):
            return -1
        left, right = True, True
        if row[i] >= 0:
            left, right = reaches(cells, node[i], boxes[row[i]])
        for half in range(2):
            if right if half else left:
                child = 2 * node[i] + 1 + half
                next_row[count], next_node[count] = row[i], child
                if row[i] >= 0 and is_single[row[i]] and _covers(boxes[row[i]], bounds[child]):
                    next_row[count] = -1 - row[i]
                count += 1
    return count


@njit(cache=True, nogil=True)
def _covers(box: Degrees, bounds: Degrees) -> bool:
    is_wide = box[WEST] <= bounds[WEST] and bounds[EAST] <= box[EAST]
    return bool(is_wide and box[SOUTH] <= bounds[SOUTH] and bounds[NORTH] <= box[NORTH])


@njit(cache=True, nogil=True)
def _file(
    row: Int32, node: Int32, level: int, ends: Int32, filed: Int32, begin: int, covering: Int32, first: int
) -> None:
    """Sort copies by cell into `filed` and `covering`, and write where those of each cell begin."""
    leftmost, n_cells = (1 << level) - 1, 1 << level
    ends[: 2 * n_cells] = 0
    for i in range(len(node)):
        ends[2 * (node[i] - leftmost) + (row[i] < 0)] += 1
    places = np.empty(2 * n_cells, np.int32)
    for cell in range(n_cells):
        counted, covered = ends[2 * cell], ends[2 * cell + 1]
        ends[2 * cell], ends[2 * cell + 1] = begin, first
        places[2 * cell], places[2 * cell + 1] = begin, first
        begin, first = begin + counted, first + covered
    for i in range(len(node)):
        place = 2 * (node[i] - leftmost) + (row[i] < 0)
        if row[i] < 0:
            covering[places[place]] = -1 - row[i]
        else:
            filed[places[place]] = row[i]
        places[place] += 1


@njit(cache=True, nogil=True)
def _with_room(array: Int32, size: int) -> Int32:
    if size <= len(array):
        return array
    larger = np.zeros(max(size, 2 * len(array)), np.int32)
    larger[: len(array)] = array
    return larger


@njit(cache=True, nogil=True)
def _copied(filed: Int32, boxes: Degrees, whose: Int32, ranked: Any) -> Int32:
    copies = np.empty(_WORDS * len(filed), np.int32)
    for i in range(len(filed)):
        row, at = filed[i], np.uint64(_WORDS * i)
        copies[at + _W], copies[at + _S] = steps_below(boxes[row, WEST]), steps_below(boxes[row, SOUTH])
        copies[at + _E], copies[at + _N] = steps_above(boxes[row, EAST]), steps_above(boxes[row, NORTH])
        copies[at + _WHOSE], copies[at + _SECOND], copies[at + _THIRD] = whose[row], ranked[row, 1], ranked[row, 2]
    return copies


class Spans(NamedTuple):
    """By term of every post: where the lists begin and end that are to be read for it."""

    starts: Int32
    stops: Int32
    """In `Plots.copies`, counted in copies."""
    whole_starts: Int32
    whole_stops: Int32
    """In `Plots.covering`."""

    @classmethod
    def none(cls) -> "Spans":
        """Where there is nothing to read."""
        nothing: Int32 = np.empty(0, np.int32)
        return cls(nothing, nothing, nothing, nothing)


@njit(cache=True, nogil=True)
def located(plots: Plots, levels: int, terms: Csr, leaves: Int32) -> Spans:
    """Find the lists of all terms of all posts; none for terms that are not filed, and posts that are nowhere.

    Each look goes to another place in memory, so these are asked for well ahead.
    """
    values, n_terms = terms.values, len(plots.roots)
    starts, stops = np.empty(len(values), np.int32), np.empty(len(values), np.int32)
    whole_starts, whole_stops = np.empty(len(values), np.int32), np.empty(len(values), np.int32)
    for post in range(len(leaves)):
        for i in range(terms.offsets[post], terms.offsets[post + 1]):
            if i + _AHEAD < len(values) and 0 <= values[i + _AHEAD] < n_terms:
                prefetch(plots.roots, values[i + _AHEAD])
            starts[i] = -1
            if leaves[post] >= 0 and 0 <= values[i] < n_terms:
                root = plots.roots[values[i]]
                starts[i] = 2 * ((root >> _CUTS) + (leaves[post] >> (levels - (root & ((1 << _CUTS) - 1)))))
    for i in range(len(values)):
        if i + _AHEAD < len(values):
            prefetch(plots.ends, max(starts[i + _AHEAD], 0))
        cell = starts[i]
        if cell >= 0:
            starts[i], stops[i] = plots.ends[cell], plots.ends[cell + 2]
            whole_starts[i], whole_stops[i] = plots.ends[cell + 1], plots.ends[cell + 3]
        else:
            starts[i], stops[i], whole_starts[i], whole_stops[i] = 0, 0, 0, 0
    return Spans(starts, stops, whole_starts, whole_stops)


class Point(NamedTuple):
    """The steps next to a point on either side: one and the same, if it lies on a step."""

    west: Any
    south: Any
    east: Any
    north: Any


@njit(cache=True, nogil=True)
def point(lat: float, lon: float) -> Point:
    """Return the point at a latitude and a longitude."""
    west, south, east, north = steps_below(lon), steps_below(lat), steps_above(lon), steps_above(lat)
    # Wider than steps, so that no difference of two is out of range.
    return Point(np.int64(west), np.int64(south), np.int64(east), np.int64(north))


@njit(cache=True, nogil=True)
def read_lists(
    plots: Plots, spans: Spans, first: int, last: int, at: Point, held: Any, mark: int, out: Int32, end: Any
) -> tuple[int, bool]:
    """Append whose boxes hold a point, and whose terms a post, from lists `first` to `last`.

    Return the new end, -1 where there is no room; and whether the point is so near to the border of one of them that it
    may lie outside after all. The post has term `t` if `held[t] == mark`.
    """
    copies, covering = plots.copies, plots.covering
    # Indices are unsigned: a signed one may be negative, and looking at that for every word takes longer than the rest.
    begin = near = np.uint64(end)
    for i in range(first, last):
        if i + _AHEAD < len(spans.starts):
            _ask_for(copies, covering, spans, i + _AHEAD)
        if end + spans.stops[i] - spans.starts[i] >= len(out):
            return -1, False
        stop = np.uint64(_WORDS * spans.stops[i])
        k = np.uint64(_WORDS * spans.starts[i])
        while k < stop:
            # Negative if any of them is, and kept if not: which boxes are near is no branch to predict.
            outside = (at.west - copies[k + _W]) | (copies[k + _E] - at.east)
            outside |= (at.south - copies[k + _S]) | (copies[k + _N] - at.north)
            out[near] = np.int32(k)
            near += np.uint64(outside >= 0)
            k += np.uint64(_WORDS)
        end = np.int64(near)
    kept, borders = begin, 0
    for j in range(begin, near):
        k = np.uint64(out[j])
        second, third = copies[k + _SECOND], copies[k + _THIRD]
        found = held[np.uint64(second)] == mark
        found &= held[np.uint64(third)] == mark if third >= 0 else _has(plots, third, held, mark)
        border = (at.west == copies[k + _W]) | (copies[k + _E] == at.east)
        border |= (at.south == copies[k + _S]) | (copies[k + _N] == at.north)
        out[kept] = copies[k + _WHOSE]
        kept += np.uint64(found)
        borders += found & border
    end = np.int64(kept)
    for i in range(first, last):
        if end + spans.whole_stops[i] - spans.whole_starts[i] >= len(out):
            return -1, False
        for whole in range(spans.whole_starts[i], spans.whole_stops[i]):
            out[end] = covering[whole]
            end += 1
    return end, borders > 0


@njit(cache=True, nogil=True)
def _ask_for(copies: Int32, covering: Int32, spans: Spans, i: int) -> None:
    """Ask for lists from memory that are to be read soon."""
    begin = _WORDS * spans.starts[i]
    for k in range(begin, min(_WORDS * spans.stops[i], begin + _LINES * _LINE), _LINE):
        prefetch(copies, k)
    for k in range(spans.whole_starts[i], spans.whole_stops[i], _LINE):
        prefetch(covering, k)


@njit(cache=True, nogil=True)
def _has(plots: Plots, third: int, held: Any, mark: int) -> bool:
    """Whether a post has all terms from the third on of a conjunction with more."""
    first = -third
    has_all = True
    for term in plots.more[first : first + plots.more[first - 1]]:
        has_all &= held[term] == mark
    return has_all


@njit(cache=True, nogil=True)
def is_inside(box: Degrees, lat: float, lon: float) -> Any:
    """Whether a point is in a box."""
    return (box[WEST] <= lon) & (lon <= box[EAST]) & (box[SOUTH] <= lat) & (lat <= box[NORTH])
