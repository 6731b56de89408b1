"""Arrays that are lent are the same arrays."""

from typing import Any, NamedTuple

import numpy as np

from tidegate.kernels import njit
from tidegate.overlay.poldercast.lent import lent


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
