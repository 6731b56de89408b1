"""What matching a post costs a matcher, as a line over the unique words of its subscriptions (S³-TM, Figure 3)."""

from collections.abc import Callable, Iterable
from time import perf_counter
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from tidegate.csr import Csr
from tidegate.errors import ConfigError
from tidegate.index.contract import Index
from tidegate.index.sets import TermSets, distinct_sets

_WARM_UP = 2  # posts that are matched before the clock runs: the kernel may have to be compiled


class MatchingCost(NamedTuple):
    """The paper's f, linear in the number of unique words.

    >>> MatchingCost(intercept=10, slope=0.5)(100)
    60.0
    """

    intercept: float
    slope: float

    def __call__(self, unique_words: float) -> float:
        """Return what matching a post costs a matcher whose subscriptions have so many unique words."""
        return self.intercept + self.slope * unique_words

    def r_squared(self, words: ArrayLike, cost: ArrayLike) -> float:
        """Return the share of the variance of `cost` that the line explains: 1 where it meets every point."""
        x, y = np.asarray(words, np.float64), np.asarray(cost, np.float64)
        return float(1 - ((y - self.intercept - self.slope * x) ** 2).sum() / ((y - y.mean()) ** 2).sum())


class Point(NamedTuple):
    """One point of the figure."""

    subscriptions: int
    words: int
    """Unique words of these subscriptions."""
    look_ups: float
    """Per post: what the index counts as visited."""
    microseconds: float
    """Per post: the best of several rounds."""


def fit(words: ArrayLike, cost: ArrayLike) -> MatchingCost:
    """Return the line of least squares with neither intercept nor slope below zero: no matcher has a negative cost.

    >>> fit([100, 200, 300], [6, 11, 16])
    MatchingCost(intercept=1.0, slope=0.05)
    """
    x, y = np.asarray(words, np.float64), np.asarray(cost, np.float64)
    if x.shape != y.shape or len(np.unique(x)) < 2:
        raise ConfigError(
            f"{x.size} numbers of words and {y.size} costs: a line needs a cost for each, and two to differ"
        )
    centred = x - x.mean()
    slope = float(centred @ y / (centred @ centred))
    intercept = float(y.mean() - slope * x.mean())
    if intercept < 0:
        intercept, slope = 0.0, float(x @ y / (x @ x))
    elif slope < 0:
        intercept, slope = float(y.mean()), 0.0
    return MatchingCost(intercept, slope)


def measured_points(
    build: Callable[[TermSets], Index], sets: Csr, posts: Csr, n_terms: int, sizes: Iterable[int], rounds: int = 3
) -> list[Point]:
    """Build an index of the first subscriptions, of each size, and match the posts; every term is below `n_terms`."""
    return [_measured(build, sets.slice(0, size), posts, n_terms, rounds) for size in sizes]


def _measured(build: Callable[[TermSets], Index], sets: Csr, posts: Csr, n_terms: int, rounds: int) -> Point:
    index = build(distinct_sets(sets, n_terms)[0])
    index.match(posts.slice(0, min(_WARM_UP, posts.rows)))
    seconds = np.inf
    for _ in range(rounds):
        start = perf_counter()
        visited = index.match(posts).visited
        seconds = min(seconds, perf_counter() - start)
    return Point(sets.rows, len(np.unique(sets.values)), visited / posts.rows, 1e6 * seconds / posts.rows)
