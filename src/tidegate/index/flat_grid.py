"""The flat grid: flat arrays by rarest term, cut into cells that adapt to density. The index people use for places.

Like `Live`, it is an immutable main part, a small tail, and tombstones; the tail is merged when it has grown.
"""

from typing import Any, ClassVar, Final, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from tidegate.csr import Csr, Int32
from tidegate.errors import ConfigError
from tidegate.growth import with_room
from tidegate.index.contract import Cursor, Matches, collect
from tidegate.index.kd_cells import NOWHERE, KdCells
from tidegate.index.placed import Degrees, Placed, PlacedIndex, PlacedPosts, checked
from tidegate.index.placed_tail import PlacedTail, TailLists, read_tail
from tidegate.index.plots import Plots, Spans, is_inside, located, point, read_lists

_MERGE_SHARE: Final = 0.1


class _Parts(NamedTuple):
    """What the kernel reads."""

    plots: Plots
    spans: Spans
    leaves: Int32
    """By post."""
    entries: Int32
    boxes: Degrees
    """Of the main part, by row; entries ascend."""
    tail: TailLists
    tail_shift: int
    """By which a leaf becomes one of the tail's cells."""
    first: int
    """The entry of the tail's first row."""
    alive: NDArray[np.int8]
    """By entry."""


class FlatGrid(PlacedIndex):
    """Ours: exact, a microsecond or two a post with a million entries, and some 130 bytes an entry."""

    name: ClassVar[str] = "flat grid"

    def __init__(self, smallest_merge: int = 1 << 16) -> None:
        """Start empty. A tail of up to `smallest_merge` entries is never merged by itself."""
        self._smallest_merge = smallest_merge
        self._n_terms = 0
        self._numbered = 0
        self._held = np.zeros(0, np.uint8)
        self._alive = np.empty(64, np.int8)
        nothing: Int32 = np.empty(0, np.int32)
        self._settle(Placed(Csr(np.zeros(1, np.int64), nothing), np.empty((0, 4))), nothing, 0)

    def add(self, placed: Placed) -> Int32:
        """Add entries to the tail, which is merged once it is large."""
        highest = checked(placed)
        first, last = self._numbered, self._numbered + placed.rows
        if last >= 2**31:
            raise ConfigError("a flat grid numbers at most 2,147,483,647 entries in its life")
        self._n_terms = max(self._n_terms, highest + 1)
        self._alive = with_room(self._alive, last)
        self._alive[first:last] = 1
        if self._tail.rows + placed.rows <= max(self._smallest_merge, _MERGE_SHARE * self._main.rows):
            self._tail.add(placed)
            self._numbered = last
        else:
            # Numbered only when nothing can fail any more.
            self._merge(self._tail.placed.joined(placed), last)
        return np.arange(first, last, dtype=np.int32)

    def remove(self, entries: Any) -> None:
        """Bury entries; they are gone for good with the next merge."""
        numbers = np.atleast_1d(np.asarray(entries, np.int64))
        known = (numbers >= 0) & (numbers < self._numbered)
        gone = numbers[~known] if not known.all() else numbers[self._alive[numbers] == 0]
        if len(gone):
            raise ConfigError(f"entry {gone[0]} is not in the index: it was never added, or is already removed")
        self._alive[numbers] = 0

    def match(self, posts: PlacedPosts) -> Matches:
        """Read the list of every term of a post, in the cell where it lies."""
        leaves = self._cells.leaves(posts.lat, posts.lon)
        spans = located(self._plots, self._cells.levels, posts.terms, leaves)
        shift = self._cells.levels - self._tail.cells.levels
        parts = _Parts(
            self._plots,
            spans,
            leaves,
            self._entries,
            self._main.boxes,
            self._tail.lists,
            shift,
            self._first,
            self._alive,
        )
        # By term, whether the post at hand has it; cleared after every post, as making it anew would cost many.
        held = self._held = with_room(self._held, self._n_terms)
        found, counters = collect(posts.terms, lambda first, out: int(_match(parts, posts, held, first, out)))
        return Matches(found, int(counters[0]), int(counters[1]))

    def merge(self) -> None:
        """Make all living entries one main part."""
        self._merge(self._tail.placed, self._numbered)

    @property
    def nbytes(self) -> int:
        """Bytes of main part, tail and tombstones."""
        cells = self._cells.splits.nbytes + self._cells.is_lat.nbytes
        arrays = (*self._main.sets, self._main.boxes, self._entries, self._alive, self._held)
        return cells + self._plots.nbytes + self._tail.nbytes + sum(array.nbytes for array in arrays)

    def _merge(self, recent: Placed, numbered: int) -> None:
        entries = np.concatenate([self._entries, np.arange(self._first, self._first + recent.rows, dtype=np.int32)])
        living = np.flatnonzero(self._alive[entries])
        self._settle(self._main.joined(recent).only(living), entries[living], numbered)

    def _settle(self, placed: Placed, entries: Int32, numbered: int) -> None:
        """Build the main part of these entries and begin a new tail, whose numbers begin at `numbered`."""
        cells = KdCells.learned(placed.boxes)
        plots = Plots.of(placed, entries, cells, self._n_terms)
        self._main, self._entries, self._cells, self._plots = placed, entries, cells, plots
        self._tail, self._first, self._numbered = PlacedTail(cells), numbered, numbered


