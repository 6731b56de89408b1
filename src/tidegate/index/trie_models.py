"""How large an ordered trie of random subscriptions is, and how much of it an item visits (EDBT paper, §3.3).

Terms are followed in rank order; for the rarest-first order pass `order="reverse"`.
"""

from math import comb
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tidegate.index.models import Floats, Workload, add_term, path_weights, suffix_tables
from tidegate.kernels import njit

Order = Literal["frequency", "reverse"]

_STEP: Final = 64
_LEAST_OCCUPANCY: Final = 1e-6


class TrieModel:
    """Expected nodes of the ordered trie (ROT) of a workload: Theorems 1 and 2 in their exact form.

    A node is there if any subscription begins with its path, so the expectation is the sum, over all paths,
    of the probability of that. The paper's recursion multiplies it by the parent's probability, although a
    parent is there whenever its child is: that comes out low, by 0.4 % for 100,000 subscriptions of 5 terms.
    """

    def __init__(self, workload: Workload, order: Order = "frequency") -> None:
        """Tabulate the workload once, in O(vocabulary x longest)."""
        self._is_reverse = order == "reverse"
        self._workload = workload.mirrored() if self._is_reverse else workload
        self._weights = path_weights(self._workload, workload.lengths)
        self._suffixes = suffix_tables(self._workload.terms, workload.longest, _STEP)

    def visits(self, item: ArrayLike) -> float:
        """Theorem 2: the expected number of nodes (root apart) that an item of these term ranks visits."""
        return float(self.visits_by_depth(item).sum())

    def visits_by_depth(self, item: ArrayLike) -> Floats:
        """`visits`, apart for paths of 1, 2, ... terms."""
        ranks = self._ordered(np.unique(np.asarray(item, dtype=np.int64)))
        probabilities, shares = self._workload.terms[ranks], self._path_shares(ranks)
        visits: Floats = _walk(probabilities, shares, float(self._workload.subscriptions), _LEAST_OCCUPANCY)
        return visits

    def nodes(self) -> float:
        """Theorem 1: the expected number of nodes of the whole trie; feasible for small vocabularies only."""
        return self.visits(np.arange(len(self._workload.terms)))

    def prefix_shares(self, sets: NDArray[np.int64]) -> Floats:
        """For rows of ascending ranks: how likely a subscription begins with the first 1, 2, ... of them."""
        sets = self._ordered(sets)
        ranks, places = np.unique(sets, return_inverse=True)
        shares = self._path_shares(ranks)
        depth = sets.shape[1]
        ends: Floats = shares[places.reshape(sets.shape), np.arange(depth)]
        return np.cumprod(self._workload.terms[sets], axis=1) * ends

    def _ordered(self, ranks: NDArray[np.int64]) -> NDArray[np.int64]:
        return len(self._workload.terms) - 1 - ranks[..., ::-1] if self._is_reverse else ranks

    def _path_shares(self, ranks: NDArray[np.int64]) -> Floats:
        shares: Floats = _path_shares(self._workload.terms, self._suffixes, self._weights, ranks)
        return shares


def expected_visits(workload: Workload, item: ArrayLike, order: Order = "frequency") -> float:
    """Theorem 2 for one item; for many items of one workload keep a `TrieModel`."""
    return TrieModel(workload, order).visits(item)


@njit(cache=True)
def _path_shares(terms: Floats, suffixes: Floats, weights: Floats, ranks: NDArray[np.int64]) -> Any:
    """Row i, column p: the chance of a path of p + 1 terms that ends at `ranks[i]`, over their product."""
    depths = len(weights)
    shares = np.zeros((len(ranks), depths))
    for i in range(len(ranks)):
        # Suffixes are kept for every `_STEP`-th rank; the last few terms are added here.
        block = (ranks[i] + _STEP) // _STEP
        later = suffixes[block].copy()
        for rank in range(min(block * _STEP, len(terms)) - 1, ranks[i], -1):
            add_term(later, terms[rank])
        for p in range(depths):
            for r in range(depths - p):
                shares[i, p] += weights[p, r] * later[r]
    return shares


@njit(cache=True)
def _walk(probabilities: Floats, shares: Floats, subscriptions: float, least: float) -> Any:
    """Sum the occupancies of all paths over the item's terms, by depth; unlikely branches are cut."""
    width, depths = shares.shape
    totals = np.zeros(depths)
    path = np.zeros(depths + 1, np.int64)  # the next term to try at each depth
    products = np.ones(depths + 1)
    p = 0
    while p >= 0:
        i = path[p]
        if i == width:
            p -= 1
            continue
        path[p] += 1
        product = products[p] * probabilities[i]
        share = min(product * shares[i, p], 1.0)
        occupancy = -np.expm1(subscriptions * np.log1p(-share))
        if occupancy < least:
            continue
        totals[p] += occupancy
        if p + 1 < depths:
            products[p + 1] = product
            path[p + 1] = i + 1
            p += 1
    return totals


def complete_trie_nodes(rank: int, depth: int = 12) -> float:
    """Nodes that carry the term of this rank (from 1) in the complete ordered trie (COT) of all sets.

    Their paths hold any choice of more frequent terms, up to `depth` terms in all.

    >>> [complete_trie_nodes(rank, depth=2) for rank in (1, 2, 3)]
    [1.0, 2.0, 3.0]
    """
    return float(sum(comb(rank - 1, d - 1) for d in range(1, depth + 1)))


def complete_trie_size(terms: int, depth: int = 12) -> float:
    """Nodes, root apart, of the complete ordered trie (COT) over `terms` terms.

    An item of that many terms visits as many nodes in the complete trie of any larger vocabulary.

    >>> complete_trie_size(3, depth=2)
    6.0
    """
    return float(sum(comb(terms, d) for d in range(1, depth + 1)))
