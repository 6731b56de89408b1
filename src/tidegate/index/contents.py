"""What an index of *distinct* queries holds: unbiased estimates for workloads too large to enumerate.

The exact models count every subscription; popular queries repeat, and an index holds each of them once. Say
each of n subscriptions asks for a thing (a set, a trie node) with probability q. If it is counted with weight
(1 - (1 - q)^n) / q whenever a random subscription asks for it, its mean count is its chance to be held.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import factorial

import numpy as np
from numpy.typing import NDArray

from tidegate.errors import ConfigError
from tidegate.index.models import Floats, Workload, item_membership, occupied
from tidegate.index.trie_models import TrieModel

_SAMPLE = 20_000
# Subscriptions are sampled by rejection; with a smaller share of accepted draws that is not a method.
_LEAST_ACCEPTED = 1e-3


@dataclass(frozen=True)
class Contents:
    """Expected contents of the indexes, and what a random item reads of the lists."""

    sets: float
    """Distinct queries."""
    occurrences: float
    """Their terms, summed."""
    trie_nodes: float
    """Nodes of the ordered trie in frequency order."""
    pairs: float
    """Distinct pairs of rarest terms: depth two of the rarest-first trie."""
    tail_terms: float
    """Terms beyond the pair, summed."""
    postings_read: float
    """Postings in the counting lists of an item's terms."""
    keyed_terms_read: float
    """Terms in the ranked-key lists of an item's terms."""


def estimate_contents(workload: Workload, sample: int = _SAMPLE, seed: int = 0) -> Contents:
    """Estimate from `sample` random subscriptions; the standard error is about 1 %."""
    n = workload.subscriptions
    in_item = item_membership(workload)
    frequency, reverse = TrieModel(workload), TrieModel(workload, "reverse")
    totals = np.zeros(7)
    for sets in sample_sets(workload, sample, np.random.default_rng(seed)):
        length = sets.shape[1]
        product = workload.terms[sets].prod(axis=1)
        share = workload.lengths[length] * factorial(length) / workload.distinct[length] * product
        kept = _chance_to_count(share, n)
        nodes = _chance_to_count(frequency.prefix_shares(sets), n)
        pairs = _chance_to_count(reverse.prefix_shares(sets)[:, 1:2], n)
        totals += [
            kept.sum(),
            length * kept.sum(),
            nodes.sum(),
            pairs.sum(),
            max(length - 2, 0) * kept.sum(),
            (kept * in_item[sets].sum(axis=1)).sum(),
            (kept * length * in_item[sets[:, -1]]).sum(),
        ]
    return Contents(*(totals * (n / sample)).tolist())


def sample_sets(workload: Workload, sample: int, generator: np.random.Generator) -> Iterator[NDArray[np.int64]]:
    """Yield `sample` random subscriptions, one array for each length: rows of ascending ranks."""
    if workload.distinct[workload.longest] < _LEAST_ACCEPTED:
        raise ConfigError(
            f"subscriptions of {workload.longest} distinct terms from this law of {len(workload.terms):,} "
            "terms cannot be sampled: use shorter ones, more terms, or a flatter law"
        )
    counts = generator.multinomial(sample, workload.lengths / workload.lengths.sum())
    for length in np.flatnonzero(counts).tolist():
        rows = np.zeros((counts[length], length), dtype=np.int64)
        repeated = np.arange(len(rows))
        while len(repeated):  # drawn anew as a whole: the law of the models
            rows[repeated] = np.sort(_draws(workload.terms, (len(repeated), length), generator), axis=1)
            repeated = repeated[(np.diff(rows[repeated], axis=1) == 0).any(axis=1)]
        yield rows


def sample_items(workload: Workload, sample: int, generator: np.random.Generator) -> NDArray[np.int64]:
    """Random items of the mean length, as rows of ascending ranks."""
    rows = np.full((sample, round(workload.item_length)), -1, dtype=np.int64)
    missing = rows < 0
    while missing.any():  # only repeated terms are drawn anew: an item may hold most of a small vocabulary
        rows[missing] = _draws(workload.item_terms, (int(missing.sum()),), generator)
        rows.sort(axis=1)
        missing[:, 1:] = np.diff(rows, axis=1) == 0
        missing[:, 0] = False
    return rows


def _draws(law: Floats, shape: tuple[int, ...], generator: np.random.Generator) -> NDArray[np.int64]:
    cumulated = np.cumsum(law)
    points = generator.random(shape) * cumulated[-1]
    drawn: NDArray[np.int64] = np.searchsorted(cumulated, points, side="right")
    return drawn


def _chance_to_count(share: Floats, subscriptions: int) -> Floats:
    weights: Floats = occupied(share, subscriptions) / (subscriptions * share)
    return weights
