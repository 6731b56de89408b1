"""The kdᵗ-tree: regions split in two by lines of a lattice, whose leaves belong to a matcher or are split by text.

It says how a plan came about (PS²Stream, §IV-B); routers read the gridᵗ made of it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidegate.errors import ConfigError
from tidegate.route.places.grid_t import GridT
from tidegate.route.places.lattice import Lattice

COLUMNS, ROWS = 0, 1
"""The axes: a split along `COLUMNS` has a west and an east side, one along `ROWS` a south and a north side."""


class Region(NamedTuple):
    """Cells from (column, row) `west`, `south` up to but without `east`, `north`."""

    west: int
    south: int
    east: int
    north: int

    def halves(self, axis: int, line: int) -> "tuple[Region, Region]":
        """Return what is before and what is behind a line."""
        if axis == COLUMNS:
            return self._replace(east=line), self._replace(west=line)
        return self._replace(north=line), self._replace(south=line)


@dataclass(frozen=True)
class Leaf:
    """A region that one matcher has, or that is shared out by text."""

    region: Region
    owner: int | NDArray[np.int16]
    """The matcher, or a term map: the matcher by term."""


@dataclass(frozen=True)
class Split:
    """A region in two halves."""

    axis: int
    line: int
    """The first column or row of the upper half."""
    lower: "Split | Leaf"
    upper: "Split | Leaf"


@dataclass(frozen=True)
class KdTTree:
    """A plan for some matchers: every cell of the lattice is in one leaf."""

    lattice: Lattice
    matchers: int
    n_terms: int
    root: Split | Leaf

    def leaves(self) -> Iterator[Leaf]:
        """Yield the leaves, the lower half of a split first."""
        waiting = [self.root]
        while waiting:
            node = waiting.pop()
            if isinstance(node, Leaf):
                yield node
            else:
                waiting += [node.upper, node.lower]

    def leaf_at(self, column: int, row: int) -> Leaf:
        """Return the leaf of a cell, from the root down."""
        node = self.root
        while isinstance(node, Split):
            node = node.lower if (column, row)[node.axis] < node.line else node.upper
        return node

    def grid(self, columns: int | None = None, rows: int | None = None) -> GridT:
        """Return the plan for routers, on the tree's own lattice or one whose lines include its lines."""
        columns, rows = columns or self.lattice.columns, rows or self.lattice.rows
        if columns % self.lattice.columns or rows % self.lattice.rows:
            raise ConfigError(
                f"{columns} x {rows} cells for a tree over {self.lattice.columns} x {self.lattice.rows}: "
                "take multiples, so that every leaf is made of whole cells"
            )
        wide, high = columns // self.lattice.columns, rows // self.lattice.rows
        where = np.empty((rows, columns), np.int32)
        maps: list[NDArray[np.int16]] = []
        for leaf in self.leaves():
            west, south, east, north = leaf.region
            if isinstance(leaf.owner, np.ndarray):
                maps.append(leaf.owner)
            inside = -len(maps) if isinstance(leaf.owner, np.ndarray) else leaf.owner
            where[south * high : north * high, west * wide : east * wide] = inside
        term_maps = np.array(maps, np.int16).reshape(len(maps), self.n_terms)
        return GridT(self.lattice.bounds, columns, rows, self.matchers, self.n_terms, where.ravel(), term_maps)
