"""A grid being changed, cell by cell, and what each change does to the loads of the matchers."""

from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np

from tidegate.csr import Int32, Int64
from tidegate.route.places.counts import DEFINITION_3, Counts, Weights
from tidegate.route.places.grid_t import GridT
from tidegate.route.places.migration import Loads


class Draft:
    """A grid being changed, and what that does to the loads; parts are the pairs of a cell and a matcher."""

    def __init__(self, grid: GridT, counts: Counts, weights: Weights) -> None:
        """Start with the grid as it is."""
        n_terms = max(grid.n_terms, int(counts.terms.max(initial=-1)) + 1)
        self.base, self.counts, self.weights = _widened(grid, n_terms), counts, weights
        self.where = grid.where.copy()
        # Maps are never changed, only added: cells share them.
        self.maps = list(self.base.maps)
        self.starts = np.searchsorted(counts.cells, np.arange(len(grid.where) + 1))
        self.owners = _owners(self.base, counts.cells, counts.terms)
        self.sums = np.zeros((3, len(grid.where), grid.matchers))
        """By part, over its terms: the `absence`, the conjunctions, and the checks against them."""
        self.loads = np.zeros((len(grid.where), grid.matchers))
        self._weigh(0, len(grid.where))

    def copy(self) -> "Draft":
        """Return a draft to try something on."""
        other = copy(self)
        other.where, other.owners, other.maps = self.where.copy(), self.owners.copy(), self.maps.copy()
        other.sums, other.loads = self.sums.copy(), self.loads.copy()
        return other

    @property
    def totals(self) -> Loads:
        """By matcher, its load."""
        return np.asarray(self.loads.sum(axis=0))

    def keys(self, cell: int) -> slice:
        """Where the counts of a cell are."""
        return slice(self.starts[cell], self.starts[cell + 1])

    def sizes(self, matcher: int) -> Int64:
        """By cell, the bytes that a matcher has of it."""
        own = self.owners == matcher
        return np.bincount(self.counts.cells[own], self.counts.nbytes[own], len(self.where)).astype(np.int64)

    def give(self, cell: int, source: int, target: int) -> None:
        """Let the target have what the source has of a cell."""
        self.give_all(np.array([cell]), source, target)

    def give_all(self, cells: Int64, source: int, target: int) -> None:
        """Let the target have what the source has of these cells."""
        here = self.where[cells]
        for number in np.unique(here[here < 0]):
            self.maps.append(np.where(self.maps[-1 - number] == source, target, self.maps[-1 - number]))
            self.where[cells[here == number]] = -len(self.maps)
        self.where[cells[here == source]] = target
        for cell in cells:
            owners = self.owners[self.keys(cell)]
            owners[owners == source] = target
            self._weigh(cell, cell + 1)

    def loads_if_given(self, cells: Int64, source: int, target: int) -> Loads:
        """Return by cell what the target would have of it, if it had what the source has too."""
        sums = self.sums[:, cells]
        sums[:, :, target] += sums[:, :, source]
        sums[:, :, source] = 0.0
        posts = reached(self.counts.visitors[cells, np.newaxis], sums[0])
        return np.asarray(self.weights.load(posts, sums[1], sums[2])[:, target])

    def split(self, cell: int, terms: Int32, target: int) -> None:
        """Share out a cell by text: these terms go to the target, all others stay."""
        here = self.where[cell]
        term_map = np.full(self.base.n_terms, here, np.int16) if here >= 0 else self.maps[-1 - here].copy()
        term_map[terms] = target
        self.maps.append(term_map)
        self.where[cell] = -len(self.maps)
        self.owners[self.keys(cell)] = term_map[self.counts.terms[self.keys(cell)]]
        self._weigh(cell, cell + 1)

    def grid(self) -> GridT:
        """Return the grid as it is now, with the maps that cells use."""
        shared = self.where < 0
        used, number = np.unique(-1 - self.where[shared], return_inverse=True)
        where = self.where.copy()
        where[shared] = -1 - number
        maps = np.array([self.maps[k] for k in used], np.int16).reshape(len(used), self.base.n_terms)
        return replace(self.base, where=where, maps=maps)

    def _weigh(self, first: int, end: int) -> None:
        """Bring the loads of some cells up to date."""
        keys = slice(self.starts[first], self.starts[end])
        seen, matchers = self.counts, self.loads.shape[1]
        parts = (seen.cells[keys].astype(np.int64) - first) * matchers + self.owners[keys]

        def summed(values: Any) -> Any:
            return np.bincount(parts, values, (end - first) * matchers).reshape(-1, matchers)

        filed, checks = seen.conjunctions[keys], seen.posts[keys] * seen.conjunctions[keys]
        self.sums[:, first:end] = [summed(values) for values in (absence(seen, keys), filed, checks)]
        lacking, conjunctions, checks = self.sums[:, first:end]
        visitors = seen.visitors[first:end, np.newaxis]
        is_whole = self.where[first:end, np.newaxis] >= 0
        posts = np.where(is_whole, visitors * (conjunctions > 0), reached(visitors, lacking))
        self.loads[first:end] = self.weights.load(posts, conjunctions, checks)


def matcher_loads(grid: GridT, counts: Counts, weights: Weights = DEFINITION_3) -> Loads:
    """Return the load of each matcher: the sum over its cells and parts of cells."""
    return Draft(grid, counts, weights).totals


def is_balanced(loads: Loads, sigma: float) -> bool:
    """Whether no matcher has more than `sigma` times the load of another."""
    return bool(loads.max() <= sigma * loads.min())


def absence(seen: Counts, keys: Any) -> Loads:
    """Return the logarithm of the share of its cell's posts that do not have each term."""
    visitors = np.maximum(seen.visitors[seen.cells[keys]], 1)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log1p(-seen.posts[keys] / visitors))


def reached(visitors: Any, lacking: Any) -> Any:
    """Return how many posts have one of the terms of each part of a cell; the parts of a cell are along the last axis.

    `lacking` is the sum of the `absence` of a part's terms. As if terms were independent, but for what is known: each
    of the cell's posts is in some part, and in one at most once. Whole numbers, so that loads add up.
    """
    posts = -visitors * np.expm1(lacking)
    missed = visitors / np.maximum(posts.sum(axis=-1, keepdims=True), 1.0)
    return np.rint(np.minimum(posts * np.maximum(missed, 1.0), visitors))


def _owners(grid: GridT, cells: Int32, terms: Int32) -> Int32:
    """Return the matcher of what is filed in these cells under these terms, which all maps know."""
    owners = grid.where[cells]
    shared = owners < 0
    owners[shared] = grid.maps[-1 - owners[shared], terms[shared]]
    return owners


def _widened(grid: GridT, n_terms: int) -> GridT:
    """Return the same grid with maps of so many terms; all homes stay."""
    rest = (np.arange(grid.n_terms, n_terms) % grid.matchers).astype(np.int16)
    maps = np.hstack((grid.maps, np.broadcast_to(rest, (len(grid.maps), len(rest)))))
    return replace(grid, n_terms=n_terms, maps=maps)
