"""What a period saw, cell by cell and term by term, and what it weighs: all that adjustment knows of a workload."""

from typing import Any, NamedTuple

import numpy as np

from tidegate.csr import Int32, Int64
from tidegate.index.placed import Placed, PlacedPosts
from tidegate.route.places.grid_t import GridT
from tidegate.route.places.heard import KEY_BITS, rarest

_BYTES_A_BOX = 32
_BYTES_A_TERM = 4


class Weights(NamedTuple):
    """What the load of a cell is made of. By default that of Definition 3: posts times conjunctions.

    With that alone, splitting always lowers the total load and merging never does; Definition 1, with what a visit
    costs beside the matching (`pair` = c₁, `visit` = c₂), lets both be worth it or not.
    """

    pair: float = 1.0
    """Of a post and a conjunction that are in the same cell at the same matcher."""
    check: float = 0.0
    """Of those of which, moreover, the post has the conjunction's rarest term."""
    visit: float = 0.0
    """Of a post that visits a matcher."""
    stored: float = 0.0
    """Of a conjunction that a cell has: what inserting and removing it takes, by its share of a period's updates."""

    def load(self, posts: Any, conjunctions: Any, checks: Any) -> Any:
        """Return the load of parts of cells."""
        return (self.pair * posts + self.stored) * conjunctions + self.check * checks + self.visit * posts


DEFINITION_3 = Weights()


class Counts(NamedTuple):
    """What a period saw, by the cell and the term under which conjunctions are filed; rising by both."""

    cells: Int32
    terms: Int32
    conjunctions: Int64
    """Filed there."""
    nbytes: Int64
    """Of these."""
    posts: Int64
    """In the cell, with the term."""
    visitors: Int64
    """By cell: posts that have at least one of its terms, or all posts if the grid does not hear."""

    @property
    def keys(self) -> Int64:
        """Cells and terms as one number each, rising."""
        return self.cells.astype(np.int64) << KEY_BITS | self.terms


def filings(grid: GridT, placed: Placed) -> tuple[Int64, Int64]:
    """Return each conjunction once for every cell under its box, rising; and that cell and its term as one number."""
    under = grid.cells_under(placed.boxes)
    conjunctions = np.repeat(np.arange(placed.rows), np.diff(under.offsets))
    return conjunctions, under.values.astype(np.int64) << KEY_BITS | rarest(placed.sets)[conjunctions]


def counted(grid: GridT, posts: PlacedPosts, placed: Placed) -> Counts:
    """Count the posts of a period and the conjunctions that stand."""
    entries, filed = filings(grid, placed)
    keys, key_of = np.unique(filed, return_inverse=True)
    sizes = _BYTES_A_BOX + _BYTES_A_TERM * np.diff(placed.sets.offsets)

    cell_of = grid.cells_of(posts.lat, posts.lon)
    writers = np.repeat(np.arange(posts.terms.rows), np.diff(posts.terms.offsets))
    read = cell_of[writers].astype(np.int64) << KEY_BITS | posts.terms.values
    place = np.searchsorted(keys, read)
    hit = np.searchsorted(keys, read, side="right") > place
    # A post may repeat a term; it counts once.
    readers, visited = np.divmod(np.unique(writers[hit] * len(keys) + place[hit]), max(len(keys), 1))
    visitors = np.unique(readers) if grid.hears else np.flatnonzero(cell_of >= 0)
    return Counts(
        (keys >> KEY_BITS).astype(np.int32),
        (keys & (2**KEY_BITS - 1)).astype(np.int32),
        np.bincount(key_of, minlength=len(keys)),
        np.bincount(key_of, sizes[entries], len(keys)).astype(np.int64),
        np.bincount(visited, minlength=len(keys)),
        np.bincount(cell_of[visitors], minlength=len(grid.where)),
    )
