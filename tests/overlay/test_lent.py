"""Arrays that are lent are the same arrays."""

import sys
from typing import Any, NamedTuple

import numpy as np

from tidegate.kernels import njit
from tidegate.overlay.lent import lent


class Some(NamedTuple):
    numbers: Any
    grid: Any
    much: int


@njit
def doubled(some: Some, alone: Any) -> Any:
    some, alone = lent(some), lent(alone)
    some.numbers[:] *= 2
    some.grid[0, :2] += some.much
    alone[0] = 9
    return some.numbers.sum()


def test_what_a_kernel_does_to_arrays_that_are_lent_it_does_to_the_arrays() -> None:
    some, alone = Some(np.arange(4), np.zeros((2, 3), np.int32), 5), np.zeros(1)
    assert doubled(some, alone) == 12
    assert some.numbers.tolist() == [0, 2, 4, 6]
    assert some.grid.tolist() == [[5, 5, 0], [0, 0, 0]]
    assert alone[0] == 9


class Nested(NamedTuple):
    inner: Some
    beside: Any


@njit
def looked_at(nested: Nested) -> Any:
    nested = lent(nested)
    return nested.inner.numbers[1] + nested.beside[0]


def test_arrays_that_are_lent_inside_of_two_tuples_are_not_let_go() -> None:
    numbers, beside = np.arange(4), np.ones(1, np.int64)
    nested = Nested(Some(numbers, np.zeros((2, 3), np.int32), 5), beside)
    looked_at(nested)
    before = sys.getrefcount(numbers), sys.getrefcount(beside)
    assert [looked_at(nested) for _ in range(3)] == [2, 2, 2]
    assert (sys.getrefcount(numbers), sys.getrefcount(beside)) == before
