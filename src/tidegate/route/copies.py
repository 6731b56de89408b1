"""Copies: queries that live at several matchers, as only hot words lead to them or their place lies in several cells.

A post may visit several of them, and each would report the same match. So posts carry their visits, and one copy
answers: that of the lowest matcher among those that the post visits and the query lives at. It needs no other stage to
remove doubles, and where visits are shed, a copy that is still visited answers for one that is not.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tidegate.csr import Csr, Int32, taken
from tidegate.index.strings import read_strings, string_arrays, strings
from tidegate.kernels import njit
from tidegate.query.conjunction import Query


@dataclass(frozen=True)
class Copies:
    """The queries with copies, by their canonical text."""

    queries: pa.LargeStringArray
    homes: Csr
    """By query: the matchers it lives at, rising."""

    @classmethod
    def of(cls, queries: Sequence[Query], homes: Csr) -> Self:
        """Return those of the queries that have several homes, in order of their texts."""
        several = np.flatnonzero(np.diff(homes.offsets) > 1).tolist()
        several.sort(key=lambda number: queries[number].canonical)
        return cls(strings(queries[number].canonical for number in several), taken(homes, np.array(several, np.int64)))

    def __len__(self) -> int:
        """Return the number of queries with copies."""
        return len(self.queries)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What `read` reads."""
        return {
            "copies.offsets": self.homes.offsets,
            "copies.homes": self.homes.values,
            **string_arrays("copies.queries", self.queries),
        }

    @classmethod
    def read(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return what was kept as `arrays`."""
        return cls(read_strings(arrays, "copies.queries"), Csr(arrays["copies.offsets"], arrays["copies.homes"]))

    def duty(self, matcher: int, canonical: pa.LargeStringArray) -> "Duty | None":
        """Return the duty of a matcher with the queries of these texts; None if it answers all of them."""
        if len(self) == 0:
            return None
        row_of = pc.index_in(canonical, self.queries).fill_null(-1).to_numpy().astype(np.int32)
        return Duty(row_of, self.homes, matcher) if (row_of >= 0).any() else None


class Duty(NamedTuple):
    """Which of its queries a matcher answers for a post: all that have no copies, and the copies that count."""

    row_of: Int32
    """By query of the matcher: its row below, or -1 if it has no copies."""
    homes: Csr
    """By row: the matchers that have a copy, rising."""
    matcher: int

    def answered(self, queries: Csr, visits: Csr) -> Csr:
        """Leave out the queries that another copy answers; `visits` are the matchers that each post visits, rising."""
        return Csr(*_answered(self, queries, visits))


@njit(cache=True, nogil=True)
def _answered(duty: Duty, queries: Csr, visits: Csr) -> Any:
    offsets = np.zeros_like(queries.offsets)
    values = np.empty_like(queries.values)
    end = 0
    for post in range(len(offsets) - 1):
        visited = visits.values[visits.offsets[post] : visits.offsets[post + 1]]
        for i in range(queries.offsets[post], queries.offsets[post + 1]):
            row = duty.row_of[queries.values[i]]
            if row >= 0 and _is_lower_visited(duty.homes, row, duty.matcher, visited):
                continue
            values[end] = queries.values[i]
            end += 1
        offsets[post + 1] = end
    return offsets, values[:end]


@njit(cache=True, nogil=True)
def _is_lower_visited(homes: Csr, row: int, matcher: int, visited: Int32) -> bool:
    """Whether a home below `matcher` is among those visited."""
    i = 0
    for k in range(homes.offsets[row], homes.offsets[row + 1]):
        if homes.values[k] >= matcher:
            return False
        while i < len(visited) and visited[i] < homes.values[k]:
            i += 1
        if i < len(visited) and visited[i] == homes.values[k]:
            return True
    return False
