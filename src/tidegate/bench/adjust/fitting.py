"""What visits, checks and updates cost an index, by the clocks of its matchers: weights to balance loads by."""

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from tidegate.bench.adjust.cluster import Cluster
from tidegate.index.placed import Placed, PlacedIndex, PlacedPosts
from tidegate.route.places.counts import Counts, Weights, counted
from tidegate.route.places.draft import matcher_loads
from tidegate.route.places.grid_t import GridT
from tidegate.route.places.load import not_negative
from tidegate.route.places.rebalancing import Stored, stored_loads

_ROUNDS: Final = 3
"""Of which the best counts; the first may have to compile."""
_VISIT, _CHECK, _STORED = Weights(0, 0, 1), Weights(0, 1), Weights(0, 0, 0, 1)


class Observed(NamedTuple):
    """What matchers did in a period, by matcher, and the seconds that it took them."""

    visits: Any
    checks: Any
    copies: Any
    """That they store, of which some share was updated."""
    matching: Any
    updating: Any

    @classmethod
    def of(cls, grid: GridT, counts: Counts, stored: Stored, cluster: Cluster, one_in: float) -> "Observed":
        """Read the clocks after a period that was counted, in which one post of so many was run."""
        return cls(
            matcher_loads(grid, counts, _VISIT),
            matcher_loads(grid, counts, _CHECK),
            stored_loads(grid, counts, stored, _STORED),
            cluster.matching.copy(),
            cluster.updating / one_in,
        )


def fitted_weights(observed: Sequence[Observed]) -> Weights:
    """Return the seconds of a visit, of a check, and of the updates to a copy that is stored for a period."""
    visits, checks, copies, matching, updating = (np.concatenate(column) for column in zip(*observed, strict=True))
    # What a call takes for itself is the same for all matchers: it does not belong to their visits.
    ran = matching > 0
    _, visit, check = not_negative(matching[ran], [np.ones(int(ran.sum())), visits[ran], checks[ran]])
    return Weights(0.0, float(check), float(visit), float(updating.sum() / max(copies.sum(), 1.0)))


def probed(
    make: Callable[[], PlacedIndex], grid: GridT, posts: PlacedPosts, placed: Placed, turnover: float
) -> Observed:
    """Observe matchers that live by a plan; with the posts, as if this share of all that stands were updated."""
    visits, homes, entries = grid.visits(posts, grid.heard(placed)), grid.homes(placed), np.arange(placed.rows)
    few = make()
    few.remove(few.add(placed.slice(0, 1)))  # what is not yet compiled is not to be measured
    cluster = Cluster(make, grid.matchers, placed)
    cluster.add(entries, homes)
    matching = []
    for _ in range(_ROUNDS):
        cluster.matching[:] = 0.0
        cluster.match(posts, visits)
        matching.append(cluster.matching.copy())
    cluster.remove(entries, homes)
    cluster.matching = np.min(matching, axis=0)
    counts = counted(grid, posts, placed)
    return Observed.of(grid, counts, Stored.of(grid, counts, placed), cluster, 1.0 / turnover)
