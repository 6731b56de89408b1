"""Ids on a circle of 64 bits, read as sixteen digits of four bits: how many two of them share, and how near they are.

All words are `uint64`: mixed with signed ones, Numba makes floats of them.
"""

from typing import Any, Final

import numpy as np

from tidegate.kernels import njit

DIGITS: Final = 16
"""Of an id."""
BASE: Final = 16
"""Pastry's b is 4."""


@njit(cache=True)
def digit_of(word: int, level: int) -> Any:
    """Return a digit, the first one at level 0."""
    return np.int64(word >> np.uint64(60 - 4 * level) & np.uint64(15))


@njit(cache=True)
def shared_digits(one: int, other: int) -> Any:
    """Return how many digits two words have in common, from the first on."""
    differing = one ^ other
    level = 0
    while level < DIGITS and differing >> np.uint64(60 - 4 * level) == 0:
        level += 1
    return level


@njit(cache=True)
def distance(one: int, other: int) -> Any:
    """Return how far two words are apart, whichever way around is shorter."""
    return min(one - other, other - one)


@njit(cache=True)
def is_nearer(one: int, other: int, key: int) -> Any:
    """Return whether one word is nearer to a key than the other; of two at the same distance the lower one is."""
    to_one, to_other = distance(one, key), distance(other, key)
    return to_one < to_other or (to_one == to_other and one < other)
