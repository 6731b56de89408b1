"""The line of Figure 3: fitted like least squares, never below zero, and on what indexes really count."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.csr import from_rows
from tidegate.errors import ConfigError
from tidegate.index.brute_force import BruteForce
from tidegate.index.contract import Index
from tidegate.index.flat import Flat
from tidegate.index.hashed_trie import HashedTrie
from tidegate.index.sets import TermSets
from tidegate.route.matching_cost import MatchingCost, fit, measured_points
from tidegate.workload.lengths import web_queries
from tidegate.workload.subscriptions import items, term_sets
from tidegate.workload.terms import real

points = st.lists(st.tuples(st.integers(1, 1_000), st.integers(0, 1_000)), min_size=2, max_size=12).filter(
    lambda drawn: len({x for x, _ in drawn}) > 1
)


def squared_error(cost: MatchingCost, drawn: list[tuple[int, int]]) -> float:
    return sum((cost(x) - y) ** 2 for x, y in drawn)


@given(drawn=points)
def test_no_line_that_is_nowhere_negative_is_closer(drawn: list[tuple[int, int]]) -> None:
    x, y = zip(*drawn, strict=True)
    fitted = fit(x, y)
    assert fitted.intercept >= 0
    assert fitted.slope >= 0
    least = squared_error(fitted, drawn)
    steps = [-1.0, -0.01, 0.0, 0.01, 1.0]
    for intercept in (max(fitted.intercept + step, 0) for step in steps):
        for slope in (max(fitted.slope + step / 100, 0) for step in steps):
            assert least <= squared_error(MatchingCost(intercept, slope), drawn) * (1 + 1e-9) + 1e-6


def test_a_line_is_recovered_and_explains_everything() -> None:
    x = np.array([10, 200, 5_000, 90_000])
    fitted = fit(x, 12 + 0.25 * x)
    assert fitted == pytest.approx(MatchingCost(12, 0.25))
    assert fitted.r_squared(x, 12 + 0.25 * x) == pytest.approx(1)


def test_what_a_line_does_not_explain_is_told() -> None:
    # The mean of the costs explains nothing of their variance.
    assert MatchingCost(2, 0).r_squared([1, 2, 3], [1, 2, 3]) == 0
    assert MatchingCost(0, 1).r_squared([1, 2, 3], [1, 2, 6]) == pytest.approx(1 - 9 / 14)


@pytest.mark.parametrize(("x", "y"), [([1, 2], [1]), ([3, 3], [1, 2]), ([], [])])
def test_points_that_make_no_line_are_refused(x: list[int], y: list[int]) -> None:
    with pytest.raises(ConfigError, match="a line needs a cost for each, and two to differ"):
        fit(x, y)


def test_points_tell_what_the_index_counts_for_growing_subscriptions() -> None:
    sets = from_rows([[0, 1], [1, 0], [2], [3, 4]])
    posts = from_rows([[0, 1, 2], [4]])
    measured = measured_points(BruteForce.build, sets, posts, 10, [2, 4])
    # Brute force visits every distinct set for every post.
    assert [point[:3] for point in measured] == [(2, 2, 1.0), (4, 5, 3.0)]
    assert all(point.microseconds > 0 for point in measured)


@pytest.mark.parametrize("index_class", [HashedTrie, Flat])
def test_look_ups_grow_with_unique_words(index_class: type[Index]) -> None:
    law = real(5_000)
    sets, posts = term_sets(20_000, law, web_queries(), seed=21), items(200, law, seed=22)
    built: list[TermSets] = []

    def build(sets: TermSets) -> Index:
        built.append(sets)
        return index_class.build(sets)

    measured = measured_points(build, sets, posts, 5_000, [1_000, 5_000, 10_000, 20_000], rounds=1)
    assert [sets.n_terms for sets in built] == [5_000] * 4
    words, look_ups = [point.words for point in measured], [point.look_ups for point in measured]
    assert words == sorted(words)
    assert look_ups == sorted(look_ups)
    assert fit(words, look_ups).slope > 0
