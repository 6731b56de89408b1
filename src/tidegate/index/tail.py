"""The small, growing part of a live index: lists of sets by rarest term, linked so that adding is a few writes.

Not thread-safe and never saved: `Live` guards it, and merges it into an immutable index before it grows large.
"""

from typing import NamedTuple

import numpy as np

from tidegate.csr import Csr, Int32, Int64
from tidegate.growth import with_room
from tidegate.index.contract import Cursor, collect
from tidegate.index.sets import ranked_items
from tidegate.kernels import njit


class _Lists(NamedTuple):
    newest: Int32
    """By term: the entry added last under it, or -1."""
    older: Int32
    """By entry: the one added before it under the same term, or -1."""
    offsets: Int64
    values: Int32


class Tail:
    """Entries are counted from 0; capacity doubles when it is used up."""

    def __init__(self) -> None:
        """Start empty."""
        self.rows = 0
        self._lists = _Lists(
            np.empty(0, np.int32), np.empty(64, np.int32), np.zeros(65, np.int64), np.empty(256, np.int32)
        )

    @property
    def sets(self) -> Csr:
        """The sets added so far, as views."""
        offsets = self._lists.offsets[: self.rows + 1]
        return Csr(offsets, self._lists.values[: offsets[-1]])

    def add(self, sets: Csr, highest: int) -> None:
        """Append the sets, whose highest term is `highest`. Amortised constant time per term."""
        used = int(self._lists.offsets[self.rows])
        self._lists = _Lists(
            with_room(self._lists.newest, highest + 1),
            with_room(self._lists.older, self.rows + sets.rows),
            with_room(self._lists.offsets, self.rows + sets.rows + 1),
            with_room(self._lists.values, used + len(sets.values)),
        )
        _append(self._lists, self.rows, sets)
        self.rows += sets.rows

    def match(self, items: Csr) -> tuple[Csr, int]:
        """Return the entries contained in each item, and how many were looked at."""
        ranked = ranked_items(items, len(self._lists.newest))
        found, counters = collect(ranked, lambda first, out: int(_match(self._lists, ranked, first, out)))
        return found, int(counters[0])


@njit(cache=True, nogil=True)
def _append(lists: _Lists, rows: int, sets: Csr) -> None:
    for row in range(len(sets.offsets) - 1):
        entry = rows + row
        end = lists.offsets[entry]
        rarest = np.int32(-1)
        for i in range(sets.offsets[row], sets.offsets[row + 1]):
            lists.values[end] = sets.values[i]
            rarest = max(rarest, sets.values[i])
            end += 1
        lists.offsets[entry + 1] = end
        lists.older[entry] = lists.newest[rarest]
        lists.newest[rarest] = entry


@njit(cache=True, nogil=True)
def _match(lists: _Lists, items: Csr, first: int, out: Cursor) -> int:
    held = np.zeros(len(lists.newest), np.bool_)
    for item in range(first, len(items.offsets) - 1):
        terms = items.values[items.offsets[item] : items.offsets[item + 1]]
        written = out.offsets[item]
        visited = 0
        fits = True
        for i in range(len(terms)):
            held[terms[i]] = True
        for i in range(len(terms)):
            entry = lists.newest[terms[i]]
            while entry >= 0:
                contained = True
                for j in range(lists.offsets[entry], lists.offsets[entry + 1]):
                    contained = contained and held[lists.values[j]]
                if contained and written == len(out.numbers):
                    fits = False
                    break
                if contained:
                    out.numbers[written] = entry
                    written += 1
                visited += 1
                entry = lists.older[entry]
        for i in range(len(terms)):
            held[terms[i]] = False
        if not fits:
            return item
        out.offsets[item + 1] = written
        out.counters[0] += visited
    return len(items.offsets) - 1
