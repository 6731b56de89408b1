"""An immutable index and what its sets stand for: entries, of which any number may share a set."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from tidegate.csr import Csr, Int32
from tidegate.index.contract import Index, Matches
from tidegate.index.sets import TermSets, distinct_sets
from tidegate.kernels import njit


@dataclass(frozen=True)
class Settled:
    """Entries are numbered by whoever has them: rows of a table, entries of a live index, conjunctions."""

    index: Index
    entries: Csr
    """By set number: the entries that want the set."""

    @classmethod
    def build(cls, sets: Csr, entries: Int32, index_class: type[Index]) -> tuple[Self, TermSets]:
        """Return the index of these sets, row `i` wanted by `entries[i]`, and the distinct sets it was built from."""
        distinct, numbers = distinct_sets(sets)
        return cls(index_class.build(distinct), grouped(numbers, entries, distinct.rows)), distinct

    def match(self, items: Csr) -> Matches:
        """Return for every item the entries whose sets it contains."""
        found = self.index.match(items)
        return found._replace(sets=expanded(found.sets, self.entries))


def grouped(numbers: Int32, entries: Int32, n_groups: int) -> Csr:
    """Return the entries of every group; `entries[i]` belongs to group `numbers[i]`."""
    return Csr(*_grouped(numbers, entries, n_groups))


def expanded(rows: Csr, members: Csr) -> Csr:
    """Replace every value of `rows` by the values of that row of `members`."""
    return Csr(*_expanded(rows, members))


@njit(cache=True, nogil=True)
def _grouped(numbers: Int32, entries: Int32, n_sets: int) -> Any:
    offsets = np.zeros(n_sets + 1, np.int64)
    for i in range(len(numbers)):
        offsets[numbers[i] + 1] += 1
    for number in range(n_sets):
        offsets[number + 1] += offsets[number]
    ends = offsets[:-1].copy()
    values = np.empty(len(numbers), np.int32)
    for i in range(len(numbers)):
        values[ends[numbers[i]]] = entries[i]
        ends[numbers[i]] += 1
    return offsets, values


@njit(cache=True, nogil=True)
def _expanded(rows: Csr, members: Csr) -> Any:
    offsets = np.zeros(len(rows.offsets), np.int64)
    for row in range(len(rows.offsets) - 1):
        size = np.int64(0)
        for i in range(rows.offsets[row], rows.offsets[row + 1]):
            size += members.offsets[rows.values[i] + 1] - members.offsets[rows.values[i]]
        offsets[row + 1] = offsets[row] + size
    values = np.empty(offsets[-1], np.int32)
    end = 0
    for i in range(len(rows.values)):
        start, stop = members.offsets[rows.values[i]], members.offsets[rows.values[i] + 1]
        values[end : end + stop - start] = members.values[start:stop]
        end += stop - start
    return offsets, values
