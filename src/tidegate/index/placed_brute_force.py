"""Brute force with places: every entry against every post. The reference of all indexes that prune by place."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tidegate.csr import Csr, Int32, joined
from tidegate.errors import ConfigError
from tidegate.index.contract import Cursor, Matches, collect
from tidegate.index.placed import EAST, NORTH, SOUTH, WEST, Degrees, Placed, PlacedIndex, PlacedPosts, checked
from tidegate.kernels import njit


class PlacedBruteForce(PlacedIndex):
    """No pruning at all: obviously right, and slow. Its node is an entry; every entry is a candidate."""

    name: ClassVar[str] = "placed-brute-force"

    def __init__(self) -> None:
        """Start empty."""
        self._placed = Placed(Csr(np.zeros(1, np.int64), np.empty(0, np.int32)), np.empty((0, 4)))
        self._alive = np.empty(0, np.bool_)

    def add(self, placed: Placed) -> Int32:
        """Add entries and return their numbers; the next post may match them."""
        checked(placed)
        first = self._placed.rows
        self._placed = Placed(
            joined(self._placed.sets, placed.sets), np.concatenate((self._placed.boxes, placed.boxes))
        )
        self._alive = np.append(self._alive, np.ones(placed.rows, np.bool_))
        return np.arange(first, first + placed.rows, dtype=np.int32)

    def remove(self, entries: Any) -> None:
        """Remove entries by number; no later post matches them. Nothing happens if one of them is not there."""
        for entry in np.atleast_1d(np.asarray(entries, np.int64)):
            if not (0 <= entry < len(self._alive) and self._alive[entry]):
                raise ConfigError(f"entry {entry} is not in the index: it was never added, or is already removed")
        self._alive[np.asarray(entries, np.int64)] = False

    def match(self, posts: PlacedPosts) -> Matches:
        """Return exactly the entries that each post matches, in no particular order."""
        found, counters = collect(
            posts.terms, lambda first, out: int(_match(self._placed, self._alive, posts, first, out))
        )
        return Matches(found, int(counters[0]), int(counters[1]))

    @property
    def nbytes(self) -> int:
        """Bytes of the entries."""
        sets, boxes = self._placed
        return sets.offsets.nbytes + sets.values.nbytes + boxes.nbytes + self._alive.nbytes


@njit(cache=True, nogil=True)
def _is_inside(boxes: Degrees, entry: int, lat: float, lon: float) -> Any:
    """A point that is no number is inside nothing: no comparison with it holds."""
    in_longitude = boxes[entry, WEST] <= lon <= boxes[entry, EAST]
    return in_longitude and boxes[entry, SOUTH] <= lat <= boxes[entry, NORTH]


@njit(cache=True, nogil=True)
def _match(placed: Placed, alive: NDArray[np.bool_], posts: PlacedPosts, first: int, out: Cursor) -> int:
    sets = placed.sets
    n_posts = len(posts.terms.offsets) - 1
    for post in range(first, n_posts):
        terms = set(posts.terms.values[posts.terms.offsets[post] : posts.terms.offsets[post + 1]])
        written = out.offsets[post]
        if written + len(alive) > len(out.numbers):
            return post
        for entry in range(len(alive)):
            wanted = alive[entry] and _is_inside(placed.boxes, entry, posts.lat[post], posts.lon[post])
            for i in range(sets.offsets[entry], sets.offsets[entry + 1]):
                wanted = wanted and sets.values[i] in terms
            if wanted:
                out.numbers[written] = entry
                written += 1
        out.offsets[post + 1] = written
        out.counters[0] += len(alive)
        out.counters[1] += len(alive)
    return n_posts
