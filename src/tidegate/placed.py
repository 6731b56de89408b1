"""Conjunctions with a box, and posts with a point: words and places, as arrays that enter a kernel as they are."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidegate.csr import Csr, joined, taken

Degrees = NDArray[np.float64]

WEST, SOUTH, EAST, NORTH = range(4)


class Placed(NamedTuple):
    """Conjunctions with a place, a row each."""

    sets: Csr
    """Their terms as ranks: 0 is the most frequent. At least one."""
    boxes: Degrees
    """Four columns: west, south, east, north, of which west <= east and south <= north."""

    @property
    def rows(self) -> int:
        """The number of conjunctions."""
        return self.sets.rows

    def only(self, rows: Any) -> "Placed":
        """The chosen rows, in that order."""
        return Placed(taken(self.sets, rows), self.boxes[rows])

    def joined(self, other: "Placed") -> "Placed":
        """The rows of two, one after the other."""
        return Placed(joined(self.sets, other.sets), np.concatenate([self.boxes, other.boxes]))

    def slice(self, start: int, stop: int) -> "Placed":
        """Rows `start` to `stop`."""
        return Placed(self.sets.slice(start, stop), self.boxes[start:stop])


class PlacedPosts(NamedTuple):
    """What is asked: posts with their terms and points."""

    terms: Csr
    lat: Degrees
    lon: Degrees
    """Both NaN where a post has no place, which no box holds."""
