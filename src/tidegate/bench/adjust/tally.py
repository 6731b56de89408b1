"""Counts kept up to date, where counting all that stands at every step would take longer than all else."""

from typing import Any

import numpy as np

from tidegate.csr import Csr, Int64, offsets_of, taken
from tidegate.index.placed import Placed, PlacedPosts
from tidegate.route.places.counts import Counts
from tidegate.route.places.heard import rarest
from tidegate.route.places.lattice import Lattice

_TERM_BITS = 31


class Tally:
    """What `counts.counted` counts, of entries and posts that are all known before."""

    def __init__(self, lattice: Lattice, pool: PlacedPosts, placed: Placed) -> None:
        """Find the keys of all entries, and those that each post of the pool has."""
        under = lattice.cells_under(placed.boxes)
        entries = np.repeat(np.arange(placed.rows), np.diff(under.offsets))
        filed = under.values.astype(np.int64) << _TERM_BITS | rarest(placed.sets)[entries]
        self._keys, key_of = np.unique(filed, return_inverse=True)
        self._key_of = Csr(under.offsets, key_of.astype(np.int32))
        self._sizes = 4 * placed.boxes.itemsize + 4 * np.diff(placed.sets.offsets)
        self._cell_of = lattice.cells_of(pool.lat, pool.lon)
        self._read = _read(self._keys, pool.terms, self._cell_of)
        self._cells = lattice.cells
        self._conjunctions = np.zeros(len(self._keys), np.int64)
        self._nbytes = np.zeros(len(self._keys), np.int64)

    def insert(self, entries: Int64) -> None:
        """Count new entries."""
        self._count(entries, 1)

    def delete(self, entries: Int64) -> None:
        """Count them no longer."""
        self._count(entries, -1)

    def counts(self, posts: Int64) -> Counts:
        """Return the counts for these posts of the pool and the entries that stand."""
        asked = self._conjunctions > 0
        read = taken(self._read, posts)
        hit = asked[read.values]
        post_of = np.repeat(np.arange(len(posts)), np.diff(read.offsets))
        visiting = np.unique(post_of[hit])
        return Counts(
            (self._keys[asked] >> _TERM_BITS).astype(np.int32),
            (self._keys[asked] & (2**_TERM_BITS - 1)).astype(np.int32),
            self._conjunctions[asked],
            self._nbytes[asked],
            np.bincount(read.values, minlength=len(self._keys))[asked],
            np.bincount(self._cell_of[posts[visiting]], minlength=self._cells),
        )

    def _count(self, entries: Int64, by: int) -> None:
        filed = taken(self._key_of, entries)
        sizes = np.repeat(self._sizes[entries], np.diff(filed.offsets))
        np.add.at(self._conjunctions, filed.values, by)
        np.add.at(self._nbytes, filed.values, by * sizes)


def _read(keys: Int64, terms: Csr, cell_of: Any) -> Csr:
    """Return the keys that each post has, each once."""
    writers = np.repeat(np.arange(terms.rows), np.diff(terms.offsets))
    read = cell_of[writers].astype(np.int64) << _TERM_BITS | terms.values
    place = np.minimum(np.searchsorted(keys, read), len(keys) - 1)
    hit = keys[place] == read
    posts, found = np.divmod(np.unique(writers[hit] * len(keys) + place[hit]), len(keys))
    return Csr(offsets_of(np.bincount(posts, minlength=terms.rows)), found.astype(np.int32))
