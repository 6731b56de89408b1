"""Distinct sets are the sets, each once, rarest term first, in lexicographic order."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.csr import Csr, from_rows
from tidegate.errors import ConfigError
from tidegate.index.sets import distinct_sets, ranked_items

rows = st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=7), max_size=80)


@given(rows)
def test_distinct_sets_are_sorted_and_every_row_finds_its_own(sets: list[list[int]]) -> None:
    found, numbers = distinct_sets(from_rows(sets), 10)
    expected = sorted({tuple(sorted(set(row), reverse=True)) for row in sets})
    assert [tuple(found.terms.row(i).tolist()) for i in range(found.rows)] == expected
    assert [set(found.terms.row(number).tolist()) for number in numbers] == [set(row) for row in sets]


def test_large_buckets_of_equal_beginnings_are_sorted() -> None:
    rng = np.random.default_rng(2)
    sets = [[9, 8, 7, *rng.integers(0, 7, rng.integers(0, 5)).tolist()] for _ in range(3000)]
    found, _ = distinct_sets(from_rows(sets))
    expected = sorted({tuple(sorted(set(row), reverse=True)) for row in sets})
    assert [tuple(found.terms.row(i).tolist()) for i in range(found.rows)] == expected


@given(st.lists(st.lists(st.integers(-3, 14), max_size=120), max_size=10))
def test_ranked_items_are_known_distinct_and_ascending(items: list[list[int]]) -> None:
    ranked = ranked_items(from_rows(items), 10)
    assert [ranked.row(i).tolist() for i in range(ranked.rows)] == [
        sorted({term for term in item if 0 <= term < 10}) for item in items
    ]


@pytest.mark.parametrize(
    ("bad", "n_terms", "complaint"),
    [
        ([[2], [-1]], None, "term ids run from -1 to 2"),
        ([[2**31 - 1]], None, "allowed are 0 to 2147483646"),
        ([[3]], 3, "a term id is 3 of 3 terms: ids end at 2"),
        ([[5, 0], [9]], 6, "a term id is 9"),
    ],
)
def test_terms_outside_the_vocabulary_are_refused(bad: list[list[int]], n_terms: int | None, complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        distinct_sets(from_rows(bad), n_terms)


def test_a_slice_of_rows_stands_on_its_own() -> None:
    whole = from_rows([[1], [2, 3], [], [4]])
    part = whole.slice(1, 3)
    assert isinstance(part, Csr)
    assert (part.rows, part.row(0).tolist(), part.row(1).tolist()) == (2, [2, 3], [])
