"""The partitionings by name, and what each does to a workload."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tidegate.csr import Int64
from tidegate.errors import ConfigError
from tidegate.route.places import space, text
from tidegate.route.places.grid_t import GridT
from tidegate.route.places.hybrid import hybrid
from tidegate.route.places.load import Costs, Floats, Price
from tidegate.route.places.sampled import Sampled, Settings, Workload

Partitioning = Callable[..., GridT]
"""Called with a workload, a number of matchers and, by keyword, any of the `Settings`."""


def _of(planner: Callable[[Sampled, int, Settings], GridT], *, hears: bool = True) -> Partitioning:
    def plan(workload: Workload, matchers: int, **settings: Any) -> GridT:
        chosen = Settings(**settings)
        if not 1 <= matchers < 2**15:
            raise ConfigError(f"{matchers} matchers: a plan is for 1 to {2**15 - 1}")
        return planner(Sampled.of(workload, chosen, hears=hears), matchers, chosen)

    return plan


PARTITIONINGS: dict[str, Partitioning] = {
    "frequency": _of(text.frequency),
    "hypergraph": _of(text.hypergraph),
    "metric": _of(text.metric),
    "grid": _of(space.grid, hears=False),
    "kd_tree": _of(space.kd_tree, hears=False),
    "r_tree": _of(space.r_tree, hears=False),
    "hybrid": _of(hybrid),
}


@dataclass(frozen=True)
class Outcome:
    """What a plan does to a workload."""

    posts: Int64
    """By matcher: how many posts visit it."""
    stored: Int64
    """By matcher: how many conjunctions it has."""
    checks: Int64
    """By matcher: how many pairs of these are filed in one cell under a term of the post."""
    loads: Floats
    """By matcher: microseconds, with the updates that come with the posts."""

    @property
    def total(self) -> float:
        """The load of all matchers."""
        return float(self.loads.sum())

    @property
    def imbalance(self) -> float:
        """The highest load over the mean load; 1 where there is no load."""
        return float(self.loads.max() / self.loads.mean()) if self.loads.any() else 1.0


def outcome(grid: GridT, workload: Workload, costs: Costs | None = None) -> Outcome:
    """Route a workload by a plan, and count."""
    posts, stored = (
        np.bincount(routed.values, minlength=grid.matchers)
        for routed in (grid.visits(workload.posts, grid.heard(workload.placed)), grid.homes(workload.placed))
    )
    price = Price.of(costs or Costs(), len(workload.posts.lat), workload.placed.rows, workload.stands_for)
    checks = grid.checks(workload.posts, workload.placed)
    return Outcome(posts, stored, checks, price.load(posts, stored, checks))
