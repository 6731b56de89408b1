"""Runs of even load."""

from itertools import combinations, pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tidegate.csr import from_rows
from tidegate.route.places.cuts import even_runs
from tidegate.route.places.load import Price

PRICE = Price(1.0, 1.0, 1.0, 0.5)
things = st.lists(
    st.tuples(
        st.lists(st.integers(0, 5), unique=True, max_size=4),
        st.lists(st.integers(0, 5), unique=True, max_size=4),
        st.integers(0, 20),
    ),
    min_size=1,
    max_size=8,
)
Things = list[tuple[list[int], list[int], int]]
"""Posts, conjunctions and checks of each."""


def load(run: Things) -> float:
    posts, stored = {p for its, _, _ in run for p in its}, {s for _, its, _ in run for s in its}
    return float(PRICE.load(len(posts), len(stored), sum(checks for _, _, checks in run)))


def cut(things: Things, parts: int) -> list[int]:
    posts, stored, checks = zip(*things, strict=True)
    runs = even_runs(from_rows(posts), from_rows(stored), np.array(checks, np.float64), parts, PRICE)
    return [int(part) for part in runs]


@given(things, st.integers(1, 4))
def test_the_highest_load_is_the_lowest_of_all_ways_to_cut(things: Things, parts: int) -> None:
    parts = min(parts, len(things))
    part_of = cut(things, parts)
    assert part_of == sorted(part_of)
    assert set(part_of) == set(range(parts))
    highest = max(
        load([thing for thing, its in zip(things, part_of, strict=True) if its == part]) for part in set(part_of)
    )
    ways = combinations(range(1, len(things)), parts - 1)
    edges = [(0, *lines, len(things)) for lines in ways]
    assert highest <= 1.001 * min(max(load(things[a:b]) for a, b in pairwise(e)) for e in edges)


def test_one_large_thing_does_not_let_the_others_pile_up() -> None:
    things: Things = [(list(range(50)), list(range(50)), 0), *(([100 + i], [100 + i], 0) for i in range(12))]
    assert cut(things, 4) == [0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3]


def test_what_two_things_of_a_run_share_counts_once() -> None:
    shared = list(range(20))
    things: Things = [(list(range(100, 125)), [2], 0), (shared, [0], 0), (shared, [1], 0)]
    assert cut(things, 2) == [0, 1, 1]


def test_checks_weigh_where_posts_and_conjunctions_are_alike() -> None:
    things: Things = [([i], [i], checks) for i, checks in enumerate((900, 10, 10, 10, 10, 900))]
    assert cut(things, 3) == [0, 1, 1, 1, 1, 2]
