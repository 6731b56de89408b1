"""Graphs with locality have as many follows as those without, the same for a seed, and many more triangles."""

from collections.abc import Callable

import numpy as np
import pytest

from tidegate.errors import ConfigError
from tidegate.workload.follows import Follows, fans, friends
from tidegate.workload.locality import acquaintances, imitators


def rows(follows: Follows) -> list[set[int]]:
    return [set(follows.followed.row(user).tolist()) for user in range(follows.users)]


def triangles(follows: Follows) -> float:
    """Return how often one follows another that somebody it follows follows, of all ways of two follows."""
    followed = rows(follows)
    ways = [(one, end) for one in range(follows.users) for way in followed[one] for end in followed[way] if end != one]
    return float(np.mean([end in followed[one] for one, end in ways]))


@pytest.mark.parametrize(("near", "far", "mean"), [(acquaintances, friends, 10), (imitators, fans, 6)])
def test_ways_of_two_follows_are_closed_much_more_often(
    near: Callable[[int, int, int], Follows], far: Callable[[int, int, int], Follows], mean: int
) -> None:
    graph = near(1_500, mean, 1)
    assert graph.pairs == far(1_500, mean, 1).pairs == 1_500 * mean
    assert triangles(graph) > 1.5 * triangles(far(1_500, mean, 1))
    assert (graph.popularity.max() > 4 * np.median(graph.popularity)).all()


@pytest.mark.parametrize("graph", [acquaintances, imitators])
def test_a_seed_determines_the_graph(graph: Callable[[int, int, int], Follows]) -> None:
    first, again, other = (graph(200, 8, seed).followed.values.tolist() for seed in (1, 1, 2))
    assert first == again != other


def test_acquaintance_is_mutual_and_everybody_has_one() -> None:
    followed = rows(acquaintances(300, 8, 1))
    assert all(followed)
    assert all(user in followed[other] for user in range(300) for other in followed[user])


def test_shares_that_leave_nothing_to_begin_with_or_cannot_be_closed_are_refused() -> None:
    with pytest.raises(ConfigError, match="a share of 1"):
        imitators(100, 8, 1, closed=1)
    with pytest.raises(ConfigError, match="not so many"):
        acquaintances(100, 40, 1, closed=0.95)
