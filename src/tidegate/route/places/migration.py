"""Minimum cost migration (PS²Stream §V-A): which cells to move, so that enough load goes and few bytes travel.

Min-knapsack, and so NP-hard. One exact way and three quick ones; all return the chosen cells in ascending order, and
None where all cells together have too little load. Sums of loads are exact as long as they are whole numbers below
2⁵³, as products of counts are; with fractions, the last digit may decide.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidegate.csr import Int64
from tidegate.errors import ConfigError
from tidegate.kernels import njit

Loads = NDArray[np.float64]

_BYTE = 8


class Cells(NamedTuple):
    """The cells of one matcher, or its parts of them."""

    loads: Loads
    """What each adds to the matcher's load; not negative."""
    sizes: Int64
    """Bytes of the entries that each would make move; not negative."""


Selection = Callable[[Cells, float], Int64 | None]


def tau(most: float, least: float, sigma: float) -> float:
    """Return the smallest load whose move brings `most / least` down to `sigma`; 0 if it is there already.

    >>> tau(100.0, 20.0, 1.5)
    28.0
    """
    if not sigma >= 1:
        raise ConfigError(f"a balance constraint of {sigma}: no two loads are closer than 1 times one another")
    return max(0.0, (most - sigma * least) / (1 + sigma))


def by_dynamic_programming(cells: Cells, wanted: float, limit: int = 2**28) -> Int64 | None:
    """Choose the cells of the smallest total size (DP). Time: cells × the cost of the greedy choice.

    `ConfigError` if its table, of that many bits, would take more than `limit` bytes.
    """
    greedy_choice = greedy(cells, wanted)
    if greedy_choice is None or wanted <= 0:
        return greedy_choice
    # All sums are multiples of the common divisor; of those below the greedy cost, the best is looked for.
    unit = max(1, int(np.gcd.reduce(cells.sizes)))
    columns = int(cells.sizes[greedy_choice].sum()) // unit
    table = len(cells.sizes) * (-(-columns // _BYTE))
    if table + _BYTE * columns > limit:
        raise ConfigError(
            f"{len(cells.sizes)} cells of which {columns * unit} bytes would move: the exact choice needs a table of "
            f"{table + _BYTE * columns} bytes and {limit} are allowed; choose greedily, or allow more"
        )
    chosen = _cheapest(cells.loads, cells.sizes // unit, columns, wanted)
    return np.flatnonzero(chosen) if chosen.any() else greedy_choice


def greedy(cells: Cells, wanted: float) -> Int64 | None:
    """Choose by bytes per load (GR): the cheapest while they do not suffice, and one more that makes them suffice."""
    if wanted <= 0:
        return np.empty(0, np.int64)
    loaded = np.flatnonzero(cells.loads > 0)
    order = loaded[np.argsort(cells.sizes[loaded] / cells.loads[loaded], kind="stable")]
    steps, last = _scan(cells.loads[order], cells.sizes[order], wanted)
    if last < 0:
        return None
    return np.sort(np.append(order[:last][steps[:last]], order[last]))


def by_size(cells: Cells, wanted: float) -> Int64 | None:
    """Choose the largest until they suffice (SI): few cells, and many bytes. A rival to be measured against."""
    return _until_enough(cells, np.argsort(-cells.sizes, kind="stable"), wanted)


def at_random(cells: Cells, wanted: float, seed: int = 0) -> Int64 | None:
    """Choose any until they suffice (RA); the same for the same seed. A rival to be measured against."""
    return _until_enough(cells, np.random.default_rng(seed).permutation(len(cells.loads)), wanted)


def _until_enough(cells: Cells, order: Int64, wanted: float) -> Int64 | None:
    if wanted <= 0:
        return np.empty(0, np.int64)
    enough = int(np.searchsorted(np.cumsum(cells.loads[order]), wanted))
    return None if enough == len(order) else np.sort(order[: enough + 1])


@njit(cache=True, nogil=True)
def _scan(loads: Any, sizes: Any, wanted: float) -> Any:
    """Return which cells join the base ("GS"), and the best one to end with; it ends the base that precedes it."""
    steps = np.zeros(len(loads), np.bool_)
    load, cost = 0.0, np.int64(0)
    last, best = -1, np.int64(0)
    for cell in range(len(loads)):
        if load + loads[cell] < wanted:
            steps[cell] = True
            load += loads[cell]
            cost += sizes[cell]
        elif last < 0 or cost + sizes[cell] < best:
            last, best = cell, cost + sizes[cell]
    return steps, last


@njit(cache=True, nogil=True)
def _cheapest(loads: Any, sizes: Any, columns: int, wanted: float) -> Any:
    """Return which cells reach `wanted` at the least cost below `columns`; none if that cannot be.

    A row of A(i, j), the highest load of the first i cells at a cost of at most j, overwrites the one before; what
    is kept is one bit for each i and j: whether cell i is part of it.
    """
    most = np.zeros(columns)
    taken = np.zeros((len(loads), (columns + 7) // 8), np.uint8)
    for cell in range(len(loads)):
        size, load = sizes[cell], loads[cell]
        for j in range(columns - 1, size - 1, -1):
            if most[j - size] + load > most[j]:
                most[j] = most[j - size] + load
                taken[cell, j >> 3] |= np.uint8(1 << (j & 7))
    chosen = np.zeros(len(loads), np.bool_)
    j = int(np.searchsorted(most, wanted))
    if j == columns:
        return chosen
    for cell in range(len(loads) - 1, -1, -1):
        if taken[cell, j >> 3] >> (j & 7) & 1:
            chosen[cell] = True
            j -= sizes[cell]
    return chosen
