"""A cluster on matcher clocks: the work of every matcher really done, one after the other, each with its own clock.

Routers and matchers work at the same time, so a cluster is as fast as its slowest matcher, or as its routers together.
Mergers, of which there may be as many as needed, and sending tuples over a network do not slow it down.
"""

from dataclasses import dataclass
from functools import partial
from typing import Final, NamedTuple

import numpy as np

from tidegate.bench.route.clocks import timed
from tidegate.bench.spatial.one_core import BATCH
from tidegate.bench.spatial.rivals import INDEXES
from tidegate.bench.spatial.stream import Stream
from tidegate.csr import Csr, Int64, taken
from tidegate.errors import TidegateError
from tidegate.index.placed import Placed, PlacedIndex, PlacedPosts
from tidegate.route.places.grid_t import GridT
from tidegate.route.places.heard import Heard
from tidegate.route.places.load import Costs, Floats, loads

SHARED_BATCH: Final = 24_000
"""Tuples; a matcher's part of it is about what one core takes at once."""


class _Parcel(NamedTuple):
    """What a matcher gets of a batch."""

    removed: Int64
    """Numbers of entries."""
    added: Placed
    posts: PlacedPosts
    numbers: Int64
    """Of the posts, in the stream."""


class _Part(NamedTuple):
    """What a matcher gets of a stream."""

    rows: Int64
    """By entry: the conjunction it is of."""
    standing: Placed
    parcels: list[_Parcel]


class Clock(NamedTuple):
    """Seconds of one round."""

    routing: float
    """Of all routers together."""
    matching: Floats
    """By matcher: removing, adding and matching."""
    merging: float
    """Until there is one row for a post and a query that match."""
    matcher_bytes: Floats

    def best(self, other: "Clock") -> "Clock":
        """Return the lower time of each clock."""
        return Clock(
            min(self.routing, other.routing),
            np.minimum(self.matching, other.matching),
            min(self.merging, other.merging),
            self.matcher_bytes,
        )


@dataclass(frozen=True)
class Cluster:
    """A stream shared out by a plan."""

    grid: GridT
    stream: Stream
    routers: int
    visits: Csr
    """By post of the stream: its matchers."""
    homes: Csr
    """By conjunction of the stream: its matchers."""
    heard: Heard
    parts: list[_Part]

    @classmethod
    def of(cls, grid: GridT, stream: Stream, routers: int) -> "Cluster":
        """Share out a stream. Routers know all of its queries from the beginning."""
        homes = grid.homes(stream.queries.placed)
        heard = grid.heard(stream.queries.placed)
        visits = [grid.visits(batch.posts, heard) for batch in stream.batches]
        parts = [_part(stream, homes, visits, matcher) for matcher in range(grid.matchers)]
        return cls(grid, stream, routers, _stacked(visits), homes, heard, parts)

    def clocked(self, index: str, expected: Int64) -> Clock:
        """Do all the work once; raise `TidegateError` if other (post, query) pairs come of it than `expected`."""
        matching, nbytes = [], []
        found: list[list[Int64]] = [[] for _ in self.stream.batches]
        for part in self.parts:
            seconds, size, answers = _matched(part, INDEXES[index](self.grid.bounds))
            matching.append(seconds)
            nbytes.append(size)
            for batch, (posts, rows) in zip(found, answers, strict=True):
                batch.append(posts << 32 | self.stream.queries.query_of[rows])
        merging, merged = timed(lambda: [_distinct(np.concatenate(batch)) for batch in found])
        self._check(index, np.concatenate(merged), expected)
        return Clock(self._routed(), np.array(matching), merging, np.array(nbytes, np.float64))

    def _check(self, index: str, found: Int64, expected: Int64) -> None:
        if not np.array_equal(found, expected):
            lost, invented = (len(np.setdiff1d(*sets)) for sets in ((expected, found), (found, expected)))
            raise TidegateError(
                f"of {len(expected):,} matches, {self.grid.matchers} matchers with {index} lost {lost:,} and "
                f"invented {invented:,}"
            )

    def _routed(self) -> float:
        """Route everything once more, and return the seconds it takes."""
        seconds = 0.0
        for batch in self.stream.batches:
            seconds += timed(partial(self.grid.visits, batch.posts, self.heard))[0]
            for rows in (batch.added, batch.removed):
                seconds += timed(partial(self.grid.homes, self.stream.placed(rows)))[0]
        return seconds

    @property
    def router_bytes(self) -> int:
        """Bytes of what a router looks up."""
        return self.grid.nbytes + self.heard.nbytes

    def loads(self, costs: Costs) -> Floats:
        """Return the load of each matcher by Definition 1, in microseconds."""

        def counted(rows: Int64) -> Int64:
            return np.bincount(taken(self.homes, rows).values, minlength=self.grid.matchers)

        batches = self.stream.batches
        return loads(
            costs,
            np.bincount(self.visits.values, minlength=self.grid.matchers),
            counted(np.arange(self.stream.standing)),
            counted(np.concatenate([batch.added for batch in batches])),
            counted(np.concatenate([batch.removed for batch in batches])),
        )

    def throughput(self, clock: Clock) -> float:
        """Return tuples a second."""
        return self.stream.tuples / max(float(clock.matching.max()), clock.routing / self.routers)

    def latency(self, clock: Clock) -> float:
        """Return the mean seconds of a post, with batches of 1,000 tuples that come at half of the throughput.

        It waits until its batch is full, for a router, the slowest of the matchers that it visits, and the merger.
        """
        batch = BATCH / self.stream.tuples
        filling = 0.5 * BATCH / (0.5 * self.throughput(clock))
        slowest = np.zeros(self.visits.rows)
        posts = np.repeat(np.arange(self.visits.rows), np.diff(self.visits.offsets))
        np.maximum.at(slowest, posts, clock.matching[self.visits.values])
        return filling + batch * (clock.routing + float(slowest.mean()) + clock.merging)


