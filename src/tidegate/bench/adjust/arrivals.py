"""Queries that come and go: how long each stays is counted in arrivals (PS²Stream §VI-A)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from tidegate.csr import Csr, Int64, offsets_of
from tidegate.index.placed import Placed
from tidegate.workload.places import PlacedQueries, lifetimes


@dataclass(frozen=True)
class Arrivals:
    """All queries of a run, in the order in which they arrive; entries are their conjunctions."""

    placed: Placed
    starts: Int64
    """By query, its first entry; and where the last one ends."""
    gone: Int64
    """By entry, after how many arrivals it is removed."""

    @classmethod
    def of(cls, parts: Sequence[PlacedQueries], mu: int, seed: int) -> Self:
        """Join queries; each stays for about `mu` arrivals."""
        entries = np.concatenate([np.bincount(part.query_of, minlength=part.queries) for part in parts])
        sets = Csr(
            offsets_of(np.concatenate([np.diff(part.placed.sets.offsets) for part in parts])),
            np.concatenate([part.placed.sets.values for part in parts]),
        )
        placed = Placed(sets, np.concatenate([part.placed.boxes for part in parts]))
        gone = np.arange(len(entries)) + lifetimes(len(entries), mu, seed)
        return cls(placed, offsets_of(entries), np.repeat(gone, entries))

    def born(self, first: int, stop: int) -> Int64:
        """Return the entries of the queries that arrive from `first` on, before `stop`."""
        return np.arange(self.starts[first], self.starts[stop])

    def died(self, first: int, stop: int) -> Int64:
        """Return the entries of the queries that are removed meanwhile, once the others have arrived; rising."""
        return np.flatnonzero((first <= self.gone) & (self.gone < stop))
