"""Counts by distinct value say the same as plain Python says of the values."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.workload.histogram import Histogram, Moments, three_digits

VALUES = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 10**12)), min_size=1, max_size=60)


def columns(rows: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    first, second = zip(*rows, strict=True)
    return np.array(first, np.int64), np.array(second, np.int64)


@given(VALUES, st.integers(0, 31), st.integers(0, 60))
def test_counts_shares_and_means_are_those_of_the_values(rows: list[tuple[int, int]], at: int, cut: int) -> None:
    values, sums = columns(rows)
    parts = [Histogram.of(values[:cut], sums[:cut]), Histogram.of(values[cut:], sums[cut:])]
    found = Histogram.merged(parts)
    plain = sorted(x for x, _ in rows)
    counted = Counter(plain)
    assert dict(zip(found.values.tolist(), found.counts.tolist(), strict=True)) == counted
    assert found.above(at) == sum(x > at for x in plain)
    assert found.count(at) == counted[at]
    assert found.most == max(plain)
    assert found.mean == pytest.approx(sum(plain) / len(plain))
    for value, total, share in zip(found.values, found.sums, found.ccdf(), strict=True):
        assert total == sum(y for x, y in rows if x == value)
        assert share == pytest.approx(sum(x >= value for x in plain) / len(plain))
    inside = [y for x, y in rows if at <= x < at + 5]
    assert found.between(at, at + 5) == (pytest.approx(sum(inside) / len(inside)) if inside else None)
    assert sum(x <= found.quantile(0.5) for x in plain) >= len(plain) / 2


@given(st.lists(st.integers(0, 10**15), min_size=1))
def test_three_digits_are_kept_and_nothing_is_rounded_up(values: list[int]) -> None:
    plain = [int(str(value)[:3].ljust(len(str(value)), "0")) for value in values]
    assert three_digits(np.array(values, np.int64)).tolist() == plain


@given(VALUES, st.integers(0, 60))
def test_the_correlation_of_parts_is_that_of_the_whole(rows: list[tuple[int, int]], cut: int) -> None:
    x, y = columns(rows)
    found = Moments.of(x[:cut], y[:cut]).plus(Moments.of(x[cut:], y[cut:])).correlation
    if len(set(x.tolist())) > 1 and y.std() > 1e-3 * max(y.mean(), 1):
        assert found == pytest.approx(np.corrcoef(x, y)[0, 1], abs=1e-4)


def test_bins_hold_the_means_of_what_is_in_them() -> None:
    x, y, n = Histogram.of(np.array([1, 2, 15, 80]), np.array([4, 6, 10, 30])).binned(1)
    assert x.tolist() == [1.5, 47.5]
    assert y.tolist() == [5.0, 20.0]
    assert n.tolist() == [2, 2]
