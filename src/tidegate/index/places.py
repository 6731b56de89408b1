"""The places of compiled subscriptions: the conjunctions that want one, filed by their rarest term and by it."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tidegate.csr import Csr, Int64, taken
from tidegate.index.boxes import box_rows, normal_longitudes, smallest_boxes
from tidegate.index.filing import filed_plots
from tidegate.index.kd_cells import KdCells
from tidegate.index.placed import Degrees, Placed
from tidegate.index.plots import Plots, lists_of
from tidegate.query.conjunction import Conjunction


class Search(NamedTuple):
    """What a batch of posts has to read."""

    plots: Plots
    lists: Int64
    """By term of every post; none at all where nobody wants a place."""
    lon: Degrees
    """Longitudes as boxes know them."""


class Places(NamedTuple):
    """Proposes conjunctions by words and place; whether a post is in their region is for others to check, exactly."""

    cells: KdCells
    plots: Plots

    @classmethod
    def of(cls, conjunctions: Sequence[Conjunction], sets: Csr, n_terms: int) -> "Places":
        """File the conjunctions that want a place; `sets` are the terms of all."""
        boxes = [smallest_boxes(conjunction.regions) if conjunction.regions else [] for conjunction in conjunctions]
        whose = np.repeat(np.arange(len(boxes), dtype=np.int32), [len(some) for some in boxes])
        placed = Placed(taken(sets, whose.astype(np.int64)), box_rows(boxes))
        cells = KdCells.learned(placed.boxes)
        return cls(cells, filed_plots(placed, whose, cells, n_terms if placed.rows else 0).trimmed)

    def search(self, terms: Csr, lat: Degrees, lon: Degrees) -> Search:
        """Find the lists for posts with these terms at these points."""
        if len(self.plots.roots) == 0:
            return Search(self.plots, np.empty(0, np.int64), lon)
        longitudes = normal_longitudes(lat, lon)
        return Search(self.plots, lists_of(self.plots, self.cells, terms, lat, longitudes), longitudes)
