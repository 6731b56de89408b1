"""From counted steps to nanoseconds, and from counted entries to bytes (EDBT paper, §3.1 to §3.3).

Matching one item, or building, takes some number of steps of each kind; a step of a kind takes its tau. The taus
belong to a machine and an implementation: `fit_taus` and `fit_build_taus` find them from measured times.
"""

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from tidegate.errors import ConfigError
from tidegate.index.models import (
    Floats,
    Workload,
    item_membership,
    keyed_sizes,
    keyed_terms,
    posting_sizes,
    subscribed_terms,
)
from tidegate.index.trie_models import TrieModel


class Taus(NamedTuple):
    """Nanoseconds a step takes, by kind of step.

    The defaults were fitted by the benchmark `index` to 1 to 10 million subscriptions, with the term law of the
    items and with a uniform one. Among the larger, trie nodes miss the caches and take about twice as long.
    """

    copy: float = 0.32
    """Copying one counter (counting lists)."""
    decrement: float = 1.7
    """Decrementing one counter."""
    check: float = 2.2
    """Checking one term of a listed subscription (ranked-key lists)."""
    sort: float = 5.3
    """One of m log m steps of sorting an item's terms."""
    node: float = 150.0
    """Visiting one trie node."""
    probe: float = 1.0
    """Asking whether a pair of terms is filed (flat)."""
    hit: float = 43.0
    """Reading a pair that is filed, or the rest of a set below it."""


DEFAULT_TAUS = Taus()


class Steps(NamedTuple):
    """How many steps of each kind one item takes; fields as in `Taus`."""

    copy: float = 0.0
    decrement: float = 0.0
    check: float = 0.0
    sort: float = 0.0
    node: float = 0.0
    probe: float = 0.0
    hit: float = 0.0

    def nanoseconds(self, taus: Taus = DEFAULT_TAUS) -> float:
        """The time these steps take.

        >>> Steps(sort=10, node=100).nanoseconds(Taus(sort=5, node=20))
        2050.0
        """
        return float(np.dot(self, taus))


class BuildTaus(NamedTuple):
    """Nanoseconds a step of building takes, by kind of step.

    The defaults were fitted to the benchmark `index` at 10 million subscriptions, which they meet within 1 %. Among a
    tenth as many, steps take a half to two thirds of that.
    """

    post: float = 15.0
    """Adding one term of a subscription to its list (counting lists)."""
    sort: float = 93.0
    """One of k log k steps of ordering a subscription's terms, and ordering it among the others."""
    node: float = 114.0
    """Following or making one trie node; ours orders the sets anew for that, most frequent terms first."""


DEFAULT_BUILD_TAUS = BuildTaus()


class BuildSteps(NamedTuple):
    """How many steps of each kind building takes; fields as in `BuildTaus`."""

    post: float = 0.0
    sort: float = 0.0
    node: float = 0.0

    def nanoseconds(self, taus: BuildTaus = DEFAULT_BUILD_TAUS) -> float:
        """The time these steps take.

        >>> BuildSteps(sort=10, node=4).nanoseconds(BuildTaus(sort=50, node=20))
        580.0
        """
        return float(np.dot(self, taus))


class Weights(NamedTuple):
    """Bytes of a counter, a dictionary entry, a posting entry and a trie node: w(c), w(v), w(p), w(n)."""

    counter: float = 1.0
    term: float = 8.0
    posting: float = 4.0
    node: float = 12.0


DEFAULT_WEIGHTS = Weights()


def counting_steps(workload: Workload, item: ArrayLike | None = None) -> Steps:
    """Counting lists (CIL): for the item with these term ranks, or for a random one."""
    return Steps(copy=workload.subscriptions, decrement=_read(posting_sizes(workload), workload, item))


def ranked_key_steps(workload: Workload, item: ArrayLike | None = None) -> Steps:
    """Ranked-key lists (RIL): for the item with these term ranks, or for a random one."""
    return Steps(sort=_sorting(workload, item), check=_read(keyed_sizes(workload), workload, item))


