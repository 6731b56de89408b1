"""Figures 12 to 15: days replayed, and what moves whenever balance is broken, by four ways to choose it."""

from dataclasses import dataclass, field
from functools import partial
from time import process_time
from typing import Final, NamedTuple

import numpy as np

from tidegate.bench.adjust.cluster import Cluster, check_found, pairs
from tidegate.bench.adjust.days import Days
from tidegate.bench.adjust.sizes import SECONDS_A_STEP, Sizes
from tidegate.bench.adjust.system import System
from tidegate.bench.adjust.tally import Tally
from tidegate.csr import Int64
from tidegate.errors import ConfigError
from tidegate.index.flat_grid import FlatGrid
from tidegate.index.placed import PlacedPosts
from tidegate.route.places.adjustment import adjusted_locally
from tidegate.route.places.counts import DEFINITION_3, Weights
from tidegate.route.places.draft import is_balanced, matcher_loads
from tidegate.route.places.grid_t import GridT
from tidegate.route.places.migration import Cells, Selection, at_random, by_dynamic_programming, by_size, greedy

WAYS: Final[dict[str, Selection]] = {"DP": by_dynamic_programming, "GR": greedy, "SI": by_size, "RA": at_random}
BANDWIDTH: Final = 125e6
"""Bytes a second that travel from matcher to matcher: a gigabit; the paper's was not told."""
UTILISATION: Final = 0.5
"""Of a matcher, before and after a migration: so fast does it catch up with what waited."""
_VISITS: Final = Weights(pair=0.0, visit=1.0)


class Choice(NamedTuple):
    """What one way chose of the cells of an overloaded matcher."""

    seconds: float
    cost: int
    cells: int


@dataclass
class Asked:
    """Chooses for overloaded matchers by one way; others may be asked about the same cells, to be compared."""

    decides: str
    others: tuple[str, ...] = ()
    choices: list[dict[str, Choice]] = field(default_factory=list)
    """By matcher, what each way chose; but for an exact choice that would take too large a table."""

    def select(self, cells: Cells, wanted: float) -> Int64 | None:
        """Let all choose; return what the one did that decides, or GR where that one cannot."""
        chosen_by: dict[str, Int64] = {}
        choices = {}
        for name in (self.decides, *self.others):
            way = partial(at_random, seed=len(self.choices)) if name == "RA" else WAYS[name]
            start = process_time()
            try:
                answer = way(cells, wanted)
            except ConfigError:
                continue
            seconds = process_time() - start
            if answer is not None:
                chosen_by[name] = answer
                choices[name] = Choice(seconds, int(cells.sizes[answer].sum()), len(answer))
        self.choices.append(choices)
        return chosen_by[self.decides] if self.decides in chosen_by else greedy(cells, wanted)

    @property
    def seconds(self) -> float:
        """What the last choice took."""
        last = self.choices[-1].get(self.decides)
        return last.seconds if last else 0.0


class Migration(NamedTuple):
    """One, as it was replayed."""

    step: int
    cost: int
    nbytes: int
    entries: int
    choosing: float
    """Seconds."""
    moving: float
    affected: float
    """The share of the tuples that go to the two matchers."""

    @property
    def seconds(self) -> float:
        """For which the tuples of both matchers wait: to choose, to move, and to travel."""
        return self.choosing + self.moving + self.nbytes / BANDWIDTH

    def delayed(self, by: float) -> float:
        """Return the share of the tuples of its step that wait for longer than `by` seconds.

        Who arrives at second t waits to its end, and then for those that came before: for T - (1 - utilisation) t.
        """
        lasting = max(0.0, self.seconds - by) / (1.0 - UTILISATION)
        return self.affected * min(1.0, lasting / SECONDS_A_STEP)


class Replayed(NamedTuple):
    """A replay by one way."""

    migrations: list[Migration]
    choices: list[dict[str, Choice]]
    """Of all ways that were asked."""
    broken: int
    """Steps in which balance was broken."""

    def mean(self, measure: str) -> float:
        """Return the mean of a measure of migrations; 0 where there were none."""
        return float(np.mean([getattr(one, measure) for one in self.migrations] or [0.0]))


def balanced_start(days: Days, sizes: Sizes, plan: GridT) -> GridT:
    """Return a plan that keeps the constraint when the replay begins."""
    tally = Tally(plan.lattice, days.pool, days.arrivals.placed)
    tally.insert(days.standing)
    counts = tally.counts(np.arange(len(days.pool.lat)))
    return adjusted_locally(plan, counts, 1.0 + 0.8 * (sizes.sigma - 1.0), rounds=200).grid


def replayed(asked: Asked, days: Days, sizes: Sizes, start: GridT) -> Replayed:
    """Replay the days; wherever the constraint is broken, move what is chosen, from the most loaded to the least.

    Cells are neither split nor merged, so that nothing but the choice differs. The answers of the last step are
    checked: whatever was lost on the way raises `TidegateError`.
    """
    system = System(Cluster(FlatGrid, sizes.matchers, days.arrivals.placed), start)
    tally = Tally(start.lattice, days.pool, days.arrivals.placed)
    for part in (system, tally):
        part.insert(days.standing)
    migrations, broken = [], 0
    for number, step in enumerate(days.steps):
        for part in (system, tally):
            part.insert(step.born)
            part.delete(step.died)
        counts = tally.counts(step.posts)
        loads, visits = (matcher_loads(system.grid, counts, weights) for weights in (DEFINITION_3, _VISITS))
        if is_balanced(loads, sizes.sigma):
            continue
        broken += 1
        affected = float(visits[[loads.argmax(), loads.argmin()]].sum() / visits.sum())
        cost, nbytes, work = system.adjust(adjusted_locally(system.grid, counts, sizes.sigma, 0, asked.select))
        if cost:
            migrations.append(Migration(number, cost, nbytes, work.entries, asked.seconds, work.seconds, affected))
    last = days.posts(days.steps[-1])
    check_found(f"the replay by {asked.decides}", system.match(last), _expected(system, last))
    return Replayed(migrations, asked.choices, broken)


def _expected(system: System, posts: PlacedPosts) -> Int64:
    """Return the matches of one index that has all that stands."""
    standing = system.living()
    index = FlatGrid()
    index.add(system.cluster.placed.only(standing))
    return np.unique(pairs(index.match(posts).sets, np.arange(len(posts.lat)), standing))
