from collections import Counter
from itertools import combinations
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidegate.errors import ConfigError
from tidegate.workload import lengths, terms
from tidegate.workload.subscriptions import items, term_sets


@given(st.integers(0, 200), st.integers(30, 400), st.integers(1, 6), st.integers(0, 2**32))
@settings(deadline=None, max_examples=50)
def test_the_terms_of_a_set_are_distinct_and_known(n: int, vocabulary: int, longest: int, seed: int) -> None:
    sets = term_sets(n, terms.zipf(vocabulary, 0.8), lengths.between(1, longest), seed)
    assert sets.rows == n
    for i in range(n):
        row = sets.row(i).tolist()
        assert 1 <= len(row) <= longest
        assert len(set(row)) == len(row)
        assert all(0 <= term < vocabulary for term in row)


def test_a_seed_determines_the_sets() -> None:
    first, again, other = (
        term_sets(500, terms.real(5000), lengths.web_queries(), seed).values.tolist() for seed in (3, 3, 4)
    )
    assert first == again
    assert first != other


def test_sets_follow_the_product_law_of_distinct_terms() -> None:
    law, n = terms.zipf(6, 1.0), 200_000
    sets = term_sets(n, law, lengths.fixed(3), seed=7)
    counts = Counter(map(frozenset, sets.values.reshape(n, 3).tolist()))
    products = {frozenset(s): prod(law[list(s)]) for s in combinations(range(6), 3)}
    total = sum(products.values())
    chi_square = sum((counts[s] - n * p / total) ** 2 / (n * p / total) for s, p in products.items())
    assert chi_square < 45  # 19 degrees of freedom; 45 is passed once in a thousand


def test_lengths_follow_their_law_whatever_is_redrawn() -> None:
    theta = lengths.web_queries()
    sets = term_sets(200_000, terms.zipf(300, 0.5), theta, seed=8)
    shares = np.bincount(np.diff(sets.offsets), minlength=len(theta)) / sets.rows
    np.testing.assert_allclose(shares, theta, atol=0.004)


@pytest.mark.parametrize("length", [24, 36])
def test_long_sets_of_the_real_law_are_drawn_too(length: int) -> None:
    sets = term_sets(2000, terms.real(), lengths.fixed(length), seed=9)
    rows = np.sort(sets.values.reshape(2000, length), axis=1)
    assert (np.diff(rows, axis=1) > 0).all()


def test_items_have_15_to_35_terms() -> None:
    sizes = np.diff(items(5000, terms.real(), seed=1).offsets)
    assert (sizes.min(), sizes.max()) == (15, 35)
    assert sizes.mean() == pytest.approx(25, abs=0.4)


@pytest.mark.parametrize(("vocabulary", "length"), [(5, 6), (40, 40)])
def test_sets_that_would_be_redrawn_for_ever_are_refused(vocabulary: int, length: int) -> None:
    with pytest.raises(ConfigError, match=f"sets of {length} distinct terms"):
        term_sets(1, terms.uniform(vocabulary), lengths.fixed(length), seed=0)