@njit(cache=True, nogil=True)
def _match(parts: _Parts, posts: PlacedPosts, held: NDArray[np.uint8], first: int, out: Cursor) -> int:
    numbers, terms, spans = out.numbers, posts.terms, parts.spans
    has_tail = parts.tail.counts[0] > 0
    longest = 0
    for post in range(first, len(terms.offsets) - 1):
        longest = max(longest, terms.offsets[post + 1] - terms.offsets[post])
    own = np.empty(longest, np.int32)
    for post in range(first, len(terms.offsets) - 1):
        begin = end = out.offsets[post]
        leaf, lat, lon = parts.leaves[post], posts.lat[post], posts.lon[post]
        if leaf == NOWHERE:
            out.offsets[post + 1] = begin
            continue
        at, mark = point(lat, lon), np.uint8(1)
        first_term, last_term = terms.offsets[post], terms.offsets[post + 1]
        n_own, looked_at = 0, 0
        for i in range(first_term, last_term):
            term = terms.values[i]
            if 0 <= term < len(held) and held[term] != mark:
                held[term] = mark
                own[n_own] = term
                n_own += 1
                looked_at += spans.stops[i] - spans.starts[i] + spans.whole_stops[i] - spans.whole_starts[i]
            else:
                spans.stops[i], spans.whole_stops[i] = spans.starts[i], spans.whole_starts[i]
        end, on_border = read_lists(parts.plots, spans, first_term, last_term, at, held, mark, numbers, end)
        if on_border:
            end = _exact(parts, lat, lon, numbers, begin, end)
        if has_tail and end >= 0:
            cell = leaf >> parts.tail_shift
            last, more = read_tail(parts.tail, own[:n_own], held, mark, cell, lat, lon, numbers, end)
            for i in range(end, last):
                numbers[i] += parts.first
            end, looked_at = last, looked_at + more
        for i in range(n_own):
            held[own[i]] = 0
        if end < 0:
            return post
        kept = begin
        for i in range(begin, end):
            numbers[kept] = numbers[i]
            kept += parts.alive[numbers[i]] != 0
        out.offsets[post + 1] = kept
        out.counters[0] += terms.offsets[post + 1] - terms.offsets[post]
        out.counters[1] += looked_at
    return len(terms.offsets) - 1


@njit(cache=True, nogil=True)
def _exact(parts: _Parts, lat: float, lon: float, numbers: Int32, first: int, end: int) -> int:
    """Keep the entries whose boxes hold a point; return the new end."""
    kept = first
    for i in range(first, end):
        numbers[kept] = numbers[i]
        row = np.searchsorted(parts.entries, numbers[i])
        kept += is_inside(parts.boxes[row], lat, lon)
    return kept
