"""Ragged arrays: row `i` holds `values[offsets[i]:offsets[i + 1]]`.

The shape in which posts, subscriptions and fan-outs travel through every room; a named tuple of arrays, so
that it enters a Numba kernel as it is.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidegate.kernels import njit

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]


class Csr(NamedTuple):
    """`len(offsets) - 1` rows of int32; `offsets` is int64 and starts at 0."""

    offsets: Int64
    values: Int32

    @property
    def rows(self) -> int:
        """The number of rows (`len()` of a named tuple is its number of fields)."""
        return len(self.offsets) - 1

    def row(self, i: int) -> Int32:
        """Row `i`, as a view."""
        return self.values[self.offsets[i] : self.offsets[i + 1]]

    def slice(self, start: int, stop: int) -> "Csr":
        """Rows `start` to `stop` as a `Csr` of their own; the values are a view."""
        offsets = self.offsets[start : stop + 1]
        return Csr(offsets - offsets[0], self.values[offsets[0] : offsets[-1]])


def from_rows(rows: Sequence[Iterable[int]]) -> Csr:
    """Build a `Csr` from Python rows, for tests and small inputs.

    >>> from_rows([[3, 1], [], [2]]).offsets
    array([0, 2, 2, 3])
    """
    lists = [list(row) for row in rows]
    values = np.array([value for row in lists for value in row], dtype=np.int32)
    return Csr(offsets_of([len(row) for row in lists]), values)


def offsets_of(lengths: Any) -> Int64:
    """Row offsets for rows of these lengths."""
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def joined(first: Csr, second: Csr) -> Csr:
    """The rows of two, one after the other.

    >>> joined(from_rows([[3], [1, 2]]), from_rows([[], [4]])).offsets
    array([0, 1, 3, 3, 4])
    """
    offsets = np.concatenate([first.offsets, first.offsets[-1] + second.offsets[1:]])
    return Csr(offsets, np.concatenate([first.values, second.values]))


@njit(cache=True, nogil=True)
def taken(rows: Csr, chosen: Int64) -> Csr:
    """Return the chosen rows, in that order."""
    offsets = np.zeros(len(chosen) + 1, np.int64)
    for i in range(len(chosen)):
        offsets[i + 1] = offsets[i] + rows.offsets[chosen[i] + 1] - rows.offsets[chosen[i]]
    values = np.empty(offsets[-1], np.int32)
    for i in range(len(chosen)):
        first = rows.offsets[chosen[i]]
        for k in range(offsets[i + 1] - offsets[i]):
            values[offsets[i] + k] = rows.values[first + k]
    return Csr(offsets, values)
