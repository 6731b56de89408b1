"""The gridᵗ: a plan of who matches what where, as the routers of PS²Stream read it (§IV-C).

Each cell belongs to one matcher, or is shared out by text: a term map then says which matcher has the conjunctions
filed under each term (H₁). Cells of one leaf of a kdᵗ-tree share their term map.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tidegate.csr import Csr, Int32, Int64
from tidegate.errors import ConfigError
from tidegate.index.placed import Degrees, Placed, PlacedPosts
from tidegate.kernels import njit
from tidegate.route.places.heard import Heard, filed_on, heard_on, is_heard, rarest, slot_of
from tidegate.route.places.lattice import Bounds, Lattice, cell_of, checked_lattice

TermMaps = NDArray[np.int16]


@dataclass(frozen=True)
class GridT:
    """Routes exactly: a post and a conjunction that match meet at some matcher.

    That is, it is among the `homes` of the conjunction and among the `visits` of the post, if the conjunction is one
    of those `heard`. They may meet at several.
    """

    bounds: Bounds
    """West, south, east, north; what is outside belongs to the border cells."""
    columns: int
    rows: int
    matchers: int
    n_terms: int
    where: Int32
    """By cell, by row from the south-west: the matcher that has the whole cell, or -1 - the number of its term map."""
    maps: TermMaps
    """By term map and term, the matcher. Terms from `n_terms` on belong to `term % matchers` in all maps."""
    hears: bool = True
    """Whether only terms that are heard lead anywhere (H₂). If not, every post visits the matcher of its cell, as in
    partitionings by space alone, or in a cell that is shared out those of all its terms."""

    def __post_init__(self) -> None:
        """Refuse cells without a matcher."""
        checked_lattice(self.lattice)
        if not 1 <= self.matchers < 2**15:
            raise ConfigError(f"{self.matchers} matchers: a grid has from 1 to {2**15 - 1}")
        if self.where.shape != (self.lattice.cells,) or self.maps.ndim != 2 or self.maps.shape[1] != self.n_terms:
            raise ConfigError(
                f"{self.where.shape} cells and term maps of shape {self.maps.shape}: for {self.columns} x {self.rows} "
                f"cells and {self.n_terms} terms, give ({self.lattice.cells},) and (any, {self.n_terms})"
            )
        if not (-len(self.maps) <= self.where.min() and self.where.max() < self.matchers):
            raise ConfigError(
                f"cells belong to {self.where.min()} to {self.where.max()}: "
                f"there are {self.matchers} matchers and {len(self.maps)} term maps"
            )
        if self.maps.size and not (self.maps.min() >= 0 and self.maps.max() < self.matchers):
            raise ConfigError(f"a term belongs to matcher {self.maps.max()}: there are {self.matchers}, from 0 on")

    @property
    def lattice(self) -> Lattice:
        """The cells."""
        return Lattice(self.bounds, self.columns, self.rows)

    def cells_of(self, lat: Degrees, lon: Degrees) -> Int32:
        """Return the cell of each point, -1 where there is none."""
        return self.lattice.cells_of(lat, lon)

    def cells_under(self, boxes: Degrees) -> Csr:
        """Return the cells that each box overlaps, rising."""
        return self.lattice.cells_under(boxes)

    def homes(self, placed: Placed) -> Csr:
        """Return the matchers that have each conjunction, rising. Linear in the cells under the boxes."""
        spans = self.lattice.spans(placed.boxes)
        return Csr(*_homes(self.where, self.maps, self.matchers, self.columns, spans, rarest(placed.sets)))

    def heard(self, placed: Placed) -> Heard:
        """Return what these conjunctions ask for, cell by cell."""
        return heard_on(self.lattice, placed)

    def visits(self, posts: PlacedPosts, heard: Heard) -> Csr:
        """Return the matchers that each post goes to, rising: none if it has no place or nothing heard there."""
        return Csr(*_visits(self.where, self.maps, self.matchers, self.lattice, posts, heard, self.hears))

    def checks(self, posts: PlacedPosts, placed: Placed) -> Int64:
        """Return by matcher how many pairs of posts and conjunctions are filed in one cell under a term of the post."""
        heard = self.heard(placed)
        filed = filed_on(self.lattice, placed, heard)
        return _checks(self.where, self.maps, self.matchers, self.lattice, posts, heard, filed)  # type: ignore[no-any-return]

    @property
    def nbytes(self) -> int:
        """Bytes of what a router reads, but for what is heard."""
        return self.where.nbytes + self.maps.nbytes


@njit(cache=True, nogil=True)
def _matcher(where: Int32, maps: TermMaps, matchers: int, cell: int, term: int) -> int:
    if where[cell] >= 0:
        return where[cell]  # type: ignore[no-any-return]
    if term < maps.shape[1]:
        return maps[-1 - where[cell], term]  # type: ignore[no-any-return]
    return term % matchers


@njit(cache=True, nogil=True)
def _appended(values: Int32, end: int, last_at: NDArray[np.int64], row: int) -> Any:
    """Append the matchers marked with `row`, rising; return the values, grown if there was no room, and their end."""
    if end + len(last_at) > len(values):
        grown = np.empty(2 * len(values) + len(last_at), np.int32)
        grown[:end] = values[:end]
        values = grown
    for matcher in range(len(last_at)):
        if last_at[matcher] == row:
            values[end] = matcher
            end += 1
    return values, end


@njit(cache=True, nogil=True)
def _homes(where: Int32, maps: TermMaps, matchers: int, columns: int, spans: Int32, terms: Int32) -> Any:
    offsets = np.zeros(len(terms) + 1, np.int64)
    values = np.empty(2 * len(terms), np.int32)
    end = 0
    last_at = np.full(matchers, -1, np.int64)
    for i in range(len(terms)):
        for row in range(spans[i, 1], spans[i, 3] + 1):
            for column in range(spans[i, 0], spans[i, 2] + 1):
                last_at[_matcher(where, maps, matchers, row * columns + column, terms[i])] = i
        values, end = _appended(values, end, last_at, i)
        offsets[i + 1] = end
    return offsets, values[:end]


@njit(cache=True, nogil=True)
def _visits(
    where: Int32, maps: TermMaps, matchers: int, lattice: Lattice, posts: PlacedPosts, heard: Heard, hears: bool
) -> Any:
    terms = posts.terms
    offsets = np.zeros(len(posts.lat) + 1, np.int64)
    values = np.empty(2 * len(posts.lat), np.int32)
    end = 0
    last_at = np.full(matchers, -1, np.int64)
    for i in range(len(posts.lat)):
        cell = cell_of(lattice, posts.lat[i], posts.lon[i])
        if cell >= 0:
            if not hears and where[cell] >= 0:
                last_at[where[cell]] = i
            for k in range(terms.offsets[i], terms.offsets[i + 1]):
                if not hears or is_heard(heard, cell, terms.values[k]):
                    last_at[_matcher(where, maps, matchers, cell, terms.values[k])] = i
                    if where[cell] >= 0:
                        break
            values, end = _appended(values, end, last_at, i)
        offsets[i + 1] = end
    return offsets, values[:end]


@njit(cache=True, nogil=True)
def _checks(
    where: Int32, maps: TermMaps, matchers: int, lattice: Lattice, posts: PlacedPosts, heard: Heard, filed: Int64
) -> Int64:
    checks = np.zeros(matchers, np.int64)
    for i in range(len(posts.lat)):
        cell = cell_of(lattice, posts.lat[i], posts.lon[i])
        if cell >= 0:
            for term in posts.terms.values[posts.terms.offsets[i] : posts.terms.offsets[i + 1]]:
                slot = slot_of(heard, cell, term)
                if slot >= 0:
                    checks[_matcher(where, maps, matchers, cell, term)] += filed[slot]
    return checks
