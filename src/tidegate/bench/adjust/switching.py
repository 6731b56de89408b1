"""Figure 16: regions switch between Q1 and Q2, and the plan is adjusted to that, or is not."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, Final, NamedTuple, Self

import numpy as np

from tidegate.bench.adjust.arrivals import Arrivals
from tidegate.bench.adjust.cluster import Cluster, check_found, pairs
from tidegate.bench.adjust.fitting import Observed, fitted_weights, probed
from tidegate.bench.adjust.sizes import POSTS_PER_QUERY, Sizes
from tidegate.bench.adjust.system import System
from tidegate.csr import Int64
from tidegate.index.flat_grid import FlatGrid
from tidegate.index.grid_inverted import GridInverted
from tidegate.index.placed import Placed, PlacedPosts
from tidegate.route.places.counts import Counts, Weights, counted
from tidegate.route.places.draft import is_balanced
from tidegate.route.places.grid_t import GridT
from tidegate.route.places.partitionings import PARTITIONINGS
from tidegate.route.places.rebalancing import Stored, rebalanced, stored_loads
from tidegate.route.places.sampled import Workload
from tidegate.route.places.transition import is_worth_it
from tidegate.workload.places import COUNTRIES, Q1, Q2, REGIONS, kinds_of_regions, objects, searches

BOUNDS: Final = COUNTRIES["us"][1:]
SWITCHING: Final = 0.1
"""The share of the regions that do after every interval."""
_SIGMA: Final = 1.1
_TRAVEL: Final = 1.0
"""What moves, once, costs as much as to have it for an interval: so long is a plan expected to fit."""
_EVENED: Final = 200
"""Changes to a plan by which nothing lives yet, at most."""
_REMEMBERED: Final = 10
"""Periods from which costs are learned."""


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
    observed: deque[Observed]
    """Of the last periods between two looks at the balance, from which the system with adjustment learns costs."""

    @classmethod
    def draw(cls, sizes: Sizes, seed: int) -> Self:
        """Let an interval's queries arrive, and plan for them."""
        parts = [
            searches(sizes.switching, "q3", seed + number, kinds=kinds)
            for number, kinds in enumerate(kinds_over_time(sizes.intervals + 1, seed))
        ]
        arrivals = Arrivals.of(parts, sizes.switching, seed)
        standing = np.setdiff1d(arrivals.born(0, sizes.switching), arrivals.died(0, sizes.switching))
        placed, posts = arrivals.placed.only(standing), _posts(sizes.period_posts, seed)
        plan = planned(posts, placed, sizes)
        make = partial(GridInverted, BOUNDS)
        first = probed(make, plan, posts, placed, 1.0 / (sizes.checks * sizes.one_in))
        start = evened(plan, Seen.of(plan, posts, placed), fitted_weights([first]))
        off, on = (System(Cluster(make, sizes.matchers, arrivals.placed), start) for _ in range(2))
        truth = Truth.of(arrivals.placed)
        for one in (off, on, truth):
            one.insert(standing)
        return cls(sizes, seed, arrivals, truth, off, on, deque([first], _REMEMBERED))

    def intervals(self) -> Iterator[Interval]:
        """Let one interval after the other pass. `TidegateError` at a match lost, or one that is none."""
        for number in range(1, self.sizes.intervals + 1):
            first = number * self.sizes.switching
            ends = np.linspace(first, first + self.sizes.switching, self.sizes.checks + 1).astype(np.int64).tolist()
            moved, run = 0, 0
            off, on = np.zeros((2, self.sizes.matchers))
            for begin, end in pairwise(ends):
                posts = _posts(POSTS_PER_QUERY * (end - begin) // self.sizes.one_in, self.seed + end)
                run += len(posts.lat)
                self._pass(begin, end, posts)
                one_grid = self.on.transition is None
                if self.on.transition and self.on.transition.is_due:
                    moved += self.on.finish()
                seen = Seen.of(self.on.grid, posts, self.arrivals.placed.only(self.on.living()))
                if one_grid:  # else the clocks tell of two, and the counts of the new one
                    self.observed.append(Observed.of(self.on.grid, *seen, self.on.cluster, self.sizes.one_in))
                moved += self._adjust(seen)
                off += self._seconds(self.off)
                on += self._seconds(self.on)
            # Who plans is no matcher: that is on no clock.
            repartitioned = self._adjust_globally(posts, seen)
            tuples = run * self.sizes.one_in + 2 * self.sizes.switching
            yield Interval(number, tuples, off, on, moved, repartitioned)

    def _pass(self, begin: int, end: int, posts: PlacedPosts) -> None:
        born, died = self.arrivals.born(begin, end), self.arrivals.died(begin, end)
        for system in (self.off, self.on):
            system.cluster.reset()
        for one in (self.truth, self.off, self.on):
            one.insert(born)
            one.delete(died)
        expected = self.truth.match(posts)
        heard = self.off.grid.heard(self.arrivals.placed.only(self.off.living()))
        for name, system in (("without adjustment, the cluster", self.off), ("with it, the cluster", self.on)):
            check_found(name, system.match(posts, heard), expected)

    def _adjust(self, seen: "Seen") -> int:
        """Balance loads where they are not; return how many entries moved."""
        weights = fitted_weights(self.observed)
        if is_balanced(stored_loads(self.on.grid, *seen, weights), _SIGMA):
            return 0
        return self.on.adjust(rebalanced(self.on.grid, *seen, weights, travel=_TRAVEL)).work.entries

    def _adjust_globally(self, posts: PlacedPosts, seen: "Seen") -> bool:
        """Plan anew if that lowers the total load by more than a tenth: balance alone is left to local adjustment.

        While two grids serve, posts visit by both. Just to have loads even, that is too dear.
        """
        if self.on.transition:
            return False
        weights = fitted_weights(self.observed)
        placed = self.arrivals.placed.only(self.on.living())
        grid = evened(planned(posts, placed, self.sizes), seen, weights)
        now, then = (stored_loads(plan, *seen, weights).sum() for plan in (self.on.grid, grid))
        if worth := is_worth_it(now, then):
            self.on.repartition(grid)
        return worth

    def _seconds(self, system: System) -> Any:
        return system.cluster.updating + self.sizes.one_in * system.cluster.matching


class Seen(NamedTuple):
    """What a period saw: all that a grid is adjusted by, but for the weights."""

    counts: Counts
    stored: Stored

    @classmethod
    def of(cls, grid: GridT, posts: PlacedPosts, placed: Placed) -> Self:
        """Count, for this grid or any other of the same cells."""
        counts = counted(grid, posts, placed)
        return cls(counts, Stored.of(grid, counts, placed))


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


def evened(plan: GridT, seen: Seen, weights: Weights) -> GridT:
    """Return a plan after local adjustment, as long as there is no entry that would have to move."""
    return rebalanced(plan, *seen, weights, rounds=_EVENED, travel=0.0).grid


def _posts(n: int, seed: int) -> PlacedPosts:
    return PlacedPosts(*objects(n, seed))
