"""The contract of indexes that prune by words and by place: conjunctions with a box, and posts with a point.

Like an `Index`, such an index answers one question exactly: which of its entries have all their terms in a post's
terms, and their box around its point? Entries come and go while it is asked.
"""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from tidegate.csr import Int32
from tidegate.errors import ConfigError
from tidegate.index.contract import Matches
from tidegate.index.sets import checked_highest
from tidegate.placed import EAST, NORTH, SOUTH, WEST, Degrees, Placed, PlacedPosts

__all__ = ["EAST", "NORTH", "SOUTH", "WEST", "Degrees", "Placed", "PlacedIndex", "PlacedPosts", "checked"]


class PlacedIndex(ABC):
    """Numbers its entries in the order of adding; a number is never used again. Belongs to one thread."""

    name: ClassVar[str]

    @abstractmethod
    def add(self, placed: Placed) -> Int32:
        """Add entries and return their numbers; the next post may match them."""

    @abstractmethod
    def remove(self, entries: Any) -> None:
        """Remove entries by number; no later post matches them. `ConfigError` for one that is not there."""

    @abstractmethod
    def match(self, posts: PlacedPosts) -> Matches:
        """Return exactly the entries that each post matches, in no particular order."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Bytes of everything that matching and removing need."""


def checked(placed: Placed) -> int:
    """Return the highest term id, -1 for no entries; refuse sets that no index can take and boxes that are none."""
    highest = checked_highest(placed.sets)
    boxes = placed.boxes
    if boxes.shape != (placed.rows, 4):
        raise ConfigError(f"{placed.rows} conjunctions with boxes of shape {boxes.shape}: give four numbers for each")
    bad = np.flatnonzero(~((boxes[:, WEST] <= boxes[:, EAST]) & (boxes[:, SOUTH] <= boxes[:, NORTH])))
    if len(bad):
        raise ConfigError(f"box {boxes[bad[0]].tolist()} is inside out: the order is west, south, east, north")
    return highest