def trie_steps(workload: Workload, model: TrieModel, item: ArrayLike) -> Steps:
    """Ordered trie (ROT, eq 11), for the item with these term ranks."""
    return Steps(sort=_sorting(workload, item), node=model.visits(item))


def counting_bytes(workload: Workload, weights: Weights = DEFAULT_WEIGHTS) -> float:
    """Expected size of counting lists (CIL, eqs 2 to 4), every subscription held."""
    return (
        workload.subscriptions * (weights.counter + workload.mean_length * weights.posting)
        + subscribed_terms(workload) * weights.term
    )


def ranked_key_bytes(workload: Workload, weights: Weights = DEFAULT_WEIGHTS) -> float:
    """Expected size of ranked-key lists (RIL, eqs 4 and 6), every subscription held."""
    return workload.subscriptions * workload.mean_length * weights.posting + keyed_terms(workload) * weights.term


def trie_bytes(nodes: float, weights: Weights = DEFAULT_WEIGHTS) -> float:
    """Size of an ordered trie (ROT, eq 10); its nodes from `TrieModel` or `estimate_contents`."""
    return nodes * weights.node


def build_steps(workload: Workload) -> dict[str, BuildSteps]:
    """Steps to insert one subscription (§3.1), by index: O(k) for counting lists, else O(k log k).

    Ranked-key lists and tries order its terms first; a trie then follows them from node to node.
    """
    k = np.arange(len(workload.lengths))
    ordering = float(workload.lengths @ (k * np.log2(np.maximum(k, 2))))
    return {
        "counting": BuildSteps(post=workload.mean_length),
        "ranked-key": BuildSteps(sort=ordering),
        "ordered-trie": BuildSteps(sort=ordering, node=workload.mean_length),
    }


def fit_taus(steps: Sequence[Steps], nanoseconds: ArrayLike, known: Taus = DEFAULT_TAUS) -> Taus:
    """Fit the taus, none negative, to measured times by least squares of the *relative* error.

    A kind of step that no measurement takes keeps its `known` tau.
    """
    return Taus(*_fitted(steps, nanoseconds, known))


def fit_build_taus(
    steps: Sequence[BuildSteps], nanoseconds: ArrayLike, known: BuildTaus = DEFAULT_BUILD_TAUS
) -> BuildTaus:
    """Fit the taus of building to measured times, as `fit_taus` does."""
    return BuildTaus(*_fitted(steps, nanoseconds, known))


def _fitted(steps: Sequence[Sequence[float]], nanoseconds: ArrayLike, known: Sequence[float]) -> list[float]:
    counts, times = np.array(steps, dtype=np.float64), np.asarray(nanoseconds, dtype=np.float64)
    if counts.ndim != 2 or len(counts) != len(times) or not (times > 0).all():
        raise ConfigError(f"{len(steps)} counts and {times.size} times: give one positive time for each count")
    scaled = counts / times[:, None]
    taken = np.flatnonzero(counts.any(axis=0)).tolist()
    best, least = np.zeros(len(known)), float(len(times))
    # The optimum has some taus at zero and is unconstrained in the others: of at most seven, try every choice.
    for size in range(1, len(taken) + 1):
        for free in map(list, combinations(taken, size)):
            solution = np.linalg.lstsq(scaled[:, free], np.ones(len(times)), rcond=None)[0]
            error = float(((scaled[:, free] @ solution - 1.0) ** 2).sum())
            if (solution >= 0).all() and error < least:
                best, least = np.zeros(len(known)), error
                best[free] = solution
    return [float(best[i]) if i in taken else tau for i, tau in enumerate(known)]


def _read(sizes: Floats, workload: Workload, item: ArrayLike | None) -> float:
    if item is None:
        return float(item_membership(workload) @ sizes)
    return float(sizes[np.asarray(item)].sum())


def _sorting(workload: Workload, item: ArrayLike | None) -> float:
    length = workload.item_length if item is None else float(np.size(item))
    return float(length * np.log2(max(length, 1.0)))
