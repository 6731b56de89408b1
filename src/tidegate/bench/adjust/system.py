"""A cluster and the plan it lives by, which may be adjusted while posts and queries stream in."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidegate.bench.adjust.cluster import Cluster, Timed
from tidegate.csr import Csr, Int64
from tidegate.index.placed import PlacedPosts
from tidegate.route.places.adjustment import Adjusted
from tidegate.route.places.grid_t import GridT
from tidegate.route.places.heard import Heard
from tidegate.route.places.transition import Transition, relocated


class Moved(NamedTuple):
    """What an adjustment took."""

    cost: int
    """Bytes of the cells and parts of cells that changed hands (Definition 4)."""
    nbytes: int
    """Bytes that travelled: an entry of several cells may be there already."""
    work: Timed


class System:
    """Routes what it is given by its grid, or by two while one takes over from the other."""

    def __init__(self, cluster: Cluster, grid: GridT) -> None:
        """Start with a cluster that has nothing."""
        self.cluster, self.grid = cluster, grid
        self.standing = np.zeros(cluster.placed.rows, np.bool_)
        self.transition: Transition | None = None
        self._is_old = np.zeros(cluster.placed.rows, np.bool_)

    def insert(self, entries: Int64) -> None:
        """Let new entries live by the grid, by the new one if there are two."""
        self.cluster.add(entries, self.grid.homes(self._placed(entries)))
        self.standing[entries] = True
        if self.transition:
            self.transition.inserted(len(entries))

    def delete(self, entries: Int64) -> None:
        """Remove entries from wherever they live."""
        placed, is_old = self._placed(entries), self._is_old[entries]
        homes = self.transition.homes(placed, is_old) if self.transition else self.grid.homes(placed)
        self.cluster.remove(entries, homes)
        self.standing[entries] = False
        if self.transition:
            self.transition.removed(old=int(is_old.sum()), new=int((~is_old).sum()))

    def match(self, posts: PlacedPosts, heard: Heard | None = None) -> Int64:
        """Return what posts match, by the matchers that they visit; `heard` is what all that stands asks for."""
        return self.cluster.match(posts, self.visits(posts, heard))

    def visits(self, posts: PlacedPosts, heard: Heard | None = None) -> Csr:
        """Return whom posts visit."""
        if self.transition is None and heard is not None:
            return self.grid.visits(posts, heard)
        new_heard = self.grid.heard(self._placed(self.living(old=False)))
        if self.transition is None:
            return self.grid.visits(posts, new_heard)
        old_heard = self.transition.old.heard(self._placed(self.living(old=True)))
        return self.transition.visits(posts, old_heard, new_heard)

    def living(self, *, old: bool = False) -> Int64:
        """Return the entries that live by the grid, or by the old one that it takes over from."""
        return np.flatnonzero(self.standing & (self._is_old == old))

    def adjust(self, adjusted: Adjusted) -> Moved:
        """Live by an adjusted grid, and really move what lives by the one that it was and has to."""
        living = self.living()
        touched = living[self._may_move(living, adjusted.moved.cells)]
        relocation = relocated(self.grid, adjusted.grid, self._placed(touched))
        work = self.cluster.relocate(touched, relocation)
        self.grid = adjusted.grid
        if self.transition:
            self.transition.new = adjusted.grid
        return Moved(adjusted.cost, _nbytes(self.cluster, touched, relocation.arrivals), work)

    def repartition(self, grid: GridT) -> None:
        """Let later entries live by another grid; those that stand stay until they are few."""
        self.finish()
        self._is_old = self.standing.copy()
        self.transition = Transition(self.grid, grid, int(self._is_old.sum()))
        self.grid = grid

    def finish(self) -> int:
        """Let the new grid decide alone; what still lived by the old one moves. Return how many entries arrived."""
        if self.transition is None:
            return 0
        old = self.living(old=True)
        work = self.cluster.relocate(old, self.transition.finished(self._placed(old)))
        self._is_old[:] = False
        self.transition = None
        return work.entries

    def _may_move(self, entries: Int64, cells: Any) -> NDArray[np.bool_]:
        """Whether the boxes of entries overlap any of these cells; all others stay where they are."""
        is_changed = np.zeros(len(self.grid.where), np.bool_)
        is_changed[cells] = True
        under = self.grid.cells_under(self.cluster.placed.boxes[entries])
        changed = np.concatenate(([0], np.cumsum(is_changed[under.values])))
        return np.asarray(np.diff(changed[under.offsets]) > 0)

    def _placed(self, entries: Int64) -> Any:
        return self.cluster.placed.only(entries)


def _nbytes(cluster: Cluster, entries: Int64, arrivals: Csr) -> int:
    """Return the bytes of boxes and terms that arrive."""
    terms = np.diff(cluster.placed.sets.offsets)[entries]
    return int(np.sum(np.diff(arrivals.offsets) * (cluster.placed.boxes.itemsize * 4 + 4 * terms)))
