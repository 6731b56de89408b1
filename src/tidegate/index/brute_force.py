"""Brute force: every set against every item. The oracle all other indexes are compared with."""

from typing import ClassVar, Self

import numpy as np

from tidegate.csr import Csr, Int32, Int64
from tidegate.index.contract import Cursor, Index
from tidegate.index.sets import TermSets
from tidegate.kernels import njit


class BruteForce(Index):
    """No pruning at all: obviously right, and slow. Its node is a set; every set is a candidate."""

    name: ClassVar[str] = "brute-force"

    @classmethod
    def build(cls, sets: TermSets) -> Self:
        """Keep the sets as they are."""
        return cls({"offsets": sets.terms.offsets, "values": sets.terms.values}, sets.n_terms)

    def _match_from(self, items: Csr, first: int, out: Cursor) -> int:
        return int(_match(self.arrays["offsets"], self.arrays["values"], self.n_terms, items, first, out))


@njit(cache=True, nogil=True)
def _match(offsets: Int64, values: Int32, n_terms: int, items: Csr, first: int, out: Cursor) -> int:
    held = np.zeros(n_terms, np.bool_)
    n_sets = len(offsets) - 1
    for item in range(first, len(items.offsets) - 1):
        terms = items.values[items.offsets[item] : items.offsets[item + 1]]
        written = out.offsets[item]
        if written + n_sets > len(out.numbers):
            return item
        held[terms] = True
        for number in range(n_sets):
            contained = True
            for i in range(offsets[number], offsets[number + 1]):
                contained = contained and held[values[i]]
            if contained:
                out.numbers[written] = number
                written += 1
        held[terms] = False
        out.offsets[item + 1] = written
        out.counters[0] += n_sets
        out.counters[1] += n_sets
    return len(items.offsets) - 1
