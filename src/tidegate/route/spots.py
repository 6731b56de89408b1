"""Spots: where keys lead that count only in one cell, for the conjunctions that live by their place.

A conjunction is filed in every cell that its boxes overlap, under its rarest term; a post is asked for its terms in its
own cell alone. One without a place, or with none of these terms, goes nowhere (H₂ of PS²Stream, §IV-C).
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidegate.csr import Int32, Int64
from tidegate.index.boxes import box_rows, smallest_boxes
from tidegate.kernels import njit
from tidegate.query.conjunction import Conjunction
from tidegate.route.place_map import PlaceMap
from tidegate.route.places.heard import KEY_BITS, Heard, hashed_keys, slot_of
from tidegate.route.places.lattice import Lattice

MOST_CELLS: Final = 256
"""A conjunction that overlaps more cells than this lives by its words, as if it wanted no place: they say more."""

_NOWHERE: Final = Lattice((-180.0, -90.0, 180.0, 90.0), 1, 1)


class Filed(NamedTuple):
    """Conjunctions that live by their place."""

    conjunction_of: Int64
    """By pair of a conjunction and a cell that it overlaps: its number among all conjunctions."""
    cells: Int32
    """By pair."""


def filed(conjunctions: Sequence[Conjunction], places: PlaceMap | None) -> Filed:
    """Return which conjunctions live by their place, and in which cells; none at all if a plan has no places."""
    if places is None:
        return Filed(np.empty(0, np.int64), np.empty(0, np.int32))
    placed = [number for number, one in enumerate(conjunctions) if one.regions]
    boxes = [smallest_boxes(conjunctions[number].regions) for number in placed]
    of_box = np.repeat(np.array(placed, np.int64), [len(some) for some in boxes])
    spans = places.lattice.spans(box_rows(boxes))
    wide, high = spans[:, 2] - spans[:, 0] + 1, spans[:, 3] - spans[:, 1] + 1
    narrow = np.bincount(of_box, wide.astype(np.int64) * high, len(conjunctions))[of_box] <= MOST_CELLS
    under = places.lattice.cells_under_spans(spans[narrow])
    # The boxes of one conjunction may overlap the same cell.
    pairs = np.unique(np.repeat(of_box[narrow], np.diff(under.offsets)) << KEY_BITS | under.values)
    return Filed(pairs >> KEY_BITS, (pairs & ((1 << KEY_BITS) - 1)).astype(np.int32))


class Spots(NamedTuple):
    """What the kernel of a router reads."""

    lattice: Lattice
    heard: Heard
    """The cells and keys that lead anywhere."""
    matchers: Int32
    """By place in the table of `heard`: where the key leads in the cell."""
    weights: Int64
    """By place in that table: how many subscriptions are reached."""

    @classmethod
    def none(cls) -> "Spots":
        """Where nothing lives by its place."""
        return cls(_NOWHERE, hashed_keys(np.empty(0, np.int64)), np.zeros(0, np.int32), np.zeros(0, np.int64))

    @classmethod
    def of(cls, lattice: Lattice, cells: Int32, keys: Int64, matchers: Int32, weights: Int64) -> "Spots":
        """Return the spots of distinct pairs of a cell and a key, each with its matcher and weight."""
        if len(cells) == 0:
            return cls.none()
        heard = hashed_keys(cells.astype(np.int64) << KEY_BITS | keys)
        spots = cls(lattice, heard, np.zeros(len(heard.table), np.int32), np.zeros(len(heard.table), np.int64))
        _fill(spots, cells, keys, matchers, weights)
        return spots

    @property
    def size(self) -> int:
        """How many places the table has: 0 if there are no spots."""
        return len(self.matchers)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What `read` reads."""
        return {
            "spots.bounds": np.array(self.lattice.bounds),
            "spots.sides": np.array([self.lattice.columns, self.lattice.rows]),
            "spots.table": self.heard.table,
            "spots.matchers": self.matchers,
            "spots.weights": self.weights,
        }

    @classmethod
    def read(cls, arrays: Mapping[str, NDArray[Any]]) -> "Spots":
        """Return what was kept as `arrays`."""
        west, south, east, north = arrays["spots.bounds"].tolist()
        columns, rows = arrays["spots.sides"].tolist()
        lattice = Lattice((west, south, east, north), columns, rows)
        return cls(lattice, Heard(arrays["spots.table"]), arrays["spots.matchers"], arrays["spots.weights"])


@njit(cache=True, nogil=True)
def _fill(spots: Spots, cells: Int32, keys: Int64, matchers: Int32, weights: Int64) -> None:
    for i in range(len(cells)):
        slot = slot_of(spots.heard, cells[i], keys[i])
        spots.matchers[slot], spots.weights[slot] = matchers[i], weights[i]
