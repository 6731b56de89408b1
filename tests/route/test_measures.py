"""Spread, imbalance and throughput, counted visit by visit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.csr import from_rows
from tidegate.route.hot_words import drawn
from tidegate.route.measures import Measured, measured, measured_versions

MATCHERS, WORDS = 4, 7
posts = st.lists(st.lists(st.integers(0, WORDS - 1), unique=True), max_size=10)
owners = st.lists(st.integers(-1, MATCHERS - 1), min_size=WORDS, max_size=WORDS)
versions = st.lists(st.lists(st.integers(0, MATCHERS - 1), max_size=5), min_size=WORDS, max_size=WORDS)


def plain_loads(visits: list[set[int]]) -> list[int]:
    return [sum(matcher in visited for visited in visits) for matcher in range(MATCHERS)]


@given(posts, owners)
def test_a_post_loads_a_matcher_once_however_many_words_lead_there(rows: list[list[int]], owner_of: list[int]) -> None:
    found = measured(from_rows(rows), np.array(owner_of, np.int32), MATCHERS)
    assert found.posts == len(rows)
    assert found.loads.tolist() == plain_loads([{owner_of[word] for word in row} - {-1} for row in rows])


@given(posts, versions, st.integers(0, 2**32))
def test_a_post_visits_the_owner_of_the_version_it_draws(
    rows: list[list[int]], owned: list[list[int]], seed: int
) -> None:
    generator = np.random.default_rng(seed)
    ids, words = (generator.integers(0, 2**64, size, np.uint64) for size in (len(rows), WORDS))
    visits = [
        {owned[word][drawn(ids[post], words[word], len(owned[word]))] for word in row if owned[word]}
        for post, row in enumerate(rows)
    ]
    assert measured_versions(from_rows(rows), from_rows(owned), MATCHERS, ids, words).loads.tolist() == plain_loads(
        visits
    )


def test_throughput_is_the_number_of_matchers_over_spread_and_imbalance() -> None:
    found = Measured(10, np.array([4, 8, 6, 2]))
    assert found.spread == 2
    assert found.imbalance == 1.6
    assert found.throughput == pytest.approx(4 / (found.spread * found.imbalance))
    assert found.throughput == 1.25


def test_one_matcher_is_as_fast_as_posts_with_words_come() -> None:
    found = measured(from_rows([[0], [0, 1], [], [1]]), np.array([0, 0], np.int32), 1)
    assert (found.spread, found.imbalance, found.throughput) == (0.75, 1.0, 4 / 3)


@pytest.mark.parametrize("rows", [[], [[], []]])
def test_where_nothing_is_routed_there_is_no_limit(rows: list[list[int]]) -> None:
    found = measured(from_rows(rows), np.array([0], np.int32), 3)
    assert (found.spread, found.imbalance, found.throughput) == (0.0, 1.0, float("inf"))
