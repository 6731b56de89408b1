"""Text partitionings: one term map for all places (baselines of PS²Stream, §VI-B)."""

import numpy as np

from tidegate.csr import Int32, Int64
from tidegate.index.strings import strings
from tidegate.kernels import njit
from tidegate.route.greedy import greedy_owners
from tidegate.route.hypergraph import hypergraph_owners
from tidegate.route.maps import Learner
from tidegate.route.places.grid_t import GridT
from tidegate.route.places.sampled import Sampled, Settings
from tidegate.route.sample import Sample


def frequency(sampled: Sampled, matchers: int, settings: Settings) -> GridT:
    """Give terms by falling frequency in posts each to the matcher with the lowest sum of frequencies."""
    counts = np.bincount(sampled.live.values, minlength=sampled.n_terms)
    order = np.argsort(-counts, kind="stable")
    owners = np.empty(sampled.n_terms, np.int32)
    owners[order] = _to_the_least_loaded(counts[order], matchers)
    return _everywhere(sampled, matchers, owners)


def hypergraph(sampled: Sampled, matchers: int, settings: Settings) -> GridT:
    """Cut the hypergraph of terms, whose edges are posts, so that few posts visit several matchers."""
    return _everywhere(sampled, matchers, _learned(hypergraph_owners, sampled, matchers))


def metric(sampled: Sampled, matchers: int, settings: Settings) -> GridT:
    """Give terms by falling frequency each to where the loads stay most even: the greedy word map of S³-TM (SALB)."""
    return _everywhere(sampled, matchers, _learned(greedy_owners, sampled, matchers))


def _learned(learner: Learner, sampled: Sampled, matchers: int) -> Int32:
    """Return the owner of every term; those that no post has are spread by their rank."""
    names = strings([f"{term:010}" for term in range(sampled.n_terms)])
    sample, terms = Sample.renumbered(sampled.live, names)
    owners = np.arange(sampled.n_terms, dtype=np.int32) % matchers
    owners[terms] = learner(sample, matchers)
    return owners


def _everywhere(sampled: Sampled, matchers: int, owners: Int32) -> GridT:
    lattice = sampled.lattice
    where = np.full(lattice.cells, -1, np.int32)
    maps = owners.astype(np.int16).reshape(1, -1)
    return GridT(lattice.bounds, lattice.columns, lattice.rows, matchers, sampled.n_terms, where, maps)


@njit(cache=True, nogil=True)
def _to_the_least_loaded(weights: Int64, matchers: int) -> Int32:
    owners = np.empty(len(weights), np.int32)
    loads = np.zeros(matchers, np.int64)
    for i in range(len(weights)):
        owners[i] = np.argmin(loads)
        # A term of no weight in the sample is a term all the same.
        loads[owners[i]] += max(weights[i], 1)
    return owners
