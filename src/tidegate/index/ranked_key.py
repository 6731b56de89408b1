"""Ranked-key inverted lists (RIL of the EDBT paper): every set once, in the list of its rarest term."""

from typing import Any, ClassVar, Self

import numpy as np

from tidegate.csr import Csr, Int32, Int64
from tidegate.index.contract import Cursor, Index
from tidegate.index.sets import TermSets
from tidegate.kernels import njit

_FLAG = np.int32(-(2**31))
_MASK = np.int32(2**31 - 1)


class RankedKey(Index):
    """A list entry is the remaining terms of a set, tested one by one. Its node is an entry.

    The sets arrive sorted by their rarest term, so entries carry no number; the last term of each is flagged.
    A set of one term has no entry: it is flagged in the list's head.
    """

    name: ClassVar[str] = "ranked-key"

    @classmethod
    def build(cls, sets: TermSets) -> Self:
        """Lay the lists end to end in the order of the sets. Linear."""
        heads, starts, rest = _build(sets.terms, sets.n_terms)
        return cls({"heads": heads, "starts": starts, "rest": rest}, sets.n_terms)

    def _match_from(self, items: Csr, first: int, out: Cursor) -> int:
        arrays = self.arrays
        return int(_match(arrays["heads"], arrays["starts"], arrays["rest"], items, first, out))


@njit(cache=True, nogil=True)
def _build(terms: Csr, n_terms: int) -> Any:
    n_sets = len(terms.offsets) - 1
    heads = np.zeros(n_terms + 1, np.int32)  # number of the list's first set; flag: that set is the key alone
    starts = np.zeros(n_terms + 1, np.int64)
    rest = np.empty(len(terms.values) - n_sets, np.int32)
    end = 0
    key = 0
    for number in range(n_sets):
        start, stop = terms.offsets[number], terms.offsets[number + 1]
        while key <= terms.values[start]:
            heads[key], starts[key] = number, end
            key += 1
        if stop - start == 1:
            heads[terms.values[start]] |= _FLAG
            continue
        for i in range(start + 1, stop):
            rest[end] = terms.values[i]
            end += 1
        rest[end - 1] |= _FLAG
    while key <= n_terms:
        heads[key], starts[key] = n_sets, end
        key += 1
    return heads, starts, rest


@njit(cache=True, nogil=True)
def _match(heads: Int32, starts: Int64, rest: Int32, items: Csr, first: int, out: Cursor) -> int:
    held = np.zeros(len(heads), np.bool_)
    for item in range(first, len(items.offsets) - 1):
        terms = items.values[items.offsets[item] : items.offsets[item + 1]]
        written = out.offsets[item]
        visited = 0
        candidates = 0
        fits = True
        # Ascending rank: when a list is read, just the terms more frequent than its key are held.
        for i in range(len(terms)):
            key = terms[i]
            number = heads[key] & _MASK
            size = (heads[key + 1] & _MASK) - number
            if written + size > len(out.numbers):
                fits = False
                break
            visited += size
            if heads[key] < 0:
                out.numbers[written] = number
                written += 1
                number += 1
                size -= 1
            candidates += size
            at = starts[key]
            for _ in range(size):
                contained = True
                word = np.int32(0)
                while word >= 0:
                    word = rest[at]
                    contained &= held[word & _MASK]
                    at += 1
                if contained:
                    out.numbers[written] = number
                    written += 1
                number += 1
            held[key] = True
        for i in range(len(terms)):
            held[terms[i]] = False
        if not fits:
            return item
        out.offsets[item + 1] = written
        out.counters[0] += visited
        out.counters[1] += candidates
    return len(items.offsets) - 1
