"""The contract every subscription index keeps: build, match, count, save, open.

An index answers one question exactly: which of its term sets are contained in an item's terms? What words
alone cannot decide (NOT, phrases, places) is verified on the answers by the matcher.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from tidegate.csr import Csr, Int64
from tidegate.errors import StoreError
from tidegate.index.segment import read_segment, write_segment
from tidegate.index.sets import TermSets, ranked_items

Arrays = Mapping[str, NDArray[Any]]


class Matches(NamedTuple):
    """For every item the numbers of the sets it contains, and what finding them cost."""

    sets: Csr
    """Row per item; each number once, in no particular order."""
    visited: int
    """Index nodes touched (each index says what its node is)."""
    candidates: int
    """Sets tested before they were reported or not; where an index tests nodes, the visited ones."""


class Cursor(NamedTuple):
    """Where a match kernel writes. It fills `numbers`, and stops before an item that does not fit."""

    offsets: Int64
    """`offsets[i + 1]` is written when item `i` is done."""
    numbers: NDArray[np.int32]
    counters: Int64
    """Visited nodes, candidates."""


def collect(items: Csr, match_from: Callable[[int, Cursor], int]) -> tuple[Csr, Int64]:
    """Run a match kernel over all items with as much room as it turns out to need; return numbers and counters.

    `match_from(first, out)` matches items from `first` on and returns the first one that did not fit, or the
    number of items.
    """
    out = Cursor(
        np.zeros(items.rows + 1, np.int64), np.empty(max(1024, 64 * items.rows), np.int32), np.zeros(2, np.int64)
    )
    first = 0
    while (first := match_from(first, out)) < items.rows:
        numbers = np.empty(2 * len(out.numbers), np.int32)
        numbers[: out.offsets[first]] = out.numbers[: out.offsets[first]]
        out = out._replace(numbers=numbers)
    return Csr(out.offsets, out.numbers[: out.offsets[-1]]), out.counters


class Index(ABC):
    """Immutable; safe to share between threads and, memory-mapped, between processes."""

    name: ClassVar[str]

    def __init__(self, arrays: Arrays, n_terms: int) -> None:
        """Wrap the arrays made by `build` or read by `open`."""
        self.arrays = arrays
        self.n_terms = n_terms

    @classmethod
    @abstractmethod
    def build(cls, sets: TermSets) -> Self:
        """Return an index of `sets`; matches are reported by their row in `sets`."""

    @abstractmethod
    def _match_from(self, items: Csr, first: int, out: Cursor) -> int:
        """Match items from `first` on; return the first item that did not fit, or the number of items."""

    def match(self, items: Csr) -> Matches:
        """Return exactly the sets contained in each item. Unknown and repeated terms do no harm."""
        ranked = ranked_items(items, self.n_terms)
        found, counters = collect(ranked, lambda first, out: self._match_from(ranked, first, out))
        return Matches(found, int(counters[0]), int(counters[1]))

    @property
    def nbytes(self) -> int:
        """Bytes of every array that matching needs."""
        return sum(array.nbytes for array in self.arrays.values())

    def save(self, path: Path | str) -> None:
        """Write the index as one Arrow IPC file, whole or not at all."""
        write_segment(path, self.name, self.arrays, {"n_terms": self.n_terms})

    @classmethod
    def open(cls, path: Path | str, *, verify: bool = True) -> Self:
        """Map a saved index into memory; nothing is copied. A torn, foreign or altered file is refused by name.

        `verify` reads the file once, at the speed of the disk; without it, only a file's shape is checked.
        """
        arrays, numbers = read_segment(path, cls.name, verify=verify)
        if "n_terms" not in numbers:
            raise StoreError(f"{path}: the segment does not say how many terms it knows; build it anew")
        return cls(arrays, numbers["n_terms"])
