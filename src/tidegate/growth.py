"""Arrays that grow by doubling, so that appending stays cheap however many appends there are."""

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

_Scalar = TypeVar("_Scalar", bound=np.generic)


def with_room(array: NDArray[_Scalar], size: int) -> NDArray[_Scalar]:
    """Return the array if it has `size` places (rows), else a copy with at least twice its own.

    The new places are -1, or 0 where there is no sign.

    >>> with_room(np.array([7, 8]), 3)
    array([ 7,  8, -1, -1])
    """
    if size <= len(array):
        return array
    nothing = -1 if array.dtype.kind == "i" else 0
    grown = np.full((max(size, 2 * len(array)), *array.shape[1:]), nothing, dtype=array.dtype)
    grown[: len(array)] = array
    return grown
