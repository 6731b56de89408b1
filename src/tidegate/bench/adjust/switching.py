"""Figure 16: regions switch between Q1 and Q2, and the plan is adjusted to that, or is not."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, Final, NamedTuple, Self

import numpy as np

from tidegate.bench.adjust.arrivals import Arrivals
from tidegate.bench.adjust.cluster import Cluster, check_found, pairs
from tidegate.bench.adjust.fitting import fitted_weights
from tidegate.bench.adjust.sizes import Sizes
from tidegate.bench.adjust.system import Local, System
from tidegate.csr import Int64
from tidegate.index.flat_grid import FlatGrid
from tidegate.index.grid_inverted import GridInverted
from tidegate.index.placed import Placed, PlacedPosts
from tidegate.route.places.adjustment import Counts, adjusted_locally, counted, matcher_loads
from tidegate.route.places.grid_t import GridT
from tidegate.route.places.partitionings import PARTITIONINGS
from tidegate.route.places.sampled import Workload
from tidegate.route.places.transition import is_worth_it
from tidegate.workload.places import COUNTRIES, Q1, Q2, REGIONS, kinds_of_regions, objects, searches

BOUNDS: Final = COUNTRIES["us"][1:]
SWITCHING: Final = 0.1
"""The share of the regions that do after every interval."""
_POSTS_PER_QUERY: Final = 10
"""Five an update, and a query comes and goes."""
_SIGMA: Final = 1.2
_CELLS: Final = 8
"""That a round looks at for splitting and merging."""
_ROUNDS: Final = 20
_FITTED_ON: Final = 10
"""Times as many posts as are planned on: what a matcher takes for a few is lost in noise."""


class Interval(NamedTuple):
    """What was measured between two switches."""

    number: int
    tuples: int
    off: Any
    """By matcher, seconds without adjustment; and with it, what is moved included."""
    on: Any
    moved: int
    """Entries."""
    repartitioned: bool

    @property
    def gain(self) -> float:
        """By how much adjustment raises throughput."""
        return float(self.off.max() / self.on.max() - 1.0)


@dataclass
class Truth:
    """One index that has everything."""

    index: FlatGrid
    placed: Placed
    entry_of: Int64
    number_of: Int64

    @classmethod
    def of(cls, placed: Placed) -> Self:
        """Start with nothing of it."""
        return cls(FlatGrid(), placed, np.empty(0, np.int64), np.full(placed.rows, -1, np.int64))

    def insert(self, entries: Int64) -> None:
        """Add entries."""
        self.number_of[entries] = self.index.add(self.placed.only(entries))
        self.entry_of = np.concatenate((self.entry_of, entries))

    def delete(self, entries: Int64) -> None:
        """Remove entries."""
        self.index.remove(self.number_of[entries])

    def match(self, posts: PlacedPosts) -> Int64:
        """Return the matches, rising."""
        return np.sort(pairs(self.index.match(posts).sets, np.arange(len(posts.lat)), self.entry_of))


@dataclass
class Switching:
    """The stream, and two systems that start alike."""

    sizes: Sizes
    seed: int
    arrivals: Arrivals
    truth: Truth
    off: System
    on: System
    how: Local

    @classmethod
    def draw(cls, sizes: Sizes, seed: int) -> Self:
        """Let an interval's queries arrive, and plan for them."""
        parts = [
            searches(sizes.switching, "q3", seed + number, kinds=kinds)
            for number, kinds in enumerate(kinds_over_time(sizes.intervals + 1, seed))
        ]
        arrivals = Arrivals.of(parts, sizes.switching, seed)
        standing = np.setdiff1d(arrivals.born(0, sizes.switching), arrivals.died(0, sizes.switching))
        placed, posts = arrivals.placed.only(standing), _posts(sizes.planned_on, seed)
        plan = planned(posts, placed, sizes)
        make = partial(GridInverted, BOUNDS)
        turnover = sizes.planned_on / (_POSTS_PER_QUERY * sizes.switching)
        weights = fitted_weights(make, plan, _posts(_FITTED_ON * sizes.planned_on, seed), placed, turnover)
        how = Local(_SIGMA, weights, _CELLS, _ROUNDS)
        start = evened(plan, counted(plan, posts, placed), how)
        off, on = (System(Cluster(make, sizes.matchers, arrivals.placed), start) for _ in range(2))
        truth = Truth.of(arrivals.placed)
        for one in (off, on, truth):
            one.insert(standing)
        return cls(sizes, seed, arrivals, truth, off, on, how)

    def intervals(self) -> Iterator[Interval]:
        """Let one interval after the other pass. `TidegateError` at a match lost, or one that is none."""
        for number in range(1, self.sizes.intervals + 1):
            first = number * self.sizes.switching
            ends = np.linspace(first, first + self.sizes.switching, self.sizes.checks + 1).astype(np.int64).tolist()
            moved, run = 0, 0
            for system in (self.off, self.on):
                system.cluster.reset()
            for begin, end in pairwise(ends):
                posts = _posts(_POSTS_PER_QUERY * (end - begin) // self.sizes.one_in, self.seed + end)
                run += len(posts.lat)
                self._pass(begin, end, posts)
                if self.on.transition and self.on.transition.is_due:
                    moved += self.on.finish()
                counts = self._counts(posts)
                if not self.on.is_balanced(counts, self.how):
                    moved += self.on.adjust(counts, self.how).work.entries
            # Who plans is no matcher: that is on no clock.
            repartitioned = self._adjust_globally(posts, counts)
            tuples = run * self.sizes.one_in + 2 * self.sizes.switching
            yield Interval(number, tuples, self._seconds(self.off), self._seconds(self.on), moved, repartitioned)

    def _pass(self, begin: int, end: int, posts: PlacedPosts) -> None:
        born, died = self.arrivals.born(begin, end), self.arrivals.died(begin, end)
        for one in (self.truth, self.off, self.on):
            one.insert(born)
            one.delete(died)
        expected = self.truth.match(posts)
        for name, system in (("without adjustment, the cluster", self.off), ("with it, the cluster", self.on)):
            check_found(name, system.match(posts), expected)

    def _counts(self, posts: PlacedPosts) -> Counts:
        """Count as many posts as the weights are for."""
        n = self.sizes.planned_on
        recent = PlacedPosts(posts.terms.slice(0, n), posts.lat[:n], posts.lon[:n])
        return counted(self.on.grid, recent, self.arrivals.placed.only(self.on.living()))

    def _adjust_globally(self, posts: PlacedPosts, counts: Counts) -> bool:
        """Plan anew if that lowers the highest load, which decides on throughput, by more than a tenth."""
        if self.on.transition:
            return False
        placed = self.arrivals.placed.only(self.on.living())
        grid = evened(planned(posts, placed, self.sizes), counts, self.how)
        now, then = (matcher_loads(plan, counts, self.how.weights).max() for plan in (self.on.grid, grid))
        if worth := is_worth_it(now, then):
            self.on.repartition(grid)
        return worth

    def _seconds(self, system: System) -> Any:
        return system.cluster.updating + self.sizes.one_in * system.cluster.matching


def kinds_over_time(n: int, seed: int) -> Iterator[Any]:
    """Yield the kinds of all regions for `n` intervals; a tenth of them switch each time."""
    generator, kinds = np.random.default_rng(seed), kinds_of_regions(seed)
    for _ in range(n):
        yield kinds.copy()
        switching = generator.choice(REGIONS**2, round(SWITCHING * REGIONS**2), replace=False)
        kinds[switching] = Q1 + Q2 - kinds[switching]


def planned(posts: PlacedPosts, placed: Placed, sizes: Sizes) -> GridT:
    """Return the hybrid's plan for these, of which it is shown a sample."""
    n, m = min(sizes.planned_on, len(posts.lat)), min(sizes.planned_on, placed.rows)
    shown = placed.only(np.linspace(0, placed.rows - 1, m).astype(np.int64))
    sample = PlacedPosts(posts.terms.slice(0, n), posts.lat[:n], posts.lon[:n])
    return PARTITIONINGS["hybrid"](Workload(sample, shown, BOUNDS, placed.rows / m), sizes.matchers)


def evened(plan: GridT, counts: Counts, how: Local) -> GridT:
    """Return a plan after local adjustment, as long as there is no entry that would have to move."""
    return adjusted_locally(
        plan, counts, how.sigma, how.p, how.select, rounds=10 * how.rounds, weights=how.weights
    ).grid


def _posts(n: int, seed: int) -> PlacedPosts:
    return PlacedPosts(*objects(n, seed))