def single_answers(stream: Stream, index: PlacedIndex) -> Int64:
    """Return the (post, query) pairs that one index finds, as numbers, rising."""
    stream.fill(index)
    found = []
    for batch in stream.batches:
        index.remove(batch.removed)
        index.add(stream.placed(batch.added))
        matches = index.match(batch.posts).sets
        posts = batch.first + np.repeat(np.arange(matches.rows), np.diff(matches.offsets))
        found.append(_distinct(posts << 32 | stream.queries.query_of[matches.values]))
    return np.concatenate(found)


def _part(stream: Stream, homes: Csr, visits: list[Csr], matcher: int) -> _Part:
    rows = np.repeat(np.arange(homes.rows), np.diff(homes.offsets))[homes.values == matcher]
    # Entries are numbered in the order of adding, which is that of the rows.
    entry_of = np.full(homes.rows, -1)
    entry_of[rows] = np.arange(len(rows))
    parcels = []
    for batch, visited in zip(stream.batches, visits, strict=True):
        removed, added = (entry_of[changed][entry_of[changed] >= 0] for changed in (batch.removed, batch.added))
        here = np.repeat(np.arange(visited.rows), np.diff(visited.offsets))[visited.values == matcher]
        posts = PlacedPosts(taken(batch.posts.terms, here), batch.posts.lat[here], batch.posts.lon[here])
        parcels.append(_Parcel(removed, stream.placed(rows[added]), posts, batch.first + here))
    return _Part(rows, stream.placed(rows[rows < stream.standing]), parcels)


def _matched(part: _Part, index: PlacedIndex) -> tuple[float, int, list[tuple[Int64, Int64]]]:
    """Let a matcher do its part; return its seconds, its bytes, and the posts and conjunctions that match."""
    index.add(part.standing)
    seconds, answers = 0.0, []
    for parcel in part.parcels:
        took, matches = timed(partial(_done, index, parcel))
        seconds += took
        posts = np.repeat(parcel.numbers, np.diff(matches.offsets))
        answers.append((posts, part.rows[matches.values]))
    return seconds, index.nbytes, answers


def _done(index: PlacedIndex, parcel: _Parcel) -> Csr:
    index.remove(parcel.removed)
    index.add(parcel.added)
    return index.match(parcel.posts).sets


def _distinct(pairs: Int64) -> Int64:
    """Return every pair once, rising: what the merger does."""
    ordered = np.sort(pairs)
    is_first = np.ones(len(ordered), np.bool_)
    is_first[1:] = ordered[1:] != ordered[:-1]
    distinct: Int64 = ordered[is_first]
    return distinct


def _stacked(parts: list[Csr]) -> Csr:
    lengths = np.concatenate([np.diff(part.offsets) for part in parts])
    return Csr(np.append(0, np.cumsum(lengths)), np.concatenate([part.values for part in parts]))
