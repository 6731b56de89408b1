"""Flat's head: as many terms as rows of bits are worth, and no more than its counters can count."""

import numpy as np

from tidegate.index.flat import _head_size


def test_the_head_ends_where_counters_of_sixteen_bits_do() -> None:
    assert _head_size(np.full(100_000, 50_000)) == 2**16


def test_terms_with_few_pairs_get_no_bits() -> None:
    assert _head_size(np.zeros(1_000, np.int64)) == 0
    assert _head_size(np.empty(0, np.int64)) == 0


def test_the_head_ends_where_pairs_become_rare() -> None:
    pairs_of = np.concatenate([np.full(300, 100), np.zeros(5_000, np.int64)])
    assert _head_size(pairs_of) == 300
