"""The four orders in which a trie may take the terms of a set (EDBT paper, §4.3.2)."""

from typing import Any, Literal, get_args

import numpy as np

from tidegate.csr import Csr, Int32
from tidegate.errors import ConfigError
from tidegate.kernels import njit

TermOrder = Literal["frequency", "reverse", "arrival", "random"]


def order_positions(order: TermOrder, arrivals: Csr, n_terms: int, seed: int = 0) -> Int32:
    """Return for every term its position in `order`; position 0 is taken first.

    `frequency` is most frequent first, `reverse` rarest first, `arrival` by first occurrence in `arrivals` (terms
    that do not occur come last), `random` a permutation drawn from `seed`.
    """
    if order == "frequency":
        return np.arange(n_terms, dtype=np.int32)
    if order == "reverse":
        return np.arange(n_terms - 1, -1, -1, dtype=np.int32)
    if order == "random":
        return np.random.default_rng(seed).permutation(n_terms).astype(np.int32)
    if order == "arrival":
        positions: Int32 = _arrival_positions(arrivals.values, n_terms)
        return positions
    raise ConfigError(f"no term order is called {order!r}: choose one of {', '.join(get_args(TermOrder))}")


@njit(cache=True, nogil=True)
def _arrival_positions(values: Int32, n_terms: int) -> Any:
    positions = np.full(n_terms, -1, np.int32)
    arrived = 0
    for i in range(len(values)):
        if positions[values[i]] < 0:
            positions[values[i]] = arrived
            arrived += 1
    for term in range(n_terms):
        if positions[term] < 0:
            positions[term] = arrived
            arrived += 1
    return positions
