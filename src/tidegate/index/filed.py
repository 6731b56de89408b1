"""Plots that grow: arrays with room at their end, and lists in blocks with a little room at theirs.

How large a block is follows from the length of its list, so nothing is kept about it. Blocks that lists have left are
used again.
"""

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidegate.csr import Int32, Int64
from tidegate.index.plots import LEAST_MORE, Plots
from tidegate.kernels import njit

COPIES, CELLS, MORE = range(3)
NO_BLOCK: Final = np.int64(-1)
KINDS: Final = 128
"""Of blocks: more than there are sizes."""
LEAST_DUE: Final = 64
"""Conjunctions that a term gets before it is cut anew, however few it has."""
_ROOM: Final = 4
"""An array that is full gets room for one more in so many."""
_ROOM_AT_FIRST: Final = 2
"""And at first, for what comes before all is filed anew. Pages that nothing is written to take no memory."""


class Filed(NamedTuple):
    """What the kernels that file read and write. Whoever files has a new one, and is done with the old one."""

    plots: Plots
    used: Int64
    """How many copies there are, with the room in blocks, how many cells, and how many words of `Plots.more`."""
    due: Int32
    """By term: after how many further conjunctions it is to be cut anew."""
    vacant: Int64
    """By kind of block: the one that was left last, whose first word leads to the one left before; or `NO_BLOCK`."""

    @property
    def trimmed(self) -> Plots:
        """The plots without room at the end."""
        copies, cells, more = self.used
        plots, more = self.plots, max(more, LEAST_MORE)
        return plots._replace(cells=plots.cells[:cells], copies=plots.copies[: 2 * copies], more=plots.more[:more])

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return self.plots.nbytes + sum(array.nbytes for array in self[1:])

    def with_terms(self, n_terms: int) -> "Filed":
        """Return the same with so many terms, or more."""
        known = len(self.due)
        if n_terms <= known:
            return self
        unknown = n_terms + n_terms // _ROOM - known
        roots = np.concatenate([self.plots.roots, np.zeros(unknown, np.int64)])
        due = np.concatenate([self.due, np.full(unknown, LEAST_DUE, np.int32)])
        return self._replace(plots=self.plots._replace(roots=roots), due=due)


def roomy(array: NDArray[Any], used: int) -> NDArray[Any]:
    """Return what is used of an array, with room."""
    larger = room_like(array, used)
    larger[:used] = array[:used]
    return larger


def room_like(array: NDArray[Any], used: int) -> NDArray[Any]:
    """Return an array for so much and some more: from NumPy, which asks for large pages, as a kernel does not."""
    return np.empty(used + used // _ROOM_AT_FIRST, array.dtype)


@njit(cache=True, nogil=True)
def with_room(array: Any, size: int) -> Any:
    """Return the array if it has so many places, else a copy with more."""
    if size <= len(array):
        return array
    larger = np.empty(size + size // _ROOM, array.dtype)
    larger[: len(array)] = array
    return larger


@njit(cache=True, nogil=True)
def with_copies(filed: Filed, count: int) -> Filed:
    """Return the plots with room for so many more copies."""
    plots, size = filed.plots, 2 * (filed.used[COPIES] + count)
    if size <= len(plots.copies):
        return filed
    plots = Plots(plots.frame, plots.roots, plots.cells, with_room(plots.copies, size), plots.more)
    return Filed(plots, filed.used, filed.due, filed.vacant)


@njit(cache=True, nogil=True)
def with_cells(filed: Filed, count: int) -> Filed:
    """Return the plots with room for so many more cells."""
    plots, size = filed.plots, filed.used[CELLS] + count
    if size <= len(plots.cells):
        return filed
    plots = Plots(plots.frame, plots.roots, with_room(plots.cells, size), plots.copies, plots.more)
    return Filed(plots, filed.used, filed.due, filed.vacant)


@njit(cache=True, nogil=True)
def with_more(filed: Filed, count: int) -> Filed:
    """Return the plots with room for so many more words of `Plots.more`."""
    plots, size = filed.plots, filed.used[MORE] + count
    if size <= len(plots.more):
        return filed
    plots = Plots(plots.frame, plots.roots, plots.cells, plots.copies, with_room(plots.more, size))
    return Filed(plots, filed.used, filed.due, filed.vacant)


@njit(cache=True, nogil=True)
def block_of(count: int) -> Any:
    """Return the size of the block of a list of so many copies: up to a quarter more than they take."""
    step = _step(count)
    return (count + step - 1) // step * step


@njit(cache=True, nogil=True)
def is_full(count: int) -> Any:
    """Whether a list of so many copies fills its block."""
    return count % _step(count) == 0


@njit(cache=True, nogil=True)
def kind_of(block: int) -> Any:
    """Return the number of a size of blocks."""
    kind, step = 0, _step(block)
    while step > 1 << kind:
        kind += 1
    return 4 * kind + block // step


@njit(cache=True, nogil=True)
def _step(count: int) -> Any:
    """By how much blocks about this size differ."""
    step = 1
    while count >= 8 * step:
        step *= 2
    return step
