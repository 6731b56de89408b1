"""LASP against its definition in exact fractions, and histories that leave no trace."""

from collections import Counter
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidegate.csr import Csr, Int32, from_rows
from tidegate.errors import ConfigError
from tidegate.index.sets import ranked_items
from tidegate.route.anycast import random_anycast
from tidegate.route.lasp import Lasp
from tidegate.route.matching_cost import MatchingCost

MATCHERS = 5
WORDS = 14
owner_rows = st.lists(st.lists(st.integers(0, MATCHERS - 1), min_size=1, max_size=2), min_size=WORDS, max_size=WORDS)
word_sets = st.lists(st.sets(st.integers(0, WORDS - 1), max_size=5).map(sorted), max_size=25)
# Their ratio is exact in floating point, as the definition's comparisons are in fractions.
costs = st.builds(MatchingCost, st.sampled_from([0, 1, 3, 40]), st.sampled_from([1, 0.5, 2]))


class Candidate(NamedTuple):
    """Ordered as the definition prefers them."""

    utility: Fraction
    """Of the opposite sign, and squared, which keeps it rational."""
    cost: Fraction
    matcher: int


def defined_homes(sets: list[list[int]], owners: list[list[int]], cost: MatchingCost) -> list[int]:
    """Algorithm 2 as it is written, with the sets H(i) themselves."""

    def f(words: set[int]) -> Fraction:
        return Fraction(cost.intercept) + Fraction(cost.slope) * len(words)

    held: list[set[int]] = [set() for _ in range(MATCHERS)]
    homes = []
    for words in sets:
        candidates = []
        for i in {owners[word][0] for word in words if len(owners[word]) == 1}:
            growth = f(held[i] | set(words)) - f(held[i])
            costs = [f(held[j] | set(words) if j == i else held[j]) for j in range(MATCHERS)]
            average = sum(costs) / Fraction(MATCHERS)
            variance = sum(((c - average) ** 2 for c in costs), Fraction(0)) / MATCHERS
            candidates.append(Candidate(growth**2 * variance / average**2, f(held[i]), i))
        home = min(candidates).matcher if candidates else -1
        homes.append(home)
        if home >= 0:
            held[home] |= set(words)
    return homes


@given(sets=word_sets, owners=owner_rows, cost=costs)
@settings(max_examples=300)
def test_homes_are_those_of_the_definition(sets: list[list[int]], owners: list[list[int]], cost: MatchingCost) -> None:
    lasp = Lasp(from_rows(owners), MATCHERS, cost)
    homes = lasp.place(from_rows(sets)).tolist()
    assert homes == defined_homes(sets, owners, cost)
    held = [{word for words, home in zip(sets, homes, strict=True) if home == i for word in words} for i in range(5)]
    assert lasp.unique_words.tolist() == list(map(len, held))


@given(
    sets=word_sets,
    owners=owner_rows,
    later=word_sets,
    steps=st.lists(st.tuples(word_sets, st.integers(0, 3)), max_size=6),
)
def test_sets_that_were_removed_leave_no_trace(
    sets: list[list[int]], owners: list[list[int]], later: list[list[int]], steps: list[tuple[list[list[int]], int]]
) -> None:
    lasp, untouched = (Lasp(from_rows(owners), MATCHERS) for _ in range(2))
    assert lasp.place(from_rows(sets)).tolist() == untouched.place(from_rows(sets)).tolist()
    waiting: list[tuple[Csr, Int32]] = []
    for extra, removed in steps:
        waiting.append((from_rows(extra), lasp.place(from_rows(extra))))
        for _ in range(min(removed, len(waiting))):
            lasp.remove(*waiting.pop(removed % len(waiting)))
    for extra_sets, homes in waiting:
        lasp.remove(extra_sets, homes)
    assert lasp.unique_words.tolist() == untouched.unique_words.tolist()
    assert lasp.place(from_rows(later)).tolist() == untouched.place(from_rows(later)).tolist()


@given(sets=word_sets, owners=owner_rows, later=word_sets, cut=st.integers(0, 25))
def test_noting_where_sets_live_is_as_good_as_having_placed_them(
    sets: list[list[int]], owners: list[list[int]], later: list[list[int]], cut: int
) -> None:
    lasp, heir, in_pieces = (Lasp(from_rows(owners), MATCHERS) for _ in range(3))
    homes = lasp.place(from_rows(sets))
    heir.add(from_rows(sets), homes)
    assert [in_pieces.place(from_rows(part)).tolist() for part in (sets[:cut], sets[cut:])] == [
        homes[:cut].tolist(),
        homes[cut:].tolist(),
    ]
    expected = lasp.place(from_rows(later)).tolist()
    assert heir.place(from_rows(later)).tolist() == expected
    assert in_pieces.place(from_rows(later)).tolist() == expected


