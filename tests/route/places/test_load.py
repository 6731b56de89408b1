"""Loads by Definition 1, and costs from runs."""

import numpy as np
import pytest

from tidegate.errors import ConfigError
from tidegate.route.places.load import Costs, Price, fitted, loads


def runs(n: int, seed: int, kinds: int = 4) -> np.ndarray:
    """Random counts of posts, stored, insertions and deletions, a row each; of checks as well if there are 5 kinds."""
    return np.random.default_rng(seed).integers(1, 100_000, (kinds, n)).astype(np.float64)


def test_stored_conjunctions_cost_in_a_period_without_insertions() -> None:
    assert loads(Costs(), posts=[1_000], stored=[10**6]) > 2 * loads(Costs(), posts=[1_000], stored=[0])


def test_costs_are_found_again_from_times_that_they_made() -> None:
    for costs in (Costs(3e-6, 0.7, 2.5, 0.1, 0.0), Costs(3e-6, 0.7, 2.5, 0.1, 0.02)):
        counts = runs(30, seed=1, kinds=5 if costs.check else 4)
        assert fitted(loads(costs, *counts), *counts) == pytest.approx(costs, rel=1e-6)


def test_checks_are_charged_only_to_those_who_make_them() -> None:
    crowded, sparse = loads(Costs(), posts=[100, 100], stored=[1_000, 1_000], checks=[50_000, 10])
    assert crowded > 5 * sparse


def test_no_cost_is_below_zero_where_plain_least_squares_would_make_it_so() -> None:
    counts = runs(30, seed=2)
    times = loads(Costs(3e-6, 0.7, 2.5, 0.0), *counts) - 0.05 * counts[3]
    found = fitted(times, *counts)
    assert min(found) >= 0
    assert found.c4 == 0
    assert found.c3 == pytest.approx(2.5, rel=0.1)


def test_runs_that_do_not_tell_costs_apart_are_refused() -> None:
    posts, stored, insertions, _ = runs(30, seed=3)
    with pytest.raises(ConfigError, match="30 runs do not tell 4 costs apart"):
        fitted(posts + insertions, posts, stored, insertions, insertions)
    with pytest.raises(ConfigError, match=r"a run took 0\.0"):
        fitted([0.0], [1], [1], [1], [1])


def test_the_price_of_a_plan_is_definition_1_with_updates_in_proportion_to_what_is_stored() -> None:
    costs = Costs(1e-3, 2.0, 3.0, 4.0)
    price = Price.of(costs, posts=1_000, stored=500)
    # 200 updates, of which a matcher with a fifth of the conjunctions has a fifth: 20 insertions and 20 deletions.
    assert price.load(300, 100) == pytest.approx(loads(costs, 300, 100, 20, 20))


def test_conjunctions_that_stand_for_many_make_posts_dearer_but_not_updates() -> None:
    one, many = (Price.of(Costs(), 1_000, 500, stands_for) for stands_for in (1.0, 100.0))
    assert many == pytest.approx(one._replace(per_pair=100 * one.per_pair, per_check=100 * one.per_check))
