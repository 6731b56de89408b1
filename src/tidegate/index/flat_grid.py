"""The flat grid: flat arrays by rarest term, cut into cells that adapt to density. The index people use for places.

Entries are added where they belong, and removed by clearing a bit. A list that is full drops what was removed before it
gets more room; what is left of that is swept out when as many were added as there were. Everything is filed anew, in
the cells of today, when there is much more or much less of it than there was.
"""

from typing import Any, ClassVar, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidegate.csr import Csr, Int32, Int64
from tidegate.errors import ConfigError
from tidegate.growth import with_room
from tidegate.index.box_words import is_inside, point_word
from tidegate.index.contract import Cursor, Matches
from tidegate.index.filed import Filed
from tidegate.index.filing import filed_plots
from tidegate.index.growing import add_to, recut
from tidegate.index.kd_cells import KdCells
from tidegate.index.placed import Placed, PlacedIndex, PlacedPosts, checked
from tidegate.index.plots import COUNT, Plots, ask_for, lists_of, read_lists
from tidegate.index.register import Boxes, Register, ask_for_box, box_of, has_bit
from tidegate.index.sweeping import swept
from tidegate.kernels import njit

_SWEPT_AFTER: Final = 1.0
"""As many entries as there were, times this, come before the next sweep: most of what is gone was dropped by then."""
_FITTING: Final = 2.0
"""Cells fit up to so many times the entries that they were learned from, or so many times fewer."""
_MARK: Final = np.uint8(1)
_ONE: Final = np.uint64(1)


class _Parts(NamedTuple):
    """What the kernel reads."""

    plots: Plots
    lists: Int64
    """By term of every post."""
    boxes: Boxes


class FlatGrid(PlacedIndex):
    """Ours: exact, a microsecond or two a post with a million entries, and some 180 bytes an entry."""

    name: ClassVar[str] = "flat grid"

    _cells: KdCells
    _learned_from: int
    _filed: Filed

    def __init__(self, smallest_merge: int = 1 << 12) -> None:
        """Start empty. Up to `smallest_merge` additions are never the reason to sweep, or to file everything anew."""
        self._smallest_merge = smallest_merge
        self._n_terms = 0
        self._held = np.zeros(0, np.uint8)
        self._per_post = 0.0
        self._register = Register()
        self.merge()

    def add(self, placed: Placed) -> Int32:
        """File entries in the cells there are; tidy up if they are many."""
        highest = checked(placed)
        register = self._register
        numbers = register.add(placed)
        self._n_terms = max(self._n_terms, highest + 1)
        try:
            if register.living > max(self._smallest_merge, _FITTING * self._learned_from):
                self.merge()
            elif placed.rows:
                self._file(placed, numbers)
                if register.added > max(self._smallest_merge, _SWEPT_AFTER * register.settled):
                    self._tidy()
        except ConfigError:
            # There is no room for all of them: none is there.
            register.remove(numbers)
            raise
        return numbers

    def _file(self, placed: Placed, numbers: Int32) -> None:
        filed = self._filed.with_terms(self._n_terms)
        filed, due = add_to(filed, self._cells, placed.sets, placed.boxes, numbers, self._register.boxes.alive)
        for term in due:
            filed = recut(filed, self._cells, self._register.boxes, term)
        self._filed = Filed(*filed)

    def _tidy(self) -> None:
        if _FITTING * self._register.living < self._learned_from:
            self.merge()
        else:
            self._register.rewritten()
            self._filed = swept(self._filed, self._register.boxes.alive)

    def remove(self, entries: Any) -> None:
        """Bury entries; they are gone for good when their term is next cut, or everything filed anew."""
        self._register.remove(entries)

    def match(self, posts: PlacedPosts) -> Matches:
        """Read the list of every term of a post, in the cell where it lies."""
        lists = lists_of(self._filed.plots, self._cells, posts.terms, posts.lat, posts.lon)
        parts = _Parts(self._filed.plots, lists, self._register.boxes)
        # By term, whether the post at hand has it; cleared after every post, as making it anew would cost many.
        held = self._held = with_room(self._held, self._n_terms)
        n_posts, counters, offsets = posts.terms.rows, np.zeros(2, np.int64), np.zeros(posts.terms.rows + 1, np.int64)
        # As much room as the last posts would have needed, and a little more.
        found: Int32 = np.empty(int(1.25 * self._per_post * n_posts) + 1024, np.int32)
        first = 0
        while (first := int(_match(parts, posts, held, first, Cursor(offsets, found, counters)))) < n_posts:
            found = with_room(found, len(found) + 1)
        self._per_post = offsets[-1] / max(n_posts, 1)
        return Matches(Csr(offsets, found[: offsets[-1]]), int(counters[0]), int(counters[1]))

    def merge(self) -> None:
        """File all living entries anew."""
        placed, numbers = self._register.rewritten()
        cells = KdCells.learned(placed.boxes)
        self._filed = filed_plots(placed, numbers, cells, self._n_terms)
        self._cells, self._learned_from = cells, placed.rows

    @property
    def nbytes(self) -> int:
        """Bytes of everything."""
        cells = self._cells.splits.nbytes + self._cells.is_lat.nbytes
        return cells + self._filed.nbytes + self._register.nbytes + self._held.nbytes


@njit(cache=True, nogil=True)
def _match(parts: _Parts, posts: PlacedPosts, held: NDArray[np.uint8], first: int, out: Cursor) -> Any:
    numbers, plots, lists, alive = out.numbers, parts.plots, parts.lists, parts.boxes.alive
    offsets, terms = posts.terms.offsets, posts.terms.values
    copies, more, known = plots.copies, plots.more, np.uint64(len(held))
    # Where a post's lists are read to, always the same: what it matches then goes where nothing is in the cache yet.
    near = np.empty(1024, np.int32)
    for post in range(np.uint64(first), np.uint64(len(offsets) - 1)):
        first_term, last_term = np.uint64(offsets[post]), np.uint64(offsets[post + _ONE])
        begin = end = out.offsets[post]
        looked_at = 0
        for i in range(first_term, last_term):
            ask_for(copies, lists, i)
            looked_at += lists[i] & COUNT
        if looked_at:
            if looked_at >= len(near):
                near = np.empty(2 * looked_at, np.int32)
            for i in range(first_term, last_term):
                # Unsigned, a negative one is too high as well.
                term = np.uint64(terms[i])
                if term < known:
                    if held[term] == _MARK:
                        lists[i] = 0
                    held[term] = _MARK
            lat, lon = posts.lat[post], posts.lon[post]
            point = point_word(plots.frame, lat, lon)
            found, doubtful = read_lists(copies, more, lists, first_term, last_term, point, held, _MARK, near)
            for i in range(first_term, last_term):
                if np.uint64(terms[i]) < known:
                    held[np.uint64(terms[i])] = 0
            if begin + found >= len(numbers):
                return np.int64(post)
            for j in range(doubtful):
                ask_for_box(parts.boxes, near[j])
            kept = np.uint64(begin)
            for j in range(np.uint64(doubtful), np.uint64(found)):
                numbers[kept] = near[j]
                kept += np.uint64(has_bit(alive, near[j]))
            for j in range(doubtful):
                numbers[kept] = near[j]
                is_found = has_bit(alive, near[j]) and is_inside(box_of(parts.boxes, near[j]), lat, lon)
                kept += np.uint64(is_found)
            end = np.int64(kept)
        out.offsets[post + _ONE] = end
        out.counters[0] += offsets[post + _ONE] - offsets[post]
        out.counters[1] += looked_at
    return len(offsets) - 1
