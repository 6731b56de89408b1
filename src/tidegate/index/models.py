"""What random subscriptions look like to an index: posting lists, keys, vocabularies (EDBT paper, §3.2).

For any term law and length law, in the exact form for *distinct* terms. All rests on D_r(X): the probability
that r draws are all different and all fall into X. It is r! times the elementary symmetric polynomial of the
probabilities in X, grows by D_r(X + t) = D_r(X) + r P(t) D_{r-1}(X), and stays far from underflow where it
matters. Tries are in `trie_models`, bytes and nanoseconds in `costs`.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tidegate.errors import ConfigError
from tidegate.kernels import njit

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Workload:
    """Random subscriptions and items. Term ids are ranks; index 0 is the most frequent term of the items."""

    subscriptions: int
    terms: Floats
    """Probability of each term when a subscription draws one; a draw with a repeated term is drawn anew."""
    lengths: Floats
    """Index k: the share of subscriptions of k terms."""
    item_terms: Floats
    """Probability of each term when an item draws one."""
    item_length: float = 25.0

    def __post_init__(self) -> None:
        """Refuse laws that are none."""
        for name, law in (("terms", self.terms), ("lengths", self.lengths), ("item_terms", self.item_terms)):
            if len(law) == 0 or float(law.min()) < 0 or abs(float(law.sum()) - 1.0) > 1e-6:
                raise ConfigError(f"{name} of a workload is not a law: its shares must be >= 0 and sum to 1")
        if len(self.terms) != len(self.item_terms):
            raise ConfigError(f"laws over {len(self.terms)} and {len(self.item_terms)} terms: give them one vocabulary")
        longest, terms = len(self.lengths) - 1, int(np.count_nonzero(self.terms))
        if self.lengths[0] > 0 or longest > terms:
            raise ConfigError(f"subscriptions of 0 to {longest} terms out of {terms}: allowed are 1 to {terms}")
        item_terms = int(np.count_nonzero(self.item_terms))
        if not 1 <= self.item_length <= item_terms:
            raise ConfigError(f"items of {self.item_length:g} terms out of {item_terms}: allowed are 1 to {item_terms}")

    @property
    def longest(self) -> int:
        """The largest subscription length."""
        return len(self.lengths) - 1

    @property
    def mean_length(self) -> float:
        """The average subscription length."""
        return float(self.lengths @ np.arange(len(self.lengths)))

    @cached_property
    def distinct(self) -> Floats:
        """D_k of the whole vocabulary: the share of draws of k terms that need no redrawing."""
        whole: Floats = suffix_tables(self.terms, self.longest, len(self.terms))[0]
        return whole

    def mirrored(self) -> Self:
        """The same workload with ranks counted from the other end: rarest-first becomes frequency order."""
        return replace(self, terms=self.terms[::-1].copy(), item_terms=self.item_terms[::-1].copy())


def membership(workload: Workload) -> Floats:
    """Pr(t in s): the probability that a subscription contains each term. Sums to the mean length.

    >>> w = Workload(10, np.array([0.5, 0.3, 0.2]), np.array([0, 0, 1.0]), np.full(3, 1 / 3), 2)
    >>> membership(w).round(4).tolist()  # {0,1}: 0.15, {0,2}: 0.10, {1,2}: 0.06, over their sum
    [0.8065, 0.6774, 0.5161]
    """
    P = workload.terms
    without = np.ones_like(P)  # D_{k-1} of the vocabulary without the term
    present = np.zeros_like(P)
    for k in range(1, workload.longest + 1):
        present += workload.lengths[k] / workload.distinct[k] * k * P * without
        without = np.maximum(workload.distinct[k] - k * P * without, 0.0)
    return present


def item_membership(workload: Workload) -> Floats:
    """The probability that an item of the mean length contains each term."""
    lengths = np.zeros(round(workload.item_length) + 1)
    lengths[-1] = 1.0
    return membership(replace(workload, terms=workload.item_terms, lengths=lengths))


def posting_sizes(workload: Workload) -> Floats:
    """Expected posting list length of each term in counting lists (CIL)."""
    return workload.subscriptions * membership(workload)


def subscribed_terms(workload: Workload) -> float:
    """|V_S|: the expected number of terms that occur in at least one subscription."""
    return float(occupied(membership(workload), workload.subscriptions).sum())


def key_shares(workload: Workload) -> Floats:
    """The probability that each term is the key of a subscription: the last of its terms by rank (RIL)."""
    return _first_shares(workload.mirrored(), workload.lengths)[::-1]


def keyed_terms(workload: Workload) -> float:
    """The expected number of terms that are the key of at least one subscription."""
    return float(occupied(key_shares(workload), workload.subscriptions).sum())


def keyed_sizes(workload: Workload) -> Floats:
    """Expected number of terms stored in each ranked-key list (eq 7: a subscription of k terms counts k)."""
    weighted = workload.lengths * np.arange(len(workload.lengths))
    return workload.subscriptions * _first_shares(workload.mirrored(), weighted)[::-1]


def occupied(share: Any, subscriptions: int) -> Any:
    """The chance that at least one subscription falls where each falls with probability `share`."""
    with np.errstate(divide="ignore"):  # a share of 1 is certain
        return -np.expm1(subscriptions * np.log1p(-np.minimum(share, 1.0)))


def path_weights(workload: Workload, lengths: Floats) -> Floats:
    """Row p, column r: what D_r of the later terms counts for a path of p + 1 terms (falling factorial form).

    A subscription of k terms begins with the path of terms t_0 < ... < t_p with probability
    P(t_0) ... P(t_p) k!/r! D_r(later than t_p) / D_k(all), r = k - p - 1; the row sums that over k.
    """
    longest = workload.longest
    weights = np.zeros((longest, longest))
    for k in range(1, longest + 1):
        falling = 1.0
        for p in range(k):
            falling *= k - p
            weights[p, k - p - 1] = lengths[k] * falling / workload.distinct[k]
    return weights


@njit(cache=True)
def add_term(tables: Floats, probability: float) -> None:
    """Turn D_r(X) into D_r(X + t), in place."""
    for r in range(len(tables) - 1, 0, -1):
        tables[r] += r * probability * tables[r - 1]


@njit(cache=True)
def suffix_tables(terms: Floats, longest: int, step: int) -> Floats:
    """Row b: D_0 ... D_longest of the terms of rank `b * step` and later; the last row is of no terms."""
    n_rows = (len(terms) + step - 1) // step + 1
    rows = np.zeros((n_rows, longest + 1))
    current = np.zeros(longest + 1)
    current[0] = 1.0
    rows[n_rows - 1] = current
    for rank in range(len(terms) - 1, -1, -1):
        add_term(current, terms[rank])
        if rank % step == 0:
            rows[rank // step] = current
    return rows


def _first_shares(workload: Workload, lengths: Floats) -> Floats:
    """For each term, the share of subscriptions (weighted by `lengths`) whose first term by rank it is."""
    shares: Floats = _weighted_suffixes(workload.terms, path_weights(workload, lengths)[0])
    return shares


@njit(cache=True)
def _weighted_suffixes(terms: Floats, weights: Floats) -> Floats:
    """P(t) times the sum over r of `weights[r]` D_r(later than t), for every term t."""
    sums = np.empty(len(terms))
    current = np.zeros(len(weights))
    current[0] = 1.0
    for rank in range(len(terms) - 1, -1, -1):
        total = 0.0
        for r in range(len(weights)):
            total += weights[r] * current[r]
        sums[rank] = terms[rank] * total
        add_term(current, terms[rank])
    return sums