def drawn(n: int, words: int, matchers: int, seed: int) -> tuple[Csr, Csr]:
    """`n` sets of up to five words, some words far more common than others, and an owner for every word."""
    rng = np.random.default_rng(seed)
    values = (rng.random(5 * n) ** 3 * words).astype(np.int32)
    sets = ranked_items(Csr(np.arange(0, 5 * n + 1, 5), values), words)
    return sets, Csr(np.arange(words + 1), rng.integers(0, matchers, words).astype(np.int32))


def test_many_sets_are_counted_and_uncounted_exactly() -> None:
    sets, owners = drawn(150_000, 30_000, 64, seed=11)
    lasp = Lasp(owners, 64)
    homes = lasp.place(sets)
    at = np.repeat(homes, np.diff(sets.offsets)).astype(np.int64)
    pairs = Counter((at * 30_000 + sets.values).tolist())
    assert lasp.unique_words.tolist() == np.bincount(np.array(list(pairs)) // 30_000, minlength=64).tolist()
    half = sets.rows // 2
    lasp.remove(sets.slice(0, half), homes[:half])
    fresh = Lasp(owners, 64)
    fresh.add(sets.slice(half, sets.rows), homes[half:])
    assert lasp.unique_words.tolist() == fresh.unique_words.tolist()
    assert lasp.place(sets).tolist() == fresh.place(sets).tolist()


def test_matchers_have_fewer_words_and_more_equal_ones_than_by_chance() -> None:
    sets, owners = drawn(50_000, 20_000, 32, seed=12)
    lasp, by_chance = Lasp(owners, 32), Lasp(owners, 32)
    lasp.place(sets)
    by_chance.add(sets, random_anycast(sets, owners, 32, seed=1))
    assert lasp.unique_words.sum() < 0.9 * by_chance.unique_words.sum()
    assert lasp.unique_words.max() < 1.02 * lasp.unique_words.mean()
    assert by_chance.unique_words.max() > 1.1 * by_chance.unique_words.mean()


def test_a_set_goes_where_its_words_are_already_and_where_there_are_fewest_if_several_have_them() -> None:
    lasp = Lasp(from_rows([[0], [1], [0]]), 3)
    lasp.add(from_rows([[0, 1, 2], [0, 1]]), np.array([0, 1], np.int32))
    assert lasp.place(from_rows([[0, 1, 2], [0, 1]])).tolist() == [0, 1]


def test_hot_words_attract_nothing_and_a_set_of_them_alone_is_left_to_the_caller() -> None:
    lasp = Lasp(from_rows([[0, 1, 2], [3], [1, 3]]), 4)
    homes = lasp.place(from_rows([[0, 1], [0, 2], [0]]))
    assert homes.tolist() == [3, -1, -1]
    assert lasp.unique_words.tolist() == [0, 0, 0, 2]
    lasp.remove(from_rows([[0, 1], [0, 2], [0]]), homes)
    assert lasp.unique_words.tolist() == [0, 0, 0, 0]


def test_words_may_be_added_while_it_runs() -> None:
    lasp = Lasp(from_rows([[0], [1]]), 2)
    lasp.place(from_rows([[0, 1]]))
    with pytest.raises(ConfigError, match="words from 2 to 2, of 2"):
        lasp.place(from_rows([[2]]))
    lasp.owners = from_rows([[0], [1], [1]])
    assert lasp.place(from_rows([[2]])).tolist() == [1]


def test_removing_what_does_not_live_there_is_refused_and_changes_nothing() -> None:
    sets, homes = from_rows([[0, 1], [1, 2]]), np.array([0, 1], np.int32)
    lasp = Lasp(from_rows([[0], [1], [1]]), 2)
    lasp.add(sets, homes)
    twice = Csr(np.array([0, 2, 4]), np.array([0, 1, 0, 1], np.int32))
    with pytest.raises(ConfigError, match=r"set 1, of the words \[0, 1\], does not live at matcher 0: nothing was rem"):
        lasp.remove(twice, np.array([0, 0], np.int32))
    assert lasp.unique_words.tolist() == [2, 2]
    lasp.remove(sets, homes)
    assert lasp.unique_words.tolist() == [0, 0]


@pytest.mark.parametrize("homes", [[0], [0, 2], [-2, 0]])
def test_homes_that_are_no_matchers_are_refused(homes: list[int]) -> None:
    lasp = Lasp(from_rows([[0], [1]]), 2)
    with pytest.raises(ConfigError, match=r"2 sets with the homes .* give each a matcher below 2, or -1"):
        lasp.add(from_rows([[0], [1]]), np.array(homes, np.int32))


@pytest.mark.parametrize("cost", [MatchingCost(1, 0), MatchingCost(-1, 1), MatchingCost(0, float("nan"))])
def test_a_cost_that_does_not_grow_with_words_is_refused(cost: MatchingCost) -> None:
    with pytest.raises(ConfigError, match="must grow with the words"):
        Lasp(from_rows([[0]]), 1, cost)
