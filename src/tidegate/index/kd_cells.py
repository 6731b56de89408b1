"""Cells that adapt to density: a complete binary tree of splits at medians, so that every cell holds as many places.

The leaves are numbered from left to right, so a coarser cell is a leaf's number without its last bits: one tree serves
every granularity, and where a post lies is looked up once.
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidegate.csr import Int32, Int64
from tidegate.index.placed import EAST, NORTH, SOUTH, WEST, Degrees
from tidegate.kernels import njit

NOWHERE: Final = -1
_MOST_LEVELS: Final = 14
_PER_LEAF: Final = 8
"""Boxes for every leaf. Sets are cut less finely, so more leaves would not be used."""
_SAMPLE: Final = 1 << 17
"""Places that the splits are learned from: more move them by less than a cell."""


class KdCells(NamedTuple):
    """`splits[node]` divides a node: below it is the left child, `2 * node + 1`; the other one is the right."""

    splits: Degrees
    """Of all nodes but the leaves."""
    is_lat: NDArray[np.uint8]
    """Whether a split is a latitude, and not a longitude: whichever the node's places differ in more."""
    levels: int

    @classmethod
    def learned(cls, boxes: Degrees) -> "KdCells":
        """Split the middles of these boxes evenly, the more often the more there are."""
        levels = min(max(len(boxes) // _PER_LEAF, 1).bit_length(), _MOST_LEVELS)
        if len(boxes) > _SAMPLE:
            boxes = boxes[np.random.default_rng(0).choice(len(boxes), _SAMPLE, replace=False)]
        boxes = np.clip(boxes, -360.0, 360.0)  # sides may be infinite, and such a box has no middle
        lat, lon = (boxes[:, SOUTH] + boxes[:, NORTH]) / 2, (boxes[:, WEST] + boxes[:, EAST]) / 2
        splits, is_lat = np.zeros(2**levels - 1), np.zeros(2**levels - 1, np.uint8)
        node = np.zeros(len(lat), np.int64)
        for _ in range(levels if len(lat) else 0):
            order = np.argsort(node, kind="stable")
            nodes, first = np.unique(node[order], return_index=True)
            height, width = (_extents(degrees[order], first) for degrees in (lat, lon))
            is_lat[nodes] = height > width * np.cos(np.radians(lat[order[first]]))
            coordinate = np.where(is_lat[node] == 1, lat, lon)
            order = np.lexsort((coordinate, node))
            splits[nodes] = coordinate[order[first + np.diff(first, append=len(node)) // 2]]
            node = 2 * node + 1 + (coordinate >= splits[node])
        return cls(splits, is_lat, levels)

    def leaves(self, lat: Degrees, lon: Degrees) -> Int32:
        """Return the leaf of every point, `NOWHERE` for NaN."""
        leaves: Int32 = leaves_of(self, lat, lon)
        return leaves


def _extents(degrees: Degrees, first: Int64) -> Degrees:
    """How far apart the numbers are between every two places in `first`."""
    extents: Degrees = np.maximum.reduceat(degrees, first) - np.minimum.reduceat(degrees, first)
    return extents


@njit(cache=True, nogil=True)
def leaves_of(cells: KdCells, lat: Degrees, lon: Degrees) -> Int32:
    """Return the leaf that holds each point, `NOWHERE` for NaN."""
    splits, is_lat = cells.splits, cells.is_lat
    nodes = np.zeros(len(lat), np.uint32)
    # Level by level: a point waits for a split, and meanwhile others go on.
    for _ in range(cells.levels):
        for i in range(len(lat)):
            node = np.uint64(nodes[i])
            is_right = (lat[i] >= splits[node]) & (is_lat[node] == 1) | (lon[i] >= splits[node]) & (is_lat[node] == 0)
            nodes[i] = np.uint32(2 * node + 1 + is_right)
    leaves = np.empty(len(lat), np.int32)
    for i in range(len(lat)):
        leaves[i] = NOWHERE if np.isnan(lat[i]) or np.isnan(lon[i]) else np.int64(nodes[i]) - len(splits)
    return leaves


@njit(cache=True, nogil=True)
def reaches(cells: KdCells, node: int, box: Degrees) -> tuple[bool, bool]:
    """Tell whether a box that overlaps a node reaches into its left and its right half."""
    split = cells.splits[node]
    if cells.is_lat[node]:
        return box[SOUTH] < split, box[NORTH] >= split
    return box[WEST] < split, box[EAST] >= split
