"""Copies: queries that live at several matchers because only hot words lead to them, and which copy counts for a post.

A post may visit several of them, one for a hot word's version and others for its further words. Exactly one answers:
that of the version drawn for the first of the query's hot keys that the post holds; the query's home, if it holds none.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numba import njit
from numpy.typing import NDArray

from tidegate.csr import Csr, Int32, Int64, offsets_of
from tidegate.index.strings import read_strings, string_arrays, strings
from tidegate.query.conjunction import Query
from tidegate.route.hot_words import Hashes, drawn


@dataclass(frozen=True)
class Copies:
    """The queries with copies, by their canonical text."""

    queries: pa.LargeStringArray
    keys: Csr
    """By query: its hot keys, as numbers of the placement's."""
    homes: Int32
    """By query: where its other keys lead; -1 if it has none."""

    @classmethod
    def of(cls, queries: Sequence[Query], query_of: Int64, key_of: Int64, home_of: Int64) -> Self:
        """Return those of the queries of `query_of`, each with the hot key beside it, in order of their texts."""
        canonical = [queries[number].canonical for number in query_of]
        order = sorted(range(len(canonical)), key=lambda i: (canonical[i], key_of[i]))
        rows: dict[str, list[int]] = {}
        homes: dict[str, int] = {}
        for i in order:
            keys = rows.setdefault(canonical[i], [])
            if key_of[i] not in keys:
                keys.append(int(key_of[i]))
            homes[canonical[i]] = int(home_of[query_of[i]])
        values = np.array([key for keys in rows.values() for key in keys], np.int32)
        offsets = offsets_of([len(keys) for keys in rows.values()])
        return cls(strings(rows), Csr(offsets, values), np.fromiter(homes.values(), np.int32, len(homes)))

    def __len__(self) -> int:
        """Return the number of queries with copies."""
        return len(self.queries)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What `read` reads."""
        return {
            "copies.offsets": self.keys.offsets,
            "copies.keys": self.keys.values,
            "copies.homes": self.homes,
            **string_arrays("copies.queries", self.queries),
        }

    @classmethod
    def read(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return what was kept as `arrays`."""
        keys = Csr(arrays["copies.offsets"], arrays["copies.keys"])
        return cls(read_strings(arrays, "copies.queries"), keys, arrays["copies.homes"])


class Ways(NamedTuple):
    """Where the versions of hot keys lead, as a post draws them."""

    hashes: Hashes
    """By key: the hash of its word."""
    slots: Int64
    """By key: its first version among `owners`; one more at the end."""
    owners: Int32
    """By version."""


class Duty(NamedTuple):
    """Which of its queries a matcher answers for a post: all that have no copies, and the copies that count."""

    row_of: Int32
    """By query of the matcher: its row below, or -1 if it has no copies."""
    keys: Csr
    """By row: its hot keys."""
    terms: Int32
    """By entry of `keys`: the matcher's own number of that term."""
    homes: Int32
    ways: Ways
    matcher: int

    @classmethod
    def of(
        cls,
        copies: Copies,
        keys: pa.LargeStringArray,
        ways: Ways,
        matcher: int,
        canonical: pa.LargeStringArray,
        terms: pa.LargeStringArray,
    ) -> Self | None:
        """Return the duty of a matcher with these queries and terms; None if it has no copies."""
        row_of = pc.index_in(canonical, copies.queries).fill_null(-1).to_numpy().astype(np.int32)
        if not (row_of >= 0).any():
            return None
        hot = pc.index_in(keys.take(pa.array(copies.keys.values)), terms).fill_null(-1)
        return cls(row_of, copies.keys, hot.to_numpy().astype(np.int32), copies.homes, ways, matcher)

    def answered(self, queries: Csr, terms: Csr, posts: Hashes) -> Csr:
        """Leave out the queries that another copy answers; `terms` and `posts` are what the posts hold, and who."""
        return Csr(*_answered(self, queries, terms, posts))


@njit(cache=True, nogil=True)
def _answered(duty: Duty, queries: Csr, terms: Csr, posts: Hashes) -> Any:
    offsets = np.zeros_like(queries.offsets)
    values = np.empty_like(queries.values)
    end = 0
    for post in range(len(offsets) - 1):
        held = terms.values[terms.offsets[post] : terms.offsets[post + 1]]
        for i in range(queries.offsets[post], queries.offsets[post + 1]):
            row = duty.row_of[queries.values[i]]
            if row < 0 or _answering(duty, row, held, posts[post]) == duty.matcher:
                values[end] = queries.values[i]
                end += 1
        offsets[post + 1] = end
    return offsets, values[:end]


@njit(cache=True, nogil=True)
def _answering(duty: Duty, row: int, held: Int32, post: int) -> Any:
    """Return the matcher whose copy counts."""
    for k in range(duty.keys.offsets[row], duty.keys.offsets[row + 1]):
        for term in held:
            if term == duty.terms[k]:
                key = duty.keys.values[k]
                first, end = duty.ways.slots[key], duty.ways.slots[key + 1]
                return duty.ways.owners[first + drawn(post, duty.ways.hashes[key], end - first)]
    return duty.homes[row]
