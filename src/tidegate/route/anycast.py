"""Anycast (S³-TM §4): a set of words may live at any matcher that owns one of them; by default, chance decides."""

from typing import Any

import numpy as np

from tidegate.csr import Csr, Int32, Int64
from tidegate.errors import ConfigError
from tidegate.kernels import njit
from tidegate.route.hot_words import drawn

# FNV-1a of 64 bits, over words instead of bytes.
_BASIS, _PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)


def eligible_matchers(sets: Csr, owners: Csr, matchers: int) -> Csr:
    """Return for every set the distinct owners of its regular words, rising; `owners` has by word one for each version.

    A hot word, one of several versions, makes no matcher eligible: a post that holds it may have drawn another version.
    So a set of hot words alone has an empty row. A word may be repeated.

    >>> from tidegate.csr import from_rows
    >>> eligible_matchers(from_rows([[0, 1, 2], [2]]), from_rows([[7], [3], [4, 5]]), 8)
    Csr(offsets=array([0, 2, 2]), values=array([3, 7], dtype=int32))
    """
    check_words(sets, owners)
    _check(owners.values, matchers, "matchers", "learn who owns words for as many as there are")
    return Csr(*_eligible(sets, owners, np.full(matchers, -1, np.int64)))


def random_anycast(sets: Csr, owners: Csr, matchers: int, seed: int) -> Int32:
    """Return a home for every set, each of its eligible matchers with equal chance; -1 where there is none.

    The draw depends on the seed and on the words, not on where in `sets` they are: equal rows share a home.
    """
    homes: Int32 = _drawn_homes(sets, eligible_matchers(sets, owners, matchers), np.uint64(seed))
    return homes


def check_words(sets: Csr, owners: Csr) -> None:
    """Refuse sets with a word that `owners` has no row for."""
    _check(sets.values, owners.rows, "words", "give the owners of every word")


def _check(numbers: Int32, end: int, what: str, remedy: str) -> None:
    if len(numbers) and not 0 <= numbers.min() <= numbers.max() < end:
        raise ConfigError(f"{what} from {numbers.min()} to {numbers.max()}, of {end}: {remedy}")


@njit(cache=True, nogil=True)
def _eligible(sets: Csr, owners: Csr, taken_by: Int64) -> Any:
    """`taken_by` is by matcher the last set it was eligible for, -1 at first."""
    offsets = np.zeros(len(sets.offsets), np.int64)
    values = np.empty(len(sets.values), np.int32)
    end = 0
    for row in range(len(sets.offsets) - 1):
        for word in sets.values[sets.offsets[row] : sets.offsets[row + 1]]:
            if owners.offsets[word + 1] - owners.offsets[word] == 1:
                matcher = owners.values[owners.offsets[word]]
                if taken_by[matcher] != row:
                    taken_by[matcher] = row
                    place = end
                    while place > offsets[row] and values[place - 1] > matcher:
                        values[place] = values[place - 1]
                        place -= 1
                    values[place] = matcher
                    end += 1
        offsets[row + 1] = end
    return offsets, values[:end]


@njit(cache=True, nogil=True)
def _drawn_homes(sets: Csr, eligible: Csr, seed: np.uint64) -> Any:
    homes = np.full(len(sets.offsets) - 1, -1, np.int32)
    for row in range(len(homes)):
        first, end = eligible.offsets[row], eligible.offsets[row + 1]
        if first < end:
            code = _BASIS
            for word in sets.values[sets.offsets[row] : sets.offsets[row + 1]]:
                code = (code ^ np.uint64(word)) * _PRIME
            homes[row] = eligible.values[first + drawn(code, seed, end - first)]
    return homes
