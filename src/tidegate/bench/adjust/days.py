"""Days in which where people write, and where they subscribe, wanders from region to region."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Self

import numpy as np

from tidegate.bench.adjust.arrivals import Arrivals
from tidegate.bench.adjust.sizes import Sizes
from tidegate.csr import Csr, Int64, offsets_of, taken
from tidegate.index.placed import PlacedPosts
from tidegate.workload.places import REGIONS, PlacedQueries, objects, regions_of, searches

_STEP: Final = 0.05
"""By how much the weight of a region changes in four hours, in its logarithm; posts and queries apart."""
_TO_CHOOSE_FROM: Final = 3
"""Times as many queries and posts as are chosen, so that popular regions have enough of them."""


class Step(NamedTuple):
    """Four hours."""

    posts: Int64
    """Of the pool, by number; some may be chosen twice."""
    born: Int64
    """Entries that arrive, and then those that are removed."""
    died: Int64


@dataclass(frozen=True)
class Days:
    """All that is replayed, the same for everyone who replays it."""

    pool: PlacedPosts
    arrivals: Arrivals
    standing: Int64
    """Entries that stand before the first step."""
    steps: list[Step]

    @classmethod
    def draw(cls, queries: int, sizes: Sizes, seed: int) -> Self:
        """Let posts and Q1 queries come from regions by weights that walk at random."""
        generator = np.random.default_rng(seed)
        pool = PlacedPosts(*objects(_TO_CHOOSE_FROM * 10 * sizes.step_posts, seed))
        by_step = sizes.step_posts // 10
        offered = searches(queries + _TO_CHOOSE_FROM * by_step * sizes.steps, "q1", seed + 1)
        writers = _Chooser.of(regions_of(pool.lat, pool.lon), generator)
        first = np.flatnonzero(np.diff(offered.query_of, prepend=-1))
        west, south, east, north = offered.placed.boxes[first].T
        askers = _Chooser.of(regions_of((south + north) / 2, (west + east) / 2)[queries:], generator)
        chosen_posts, orders = [], [np.arange(queries)]
        for posts, asked in zip(writers.walk(sizes.steps), askers.walk(sizes.steps), strict=True):
            chosen_posts.append(writers.chosen(posts, sizes.step_posts))
            orders.append(queries + askers.next_ones(asked, by_step))
        arrivals = Arrivals.of([reordered(offered, np.concatenate(orders))], queries, seed + 2)
        ends = np.cumsum([len(order) for order in orders])
        steps = [
            Step(posts, arrivals.born(begin, end), arrivals.died(begin, end))
            for posts, begin, end in zip(chosen_posts, ends[:-1].tolist(), ends[1:].tolist(), strict=True)
        ]
        standing = np.setdiff1d(arrivals.born(0, queries), arrivals.died(0, queries), assume_unique=True)
        return cls(pool, arrivals, standing, steps)

    def posts(self, step: Step) -> PlacedPosts:
        """Return the posts of a step."""
        return PlacedPosts(taken(self.pool.terms, step.posts), self.pool.lat[step.posts], self.pool.lon[step.posts])


@dataclass
class _Chooser:
    """Things of regions, chosen by the weights of the regions."""

    things: list[Int64]
    """By region, in random order."""
    used: Int64
    """By region: how many of them are."""
    generator: np.random.Generator

    @classmethod
    def of(cls, regions: Any, generator: np.random.Generator) -> Self:
        order = generator.permutation(len(regions))
        things = [order[regions[order] == region] for region in range(REGIONS**2)]
        return cls(things, np.zeros(REGIONS**2, np.int64), generator)

    def walk(self, steps: int) -> Iterator[Any]:
        """Yield the share of each region, step by step."""
        leaning = np.zeros(REGIONS**2)
        people = np.array([len(things) for things in self.things])
        for _ in range(steps):
            leaning = leaning + self.generator.normal(scale=_STEP, size=len(leaning))
            weights = people * np.exp(leaning)
            yield weights / weights.sum()

    def chosen(self, shares: Any, n: int) -> Int64:
        """Choose with repetition."""
        wanted = self.generator.multinomial(n, shares)
        return np.concatenate(
            [self.generator.choice(things, k) for things, k in zip(self.things, wanted, strict=True) if k]
        )

    def next_ones(self, shares: Any, n: int) -> Int64:
        """Choose those that have not been; fewer where a region has no more."""
        ends = self.used + self.generator.multinomial(n, shares)
        found = [things[used:end] for things, used, end in zip(self.things, self.used, ends, strict=True)]
        self.used = ends
        return self.generator.permutation(np.concatenate(found))


def reordered(queries: PlacedQueries, order: Int64) -> PlacedQueries:
    """Return some queries, in this order."""
    entries = np.bincount(queries.query_of, minlength=queries.queries)
    rows = taken(Csr(offsets_of(entries), np.arange(queries.placed.rows, dtype=np.int32)), order)
    placed = queries.placed.only(rows.values)
    query_of = np.repeat(np.arange(len(order), dtype=np.int32), np.diff(rows.offsets))
    return PlacedQueries(placed, query_of, len(order))
