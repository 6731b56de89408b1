"""A stream of tuples as PS²Stream has it (§VI-A): posts, and queries that come and go, in batches."""

from dataclasses import dataclass
from typing import Final, NamedTuple, Self

import numpy as np

from tidegate.bench.spatial.world import World
from tidegate.csr import Int64, offsets_of, taken
from tidegate.index.placed import Placed, PlacedIndex, PlacedPosts
from tidegate.workload.places import PlacedQueries, lifetimes

_TUPLES_PER_INSERTION: Final = 12
"""Five posts to one update; as many deletions as insertions."""
_POSTS_PER_INSERTION: Final = 10


class Batch(NamedTuple):
    """What is done at once: conjunctions are removed and added, then posts are matched."""

    removed: Int64
    """Rows of the stream's conjunctions."""
    added: Int64
    posts: PlacedPosts
    first: int
    """The number of its first post."""


@dataclass(frozen=True)
class Stream:
    """Queries that stand at the beginning, and what follows."""

    queries: PlacedQueries
    """Those that stand, then those that are inserted."""
    standing: int
    """How many conjunctions stand at the beginning."""
    standing_queries: int
    batches: list[Batch]
    tuples: int
    """Posts, insertions and deletions of queries."""

    @classmethod
    def draw(cls, world: World, kind: str, queries: int, tuples: int, batch: int, seed: int) -> Self:
        """Draw a stream in its steady state, in which about `queries` stand.

        A query lives until so many others have arrived as its lifetime says: N(μ, 0.2 μ) with μ = `queries`.
        """
        per_batch = max(1, batch // _TUPLES_PER_INSERTION)
        n_batches = max(1, tuples // (per_batch * _TUPLES_PER_INSERTION))
        ends = _ends(queries, n_batches * per_batch, seed)
        standing = len(ends) - n_batches * per_batch
        found = world.searches(len(ends), kind, seed)
        posts = world.posts(n_batches * per_batch * _POSTS_PER_INSERTION, seed)
        starts = offsets_of(np.bincount(found.query_of, minlength=found.queries))
        order = np.argsort(ends, kind="stable")
        # What has arrived before a batch may end in it, so that nothing is removed before it is added.
        ended = np.searchsorted(ends[order], per_batch * np.arange(n_batches + 1), side="right")
        batches = []
        for i in range(n_batches):
            arrived = standing + i * per_batch
            batches.append(
                Batch(
                    _conjunctions(starts, order[(ended[i - 1] if i else 0) : ended[i]]),
                    np.arange(starts[arrived], starts[arrived + per_batch]),
                    _part(posts, i * per_batch * _POSTS_PER_INSERTION, per_batch * _POSTS_PER_INSERTION),
                    i * per_batch * _POSTS_PER_INSERTION,
                )
            )
        done = n_batches * per_batch * (_POSTS_PER_INSERTION + 1) + int(ended[n_batches - 1])
        return cls(found, int(starts[standing]), standing, batches, done)

    @property
    def posts(self) -> int:
        """How many posts there are."""
        return sum(len(batch.posts.lat) for batch in self.batches)

    def placed(self, rows: Int64) -> Placed:
        """Return some of the conjunctions."""
        return Placed(taken(self.queries.placed.sets, rows), self.queries.placed.boxes[rows])

    def living(self, batches: int) -> Int64:
        """Return the conjunctions that stand after so many batches."""
        stands = np.zeros(self.queries.placed.rows, np.bool_)
        stands[: self.standing] = True
        for batch in self.batches[:batches]:
            stands[batch.removed] = False
            stands[batch.added] = True
        return np.flatnonzero(stands)

    def fill(self, index: PlacedIndex) -> None:
        """Add what stands at the beginning: the number of each entry is then the row of its conjunction."""
        index.add(self.queries.placed.slice(0, self.standing))


def _ends(queries: int, inserted: int, seed: int) -> Int64:
    """By query, those that stand and those inserted: after how many arrivals from the beginning on it is deleted."""
    before = 2 * queries
    arrivals = np.arange(-before, inserted)
    ends = arrivals + lifetimes(len(arrivals), queries, seed)
    return np.concatenate([ends[:before][ends[:before] > 0], ends[before:]])


def _conjunctions(starts: Int64, queries: Int64) -> Int64:
    """The rows of these queries' conjunctions."""
    lengths = starts[queries + 1] - starts[queries]
    within = np.arange(lengths.sum()) - np.repeat(offsets_of(lengths)[:-1], lengths)
    rows: Int64 = np.repeat(starts[queries], lengths) + within
    return rows


def _part(posts: PlacedPosts, first: int, count: int) -> PlacedPosts:
    part = slice(first, first + count)
    return PlacedPosts(posts.terms.slice(first, first + count), posts.lat[part], posts.lon[part])
