"""The load of a matcher (PS²Stream, Definition 1), and its coefficients from measured runs.

What is multiplied with posts are the conjunctions *stored*, not those inserted in the period: else matching would be
free in a quiet hour.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidegate.errors import ConfigError

Floats = NDArray[np.float64]

UPDATES_PER_POST = 0.2
"""Insertions and deletions together, half of them each (PS²Stream, §VI-A: five posts to one update)."""


class Costs(NamedTuple):
    """Microseconds of a matcher. By default, those of the grid of inverted lists (GI²) with up to a million entries."""

    c1: float = 6.6e-7
    """To check one post against one stored conjunction, on the average of all of them."""
    c2: float = 0.34
    """To handle a post."""
    c3: float = 2.0
    """To insert a conjunction."""
    c4: float = 0.003
    """To delete a conjunction."""
    check: float = 0.0097
    """To check one post against one conjunction that is filed in its cell under one of its terms.

    Not in Definition 1, which takes the share of such pairs for the same everywhere. It is far higher in a dense city.
    """


def loads(costs: Costs, posts: Any, stored: Any, insertions: Any = 0, deletions: Any = 0, checks: Any = 0) -> Floats:
    """Return the load of each matcher in a period, from its counts.

    >>> loads(Costs(0.5, 1, 2, 3), posts=[10, 0], stored=[4, 4], insertions=[1, 1]).tolist()
    [32.0, 2.0]
    """
    counts = (np.asarray(n, np.float64) for n in (posts, stored, insertions, deletions, checks))
    load: Floats = sum(cost * n for cost, n in zip(costs, _priced(*counts), strict=True))  # type: ignore[assignment]
    return load


def fitted(times: Any, posts: Any, stored: Any, insertions: Any, deletions: Any, checks: Any | None = None) -> Costs:
    """Return the costs, none below 0, under which the loads of these runs are nearest to the times they took.

    Least squares over the runs' relative errors: a run of a second counts as much as one of a minute. Exact, for all
    sets of costs that may be 0 are tried. Without `checks`, those of Definition 1. `ConfigError` where the runs do not
    tell the costs apart.
    """
    taken = np.asarray(times, np.float64)
    if not (taken > 0).all():
        raise ConfigError(f"a run took {taken.min()}: only runs that took some time can be learned from")
    counts = (
        np.asarray(n, np.float64) for n in (posts, stored, insertions, deletions, 0 if checks is None else checks)
    )
    priced = _priced(*counts)[: 4 if checks is None else 5]
    relative = np.column_stack(priced) / taken[:, None]
    if np.linalg.matrix_rank(relative / _sizes(relative)) < len(priced):
        raise ConfigError(
            f"{len(taken)} runs do not tell {len(priced)} costs apart: "
            "vary posts, stored, insertions, deletions and checks separately"
        )
    found = Costs(*not_negative(taken, priced).tolist())
    return found._replace(check=0.0) if checks is None else found


def not_negative(times: Floats, counts: Sequence[Floats]) -> Floats:
    """Return what each of a few things costs, never below 0, for times nearest to these in their relative errors."""
    relative = np.column_stack(counts) / times[:, None]
    sizes = _sizes(relative)
    best, least = np.zeros(len(counts)), np.inf
    for chosen in range(1, 2 ** len(counts)):
        positive = [i for i in range(len(counts)) if chosen >> i & 1]
        found = np.linalg.lstsq(relative[:, positive] / sizes[positive], np.ones(len(times)), rcond=None)[0]
        error = float(np.sum((relative[:, positive] / sizes[positive] @ found - 1.0) ** 2))
        if (found >= 0).all() and error < least:
            best, least = np.zeros(len(counts)), error
            best[positive] = found / sizes[positive]
    return best


def _sizes(columns: Floats) -> Floats:
    """Return the largest of each column, none of them 0: columns of one size are told apart more surely."""
    return np.asarray(np.maximum(np.abs(columns).max(axis=0, initial=0.0), 1e-300))


def _priced(posts: Floats, stored: Floats, insertions: Floats, deletions: Floats, checks: Floats) -> tuple[Floats, ...]:
    """Return what each of the costs is paid for."""
    return posts * stored, posts, insertions, deletions, checks


class Price(NamedTuple):
    """Loads as a planner computes them: from the posts that visit a matcher and the conjunctions it stores."""

    per_pair: float
    per_post: float
    per_stored: float
    per_check: float = 0.0

    @classmethod
    def of(cls, costs: Costs, posts: int, stored: int, stands_for: float = 1.0) -> "Price":
        """Share out the updates that come with all `posts` evenly over all `stored` conjunctions.

        These are a sample, each of which stands for so many that are stored.
        """
        each = 0.5 * UPDATES_PER_POST * posts / max(stored, 1)
        return cls(costs.c1 * stands_for, costs.c2, each * (costs.c3 + costs.c4), costs.check * stands_for)

    def load(self, posts: Any, stored: Any, checks: Any = 0) -> Any:
        """Return the load, also of arrays of counts."""
        return (
            self.per_pair * posts * stored + self.per_post * posts + self.per_stored * stored + self.per_check * checks
        )
