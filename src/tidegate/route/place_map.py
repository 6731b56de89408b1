"""Place maps: which matcher has what where, as a partitioning by words and places has learned it; kept as one file."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tidegate.csr import Int32
from tidegate.index.segment import read_segment, write_segment
from tidegate.index.strings import read_strings, string_arrays, strings
from tidegate.route.ownership import owner
from tidegate.route.places.grid_t import GridT
from tidegate.route.places.lattice import Lattice

_KIND = "places"


@dataclass(frozen=True)
class PlaceMap:
    """A gridᵗ over words: every cell belongs to one matcher, or to several that share out its words.

    A word that the map has never seen is owned by hash in the cells that are shared out.
    """

    grid: GridT
    words: pa.LargeStringArray
    """The words of its term maps, by number."""

    @property
    def matchers(self) -> int:
        """How many matchers share the places."""
        return self.grid.matchers

    @property
    def lattice(self) -> Lattice:
        """The cells."""
        return self.grid.lattice

    def matchers_of(self, cells: Int32, terms: Iterable[str], term_of: NDArray[Any]) -> Int32:
        """Return who has the conjunctions filed in a cell under a term: by pair, of a cell and a number in `terms`."""
        known = list(terms)
        rows = self._rows
        numbers = np.fromiter((rows.get(term, -1) for term in known), np.int64, len(known))
        by_hash = np.array([owner(term, self.matchers) for term in known], np.int32)
        found: Int32 = self.grid.where[cells].copy()
        shared = np.flatnonzero(found < 0)
        number, map_of = numbers[term_of[shared]], -1 - found[shared]
        found[shared] = by_hash[term_of[shared]]
        learned = np.flatnonzero(number >= 0)
        found[shared[learned]] = self.grid.maps[map_of[learned], number[learned]]
        return found

    def knowing(self, words: Iterable[str]) -> Self:
        """Return the same map with these words among its own, owned as they are without it."""
        unknown = [word for word in dict.fromkeys(words) if word not in self._rows]
        by_hash = np.array([owner(word, self.matchers) for word in unknown], np.int16)
        maps = np.hstack([self.grid.maps, np.tile(by_hash, (len(self.grid.maps), 1))])
        grid = replace(self.grid, n_terms=self.grid.n_terms + len(unknown), maps=maps)
        return type(self)(grid, pa.concat_arrays([self.words, strings(unknown)]))

    def save(self, path: Path | str) -> None:
        """Write everything as one Arrow IPC file, whole or not at all."""
        grid = self.grid
        arrays: dict[str, NDArray[Any]] = {
            "bounds": np.array(grid.bounds),
            "where": grid.where,
            "maps": grid.maps.ravel(),
            **string_arrays("words", self.words),
        }
        write_segment(path, _KIND, arrays, _numbers(grid))

    @classmethod
    def open(cls, path: Path | str, *, verify: bool = True) -> Self:
        """Map what was saved; nothing is copied. A torn, foreign or altered file is refused by name."""
        arrays, numbers = read_segment(path, _KIND, verify=verify)
        words = read_strings(arrays, "words")
        west, south, east, north = arrays["bounds"].tolist()
        grid = GridT(
            (west, south, east, north),
            numbers["columns"],
            numbers["rows"],
            numbers["matchers"],
            len(words),
            arrays["where"],
            arrays["maps"].reshape(numbers["maps"], len(words)),
        )
        return cls(grid, words)

    @classmethod
    def of(cls, grid: GridT, words: Iterable[str]) -> Self:
        """Return the map of a grid whose terms are the numbers of these words; it may not know the last ones."""
        return cls(grid, strings(words).slice(0, grid.n_terms))

    @cached_property
    def _rows(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self.words.to_pylist())}


def _numbers(grid: GridT) -> dict[str, int]:
    return {"columns": grid.columns, "rows": grid.rows, "matchers": grid.matchers, "maps": len(grid.maps)}
