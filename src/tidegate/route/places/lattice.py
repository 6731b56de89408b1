"""A lattice of equal cells over a part of the earth: where points fall and what boxes overlap.

Points outside fall in the nearest border cell, and so do the parts of boxes that reach outside: every point of a box
is in a cell that the box overlaps, wherever both are.
"""

from typing import Any, NamedTuple

import numpy as np

from tidegate.csr import Csr, Int32
from tidegate.errors import ConfigError
from tidegate.index.placed import EAST, NORTH, SOUTH, WEST, Degrees
from tidegate.kernels import njit

Bounds = tuple[float, float, float, float]

SIDE = 2**6
"""Cells a side, unless told otherwise (PS²Stream, §VI-B)."""


class Lattice(NamedTuple):
    """Cells are numbered by row from the south-west corner: `row * columns + column`."""

    bounds: Bounds
    """West, south, east, north."""
    columns: int
    rows: int

    @property
    def cells(self) -> int:
        """The number of cells."""
        return self.columns * self.rows

    def cells_of(self, lat: Degrees, lon: Degrees) -> Int32:
        """Return the cell of each point, -1 where there is none."""
        return _cells_of(self, lat, lon)  # type: ignore[no-any-return]

    def spans(self, boxes: Degrees) -> Int32:
        """Return the cells of each box as four columns: first column and row, last column and row."""
        return _spans(self, boxes)  # type: ignore[no-any-return]

    def cells_under(self, boxes: Degrees) -> Csr:
        """Return the cells that each box overlaps, rising."""
        return self.cells_under_spans(self.spans(boxes))

    def cells_under_spans(self, spans: Int32) -> Csr:
        """Return the cells that boxes of these spans overlap, rising."""
        return Csr(*_cells_under(spans, self.columns))


def checked_lattice(lattice: Lattice) -> Lattice:
    """Return the lattice, or refuse one without cells or without extent."""
    west, south, east, north = lattice.bounds
    if not (west < east and south < north and np.isfinite(lattice.bounds).all()):
        raise ConfigError(f"bounds {lattice.bounds} hold nothing: the order is west, south, east, north")
    if lattice.columns < 1 or lattice.rows < 1 or lattice.cells >= 2**31:
        raise ConfigError(f"{lattice.columns} x {lattice.rows} cells: at least one, and fewer than {2**31}")
    return lattice


@njit(cache=True, nogil=True)
def step(position: float, low: float, high: float, steps: int) -> int:
    """Return which of `steps` equal steps from `low` to `high` a position is in; the outermost have no end.

    Monotone in `position`, rounding included, which is what makes routing exact.
    """
    share = (position - low) * (steps / (high - low))
    if not share >= 1.0:  # far below, the share may be no number that fits an integer
        return 0
    return steps - 1 if share >= steps else int(share)


@njit(cache=True, nogil=True)
def cell_of(lattice: Lattice, lat: float, lon: float) -> int:
    """Return the cell of a point, -1 if it is none."""
    if np.isnan(lat) or np.isnan(lon):
        return -1
    west, south, east, north = lattice.bounds
    return step(lat, south, north, lattice.rows) * lattice.columns + step(lon, west, east, lattice.columns)  # type: ignore[no-any-return]


@njit(cache=True, nogil=True)
def _cells_of(lattice: Lattice, lat: Degrees, lon: Degrees) -> Int32:
    cells = np.empty(len(lat), np.int32)
    for i in range(len(lat)):
        cells[i] = cell_of(lattice, lat[i], lon[i])
    return cells


@njit(cache=True, nogil=True)
def _spans(lattice: Lattice, boxes: Degrees) -> Int32:
    west, south, east, north = lattice.bounds
    spans = np.empty((len(boxes), 4), np.int32)
    for i in range(len(boxes)):
        spans[i, 0] = step(boxes[i, WEST], west, east, lattice.columns)
        spans[i, 1] = step(boxes[i, SOUTH], south, north, lattice.rows)
        spans[i, 2] = step(boxes[i, EAST], west, east, lattice.columns)
        spans[i, 3] = step(boxes[i, NORTH], south, north, lattice.rows)
    return spans


@njit(cache=True, nogil=True)
def _cells_under(spans: Int32, columns: int) -> Any:
    offsets = np.zeros(len(spans) + 1, np.int64)
    for i in range(len(spans)):
        width, height = spans[i, 2] - spans[i, 0] + 1, spans[i, 3] - spans[i, 1] + 1
        offsets[i + 1] = offsets[i] + np.int64(width) * height
    cells = np.empty(offsets[-1], np.int32)
    for i in range(len(spans)):
        k = offsets[i]
        for row in range(spans[i, 1], spans[i, 3] + 1):
            for column in range(spans[i, 0], spans[i, 2] + 1):
                cells[k] = row * columns + column
                k += 1
    return offsets, cells
