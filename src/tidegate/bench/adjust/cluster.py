"""Matchers with an index each, one after the other, each with its own clock: the cluster is as fast as its slowest."""

from collections.abc import Callable
from time import process_time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidegate.csr import Csr, Int32, Int64, taken
from tidegate.errors import TidegateError
from tidegate.index.placed import Placed, PlacedIndex, PlacedPosts
from tidegate.route.places.transition import Relocation

_ENTRY_BITS = 32


class Timed(NamedTuple):
    """What moving entries took."""

    seconds: float
    entries: int


class Cluster:
    """Has what it is told to have: no plan decides here, so that whatever a plan forgets is missing."""

    def __init__(self, make: Callable[[], PlacedIndex], matchers: int, placed: Placed) -> None:
        """Start empty; `placed` are all entries that will ever be told of, by number."""
        self.placed = placed
        self.indexes = [make() for _ in range(matchers)]
        self.matching, self.updating = np.zeros((2, matchers))
        """By matcher, seconds since the clocks were reset; updating is to add and to remove."""
        self._number_of = np.full((matchers, placed.rows), -1, np.int32)
        self._entry_of: list[Int32] = [np.empty(0, np.int32) for _ in range(matchers)]

    def reset(self) -> None:
        """Let the clocks begin anew."""
        self.matching[:] = self.updating[:] = 0.0

    def add(self, entries: Int64, homes: Csr) -> None:
        """Let these entries live at these matchers, of which `homes` has a row for each."""
        for matcher, here in self._by_matcher(entries, homes):
            placed = self.placed.only(here)
            numbers = _timed(self.updating, matcher, self.indexes[matcher].add, placed)
            self._number_of[matcher, here] = numbers
            self._entry_of[matcher] = np.concatenate((self._entry_of[matcher], here.astype(np.int32)))

    def remove(self, entries: Int64, homes: Csr) -> None:
        """Remove these entries from these matchers."""
        for matcher, here in self._by_matcher(entries, homes):
            _timed(self.updating, matcher, self.indexes[matcher].remove, self._number_of[matcher, here])

    def relocate(self, entries: Int64, relocation: Relocation) -> Timed:
        """Move entries: first they arrive, then they depart. Return what it took in all."""
        before = self.updating.sum()
        self.add(entries, relocation.arrivals)
        self.remove(entries, relocation.departures)
        return Timed(float(self.updating.sum() - before), len(relocation.arrivals.values))

    def match(self, posts: PlacedPosts, visits: Csr) -> Int64:
        """Return the matches, post and entry in one number, rising; each once, wherever it was found."""
        post_of = np.repeat(np.arange(visits.rows), np.diff(visits.offsets))
        found = [np.empty(0, np.int64)]
        for matcher in range(len(self.indexes)):
            visiting = post_of[visits.values == matcher]
            if len(visiting):
                asked = PlacedPosts(taken(posts.terms, visiting), posts.lat[visiting], posts.lon[visiting])
                # Twice, and the quicker one counts: a matcher of its own machine shares it with no others, whose
                # entries push its own out of the caches here. Who is slowest must not be who was disturbed most.
                once, again = np.zeros((2, len(self.indexes)))
                _timed(once, matcher, self.indexes[matcher].match, asked)
                matches = _timed(again, matcher, self.indexes[matcher].match, asked)
                self.matching += np.minimum(once, again)
                found.append(pairs(matches.sets, visiting, self._entry_of[matcher]))
        every = np.sort(np.concatenate(found))
        return every[np.diff(every, prepend=-1) > 0]

    def _by_matcher(self, entries: Int64, homes: Csr) -> list[tuple[int, Int64]]:
        living = np.repeat(entries, np.diff(homes.offsets))
        return [(int(matcher), living[homes.values == matcher]) for matcher in np.unique(homes.values)]


def _timed(clocks: NDArray[np.float64], matcher: int, work: Callable[..., Any], *given: Any) -> Any:
    start = process_time()
    result = work(*given)
    clocks[matcher] += process_time() - start
    return result


def pairs(sets: Csr, posts: Int64, entry_of: NDArray[Any]) -> Int64:
    """Return matches as numbers, given what the rows and the numbers of an index stand for."""
    found: Int64 = np.repeat(posts, np.diff(sets.offsets)) << _ENTRY_BITS | entry_of[sets.values]
    return found


def check_found(who: str, found: Int64, expected: Int64) -> None:
    """Raise `TidegateError` if a match is lost, or one found that is none."""
    if np.array_equal(found, expected):
        return
    lost, invented = np.setdiff1d(expected, found), np.setdiff1d(found, expected)
    post, entry = divmod(int((lost if len(lost) else invented)[0]), 1 << _ENTRY_BITS)
    raise TidegateError(
        f"{who} lost {len(lost):,} of {len(expected):,} matches and found {len(invented):,} that are none: "
        f"post {post} and entry {entry} is the first"
    )
