"""What visits, checks and updates cost an index, measured on the matchers of a plan: weights to balance loads by."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from tidegate.bench.adjust.cluster import Cluster
from tidegate.index.placed import Placed, PlacedIndex, PlacedPosts
from tidegate.route.places.adjustment import Weights, counted, matcher_loads
from tidegate.route.places.grid_t import GridT

_ROUNDS: Final = 3
"""Of which the best counts; the first may have to compile."""
_VISIT, _CHECK, _STORED = Weights(0, 0, 1), Weights(0, 1), Weights(0, 0, 0, 1)


def fitted_weights(
    make: Callable[[], PlacedIndex], grid: GridT, posts: PlacedPosts, placed: Placed, turnover: float
) -> Weights:
    """Return microseconds by visit, by check, and by conjunction that a cell has.

    `turnover` is the share of all that stands that comes, and goes, in a period that loads are counted for.
    """
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
    counts = counted(grid, posts, placed)
    seen = np.column_stack([matcher_loads(grid, counts, weights) for weights in (_VISIT, _CHECK)])
    visit, check = _not_negative(seen, np.min(matching, axis=0))
    update = cluster.updating.sum() / matcher_loads(grid, counts, _STORED).sum()
    return Weights(0.0, 1e6 * check, 1e6 * visit, 1e6 * float(update) * turnover)


def _not_negative(seen: Any, seconds: Any) -> tuple[float, float]:
    """Return what the two columns cost by least squares; one of them alone where the other's would be negative."""
    both = np.linalg.lstsq(seen, seconds, rcond=None)[0]
    if (both >= 0).all():
        return float(both[0]), float(both[1])
    alone = seen.T @ seconds / np.maximum((seen**2).sum(axis=0), 1.0)
    errors = [float(np.sum((seen[:, i] * alone[i] - seconds) ** 2)) for i in range(2)]
    best = int(np.argmin(errors))
    return (float(alone[0]), 0.0) if best == 0 else (0.0, float(alone[1]))
