"""What each entry of the spelling table emits: term ids, mostly one or none."""

from collections.abc import Sequence

import numpy as np

from tidegate.csr import Int32, Int64
from tidegate.growth import with_room
from tidegate.kernels import njit

_NOTHING = -1


class Emissions:
    """The term ids of every entry, and the way from the entries of a text to its distinct terms.

    Entry `e` emits the id `_single[e]`, or nothing if that is -1. Several ids (a stem, an exact form, any
    number of prefixes) are a rising run in `_runs` behind its length, at position `-2 - _single[e]`.
    """

    def __init__(self) -> None:
        """Start without entries."""
        self._entries = 0
        self._single: Int32 = np.empty(0, dtype=np.int32)
        self._runs: Int32 = np.empty(0, dtype=np.int32)
        self._runs_end = 0
        self._longest = 1
        # Per term id, the last row that held it. Rows count from 1 through all calls: nothing to reset.
        self._seen_in: Int64 = np.empty(0, dtype=np.int64)
        self._next_row = 1

    def extend(self, term_ids: Sequence[int]) -> None:
        """Add entries that emit one id each, or nothing (-1)."""
        first, self._entries = self._entries, self._entries + len(term_ids)
        self._single = with_room(self._single, self._entries)
        self._single[first : self._entries] = term_ids

    def add(self, entry: int, term_id: int) -> None:
        """Let an entry emit one more id."""
        ids = sorted({*self._ids(entry), term_id})
        if len(ids) == 1:
            self._single[entry] = term_id
            return
        end = self._runs_end + 1 + len(ids)
        self._runs = with_room(self._runs, end)
        self._runs[self._runs_end : end] = [len(ids), *ids]
        self._single[entry] = -2 - self._runs_end
        self._runs_end = end
        self._longest = max(self._longest, len(ids))

    def distinct(self, tokens: Int32, ends: Int64, term_count: int) -> tuple[Int32, Int64]:
        """Return the distinct ids of each row of entries by first occurrence, and where each row ends."""
        self._seen_in = with_room(self._seen_in, term_count)
        values = np.empty(len(tokens) * self._longest, dtype=np.int32)
        value_ends = np.empty_like(ends)
        count = _distinct(tokens, ends, self._single, self._runs, self._seen_in, self._next_row, values, value_ends)
        self._next_row += len(ends)
        return values[:count].copy(), value_ends

    def _ids(self, entry: int) -> list[int]:
        single = int(self._single[entry])
        if single >= _NOTHING:
            return [] if single == _NOTHING else [single]
        run = -2 - single
        return [int(term_id) for term_id in self._runs[run + 1 : run + 1 + self._runs[run]]]


@njit(cache=True)
def _distinct(
    tokens: Int32,
    ends: Int64,
    single: Int32,
    runs: Int32,
    seen_in: Int64,
    first_row: int,
    values: Int32,
    value_ends: Int64,
) -> int:
    count = 0
    begin = 0
    for row in range(len(ends)):
        for t in range(begin, ends[row]):
            emitted = single[tokens[t]]
            if emitted >= 0:
                if seen_in[emitted] != first_row + row:
                    seen_in[emitted] = first_row + row
                    values[count] = emitted
                    count += 1
            elif emitted < _NOTHING:
                run = -2 - emitted
                for k in range(run + 1, run + 1 + runs[run]):
                    if seen_in[runs[k]] != first_row + row:
                        seen_in[runs[k]] = first_row + row
                        values[count] = runs[k]
                        count += 1
        begin = ends[row]
        value_ends[row] = count
    return count
