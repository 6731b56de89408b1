"""Subscriptions and items as sets of term ranks, drawn by a term law and a length law (EDBT paper, §4.2)."""

from math import comb, exp

import numpy as np

from tidegate.csr import Csr, Int64
from tidegate.errors import ConfigError
from tidegate.kernels import njit
from tidegate.workload.alias import Alias, State, alias_table, draw, random_state
from tidegate.workload.lengths import between
from tidegate.workload.terms import Floats

# A set is redrawn whole until its terms are distinct; below this share of lucky draws that is not a method.
_LEAST_DISTINCT_SHARE = 1e-3


def term_sets(n: int, law: Floats, lengths: Floats, seed: int) -> Csr:
    """Draw `n` sets of distinct terms, each row in the order of drawing; the same seed gives the same sets.

    A length is drawn first, then terms, all again while two are equal: a set of k terms has exactly the
    probability of its product of term probabilities over the sum of these products for all sets of k. The
    models of `tidegate.index` rest on that law. Memory: the result and the alias table.

    >>> sets = term_sets(1000, np.full(50, 0.02), np.array([0.0, 0.5, 0.5]), seed=1)
    >>> sets.rows, sorted(set(np.diff(sets.offsets).tolist()))
    (1000, [1, 2])
    """
    _check_drawable(law, lengths)
    state = random_state(seed)
    offsets = np.zeros(n + 1, dtype=np.int64)
    _draw_lengths(alias_table(lengths), state, offsets)
    sets = Csr(offsets, np.empty(offsets[-1], dtype=np.int32))
    _draw_sets(alias_table(law), state, sets)
    return sets


def items(n: int, law: Floats, seed: int, shortest: int = 15, longest: int = 35) -> Csr:
    """Draw `n` items: sets of `shortest` to `longest` distinct terms, every length alike."""
    return term_sets(n, law, between(shortest, longest), seed)


def _check_drawable(law: Floats, lengths: Floats) -> None:
    longest = int(np.flatnonzero(lengths)[-1])
    # The Poisson estimate of the birthday problem.
    distinct_share = exp(-comb(longest, 2) * float(law @ law))
    if longest > np.count_nonzero(law) or distinct_share < _LEAST_DISTINCT_SHARE:
        raise ConfigError(
            f"sets of {longest} distinct terms from this law of {len(law):,} terms would be redrawn too "
            "often: use shorter sets, more terms, or a flatter law"
        )


@njit(cache=True)
def _draw_lengths(alias: Alias, state: State, offsets: Int64) -> None:
    for i in range(len(offsets) - 1):
        offsets[i + 1] = offsets[i] + draw(alias, state)


@njit(cache=True)
def _draw_sets(alias: Alias, state: State, sets: Csr) -> None:
    values = sets.values
    for i in range(len(sets.offsets) - 1):
        start, stop = sets.offsets[i], sets.offsets[i + 1]
        at = start
        while at < stop:
            term = draw(alias, state)
            values[at] = term
            at += 1
            for earlier in range(start, at - 1):
                if values[earlier] == term:
                    at = start
                    break
