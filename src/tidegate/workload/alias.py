"""Drawing from any discrete law in constant time: Walker's alias tables, the generator's state an argument.

One draw costs one 64-bit random number and one table slot, whatever the size of the vocabulary.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidegate.csr import Int32
from tidegate.kernels import njit

State = NDArray[np.uint64]
"""Four words of xoshiro256++; every draw advances it in place."""


class Alias(NamedTuple):
    """Slot `i` stands for itself with probability `threshold[i]`, and for `other[i]` otherwise."""

    threshold: NDArray[np.float64]
    other: Int32


def alias_table(law: NDArray[np.float64]) -> Alias:
    """Tabulate a law (non-negative, of sum 1) in O(len(law)).

    >>> table = alias_table(np.array([0.75, 0.25]))
    >>> table.threshold.tolist(), table.other.tolist()
    ([1.0, 0.5], [0, 0])
    """
    threshold = law * len(law)
    other = np.arange(len(law), dtype=np.int32)
    _pair_slots(threshold, other)
    return Alias(threshold, other)


def sample(law: NDArray[np.float64], size: int, state: State) -> Int32:
    """`size` independent draws."""
    return sample_table(alias_table(law), size, state)


def sample_table(alias: Alias, size: int, state: State) -> Int32:
    """`size` independent draws by a law that was tabulated before."""
    out = np.empty(size, dtype=np.int32)
    draws(alias, state, out)
    return out


def random_state(seed: int | Sequence[int]) -> State:
    """The generator's state for a seed; seeds next to each other give unrelated streams."""
    return np.random.SeedSequence(seed).generate_state(4, np.uint64).astype(np.uint64, copy=False)


@njit(cache=True)
def _pair_slots(threshold: NDArray[np.float64], other: Int32) -> None:
    """Fill every slot below 1 from one above it (Vose's order); `threshold` enters as law times size."""
    n = len(threshold)
    stack = np.empty(n, dtype=np.int32)
    low, high = 0, n  # poor slots grow from the left of the stack, rich ones from the right
    for i in range(n):
        if threshold[i] < 1.0:
            stack[low] = i
            low += 1
        else:
            high -= 1
            stack[high] = i
    while low > 0 and high < n:
        low -= 1
        poor, rich = stack[low], stack[high]
        other[poor] = rich
        threshold[rich] -= 1.0 - threshold[poor]
        if threshold[rich] < 1.0:
            high += 1
            stack[low] = rich
            low += 1
    # What is left over owes its distance from 1 to rounding.
    for i in range(low):
        threshold[stack[i]] = 1.0
    for i in range(high, n):
        threshold[stack[i]] = 1.0


@njit(cache=True)
def next_word(state: State) -> Any:
    """Advance xoshiro256++ and return 64 random bits."""
    s0, s1, s2, s3 = state[0], state[1], state[2], state[3]
    mixed = s0 + s3
    word = ((mixed << np.uint64(23)) | (mixed >> np.uint64(41))) + s0
    s2 ^= s0
    s3 ^= s1
    state[0] = s0 ^ s3
    state[1] = s1 ^ s2
    state[2] = s2 ^ (s1 << np.uint64(17))
    state[3] = (s3 << np.uint64(45)) | (s3 >> np.uint64(19))
    return word


@njit(cache=True)
def draw(alias: Alias, state: State) -> Any:
    """One index, drawn by the tabulated law."""
    # 53 bits: the whole part picks the slot, the fraction (32 bits and more) decides within it.
    point = (next_word(state) >> np.uint64(11)) * (len(alias.threshold) / 2.0**53)
    slot = np.int32(point)
    if point - slot < alias.threshold[slot]:
        return slot
    return alias.other[slot]


@njit(cache=True)
def draws(alias: Alias, state: State, out: Int32) -> None:
    """Fill `out` with independent draws."""
    for i in range(len(out)):
        out[i] = draw(alias, state)
