"""All seven partitionings: exact, whatever they are planned from, and as good as they should be."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.route.places.workloads import BOUNDS, assert_matches_meet, generated, placed, posts, workloads
from tidegate.errors import ConfigError
from tidegate.index.placed import Placed, PlacedPosts
from tidegate.route.places.load import Costs, loads
from tidegate.route.places.partitionings import PARTITIONINGS, outcome
from tidegate.route.places.sampled import Workload

every = pytest.mark.parametrize("name", PARTITIONINGS)


@every
@settings(max_examples=25, deadline=None)
@given(workload=workloads, later_posts=posts, later_placed=placed, matchers=st.integers(1, 5))
def test_what_matches_meets_also_where_it_was_not_in_the_sample(
    name: str, workload: Workload, later_posts: PlacedPosts, later_placed: Placed, matchers: int
) -> None:
    grid = PARTITIONINGS[name](workload, matchers, columns=8, rows=4, population=5)
    assert grid.matchers == matchers
    assert_matches_meet(grid, workload.posts, workload.placed)
    assert_matches_meet(grid, later_posts, later_placed)


@every
@pytest.mark.parametrize("stands_for", [1.0, 1_000.0])
def test_what_matches_meets_on_generated_input(name: str, stands_for: float) -> None:
    workload = generated("q3", 4_000, 10_000, stands_for)
    grid = PARTITIONINGS[name](workload, 8)
    assert assert_matches_meet(grid, workload.posts, workload.placed) > 500


@every
def test_a_plan_is_the_same_whenever_it_is_made(name: str) -> None:
    workload = generated("q2", 1_000, 1_000, 100.0)
    first, second = (PARTITIONINGS[name](workload, 4) for _ in range(2))
    assert np.array_equal(first.where, second.where)
    assert np.array_equal(first.maps, second.maps)


@every
def test_every_matcher_has_a_fair_share(name: str) -> None:
    workload = generated("q1", 10_000, 10_000)
    found = outcome(PARTITIONINGS[name](workload, 8), workload)
    assert found.loads.min() > 0
    assert found.imbalance < 1.3


def test_an_outcome_counts_posts_and_conjunctions_at_each_matcher() -> None:
    workload = generated("q1", 1_000, 1_000, stands_for=10.0)
    grid = PARTITIONINGS["kd_tree"](workload, 4)
    found = outcome(grid, workload)
    homes, visits = grid.homes(workload.placed), grid.visits(workload.posts, grid.heard(workload.placed))
    assert found.posts.tolist() == [int((visits.values == matcher).sum()) for matcher in range(4)]
    assert found.stored.tolist() == [int((homes.values == matcher).sum()) for matcher in range(4)]
    updates = 0.1 * 1_000 * found.stored / workload.placed.rows
    assert found.loads == pytest.approx(
        loads(Costs(), found.posts, 10.0 * found.stored, updates, updates, 10.0 * found.checks)
    )


TEXT, SPACE = ("frequency", "hypergraph", "metric"), ("grid", "kd_tree", "r_tree")


def highest_loads(kind: str) -> dict[str, float]:
    """By partitioning, on other posts and queries than it was planned from."""
    planned, later = (generated(kind, 20_000, 50_000, seed=seed) for seed in (10, 20))
    return {name: float(outcome(plan(planned, 8), later).loads.max()) for name, plan in PARTITIONINGS.items()}


def test_space_is_ahead_of_text_where_keywords_are_those_of_posts() -> None:
    highest = highest_loads("q1")
    assert max(highest[name] for name in SPACE) < min(highest[name] for name in TEXT)
    assert highest["hybrid"] < 1.03 * min(highest.values())


def test_text_is_ahead_of_space_where_keywords_are_rare() -> None:
    highest = highest_loads("q2")
    assert max(highest[name] for name in TEXT) < min(highest[name] for name in SPACE)
    assert highest["hybrid"] < 1.03 * min(highest.values())


def test_the_hybrid_is_well_ahead_of_both_where_regions_differ() -> None:
    highest = highest_loads("q3")
    assert min(highest["metric"], highest["kd_tree"]) > 1.3 * highest["hybrid"]


@every
def test_only_space_alone_sends_posts_that_nobody_asks_for(name: str) -> None:
    workload = generated("q2", 5_000, 10_000)
    grid = PARTITIONINGS[name](workload, 8)
    visits = np.diff(grid.visits(workload.posts, grid.heard(workload.placed)).offsets)
    assert visits.max() == 1 if name in SPACE else visits.min() == 0
    assert (visits > 0).mean() == 1.0 if name in SPACE else (visits > 0).mean() < 0.1


@every
def test_without_matchers_there_is_no_plan(name: str) -> None:
    with pytest.raises(ConfigError, match="0 matchers"):
        PARTITIONINGS[name](Workload(generated("q1", 1, 1).posts, generated("q1", 1, 1).placed, BOUNDS), 0)
