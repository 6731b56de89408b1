"""Counting inverted lists (CIL of the EDBT paper): a list of sets per term, and a counter per set."""

from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from tidegate.csr import Csr, Int32, Int64, offsets_of
from tidegate.errors import ConfigError
from tidegate.index.contract import Cursor, Index
from tidegate.index.sets import TermSets
from tidegate.kernels import njit


class Counting(Index):
    """Every set stands in the list of each of its terms; a set is matched when its counter falls to zero.

    Its node is an entry of a list. As in the paper (Algorithm 1) the counters are copied for every item, so an
    item costs time linear in the number of sets.
    """

    name: ClassVar[str] = "counting"

    @classmethod
    def build(cls, sets: TermSets) -> Self:
        """File every set under all its terms. Linear in the terms."""
        lengths = np.diff(sets.terms.offsets)
        if sets.rows and lengths.max() > 255:
            raise ConfigError(f"a set of {lengths.max()} terms: the counters of this index end at 255")
        offsets = offsets_of(np.bincount(sets.terms.values, minlength=sets.n_terms))
        arrays = {
            "offsets": offsets,
            "postings": _postings(sets.terms, offsets[:-1].copy()),
            "lengths": lengths.astype(np.uint8),
        }
        return cls(arrays, sets.n_terms)

    def _match_from(self, items: Csr, first: int, out: Cursor) -> int:
        arrays = self.arrays
        return int(_match(arrays["offsets"], arrays["postings"], arrays["lengths"], items, first, out))


@njit(cache=True, nogil=True)
def _postings(terms: Csr, ends: Int64) -> Int32:
    postings = np.empty(len(terms.values), np.int32)
    for number in range(len(terms.offsets) - 1):
        for i in range(terms.offsets[number], terms.offsets[number + 1]):
            postings[ends[terms.values[i]]] = number
            ends[terms.values[i]] += 1
    return postings


@njit(cache=True, nogil=True)
def _match(offsets: Int64, postings: Int32, lengths: NDArray[np.uint8], items: Csr, first: int, out: Cursor) -> int:
    missing = np.empty(len(lengths), np.uint8)
    for item in range(first, len(items.offsets) - 1):
        missing[:] = lengths
        written = out.offsets[item]
        visited = 0
        for i in range(items.offsets[item], items.offsets[item + 1]):
            start, stop = offsets[items.values[i]], offsets[items.values[i] + 1]
            if written + stop - start > len(out.numbers):
                return item
            visited += stop - start
            for posting in range(start, stop):
                number = postings[posting]
                missing[number] -= 1
                if missing[number] == 0:
                    out.numbers[written] = number
                    written += 1
        out.offsets[item + 1] = written
        out.counters[0] += visited
        out.counters[1] += visited
    return len(items.offsets) - 1
