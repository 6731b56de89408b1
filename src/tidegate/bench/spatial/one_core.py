"""One core: the paper's index and ours over the same stream, in turns, with the same answers batch by batch."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Final, Self

import numpy as np

from tidegate.bench.report import Report, Row
from tidegate.bench.route.clocks import timed
from tidegate.bench.spatial.rivals import FLAT_GRID, GI2, INDEXES
from tidegate.bench.spatial.sizes import KINDS, Sizes
from tidegate.bench.spatial.stream import Batch, Stream
from tidegate.bench.spatial.world import World
from tidegate.csr import Csr, Int64
from tidegate.errors import TidegateError
from tidegate.index.flat_grid import FlatGrid
from tidegate.index.placed import PlacedIndex, PlacedPosts
from tidegate.index.placed_brute_force import PlacedBruteForce

BATCH: Final = 1_000
"""Tuples; the unit of time by which a query that comes or goes is noticed."""
_TURN: Final = 20  # batches: long enough for a cache to be an index's own, short enough for noise to be all rivals'
_CHECKED: Final = 5  # posts that brute force sees


@dataclass
class CoreRun:
    """What one index took for a stream."""

    stream: Stream
    filling_s: float
    removing_s: list[float] = field(default_factory=list)
    adding_s: list[float] = field(default_factory=list)
    matching_s: list[float] = field(default_factory=list)
    """By batch."""
    nbytes: int = 0
    """After the last batch."""

    @property
    def seconds(self) -> float:
        """Of the whole stream."""
        return sum(self.removing_s) + sum(self.adding_s) + sum(self.matching_s)

    @property
    def throughput(self) -> float:
        """Tuples a second."""
        return self.stream.tuples / self.seconds

    @property
    def row(self) -> Row:
        """Return its figures."""
        added = sum(len(batch.added) for batch in self.stream.batches)
        batches = zip(self.removing_s, self.adding_s, self.matching_s, strict=True)
        return {
            "tuples/s": self.throughput,
            "µs a post": 1e6 * sum(self.matching_s) / self.stream.posts,
            "conjunctions added/s": added / sum(self.adding_s),
            "conjunctions filled/s": self.stream.standing / self.filling_s,
            "slowest batch, ms": 1e3 * max(sum(batch) for batch in batches),
            "bytes a query": self.nbytes / self.stream.standing_queries,
        }


@dataclass
class _Rival:
    """An index at work."""

    index: PlacedIndex
    run: CoreRun

    @classmethod
    def started(cls, name: str, stream: Stream, world: World) -> Self:
        """Fill an index with what stands."""
        index = INDEXES[name](world.bounds)
        took, _ = timed(lambda: stream.fill(index))
        return cls(index, CoreRun(stream, took))

    def take(self, batch: Batch) -> Int64:
        """Do a batch, and return what matched."""
        run = self.run
        added = run.stream.placed(batch.added)
        for clock, work in (
            (run.removing_s, partial(self.index.remove, batch.removed)),
            (run.adding_s, partial(self.index.add, added)),
        ):
            clock.append(timed(work)[0])
        took, matches = timed(partial(self.index.match, batch.posts))
        run.matching_s.append(took)
        return pairs(matches.sets)


def core_runs(stream: Stream, world: World) -> dict[str, CoreRun]:
    """Let every index do the stream, in turns; raise `TidegateError` where their answers differ."""
    rivals = {name: _Rival.started(name, stream, world) for name in (GI2, FLAT_GRID)}
    for start in range(0, len(stream.batches), _TURN):
        turn = stream.batches[start : start + _TURN]
        answers = {name: [rival.take(batch) for batch in turn] for name, rival in rivals.items()}
        for i, batch in enumerate(turn):
            _check_equal(batch, answers[GI2][i], answers[FLAT_GRID][i])
    _check_brute_force(stream, answers[FLAT_GRID][-1])
    for rival in rivals.values():
        rival.run.nbytes = rival.index.nbytes
    return {name: rival.run for name, rival in rivals.items()}


def pairs(matches: Csr) -> Int64:
    """Return matches as numbers, post and entry in one, rising."""
    posts = np.repeat(np.arange(matches.rows), np.diff(matches.offsets))
    return np.sort(posts << 32 | matches.values)


def report_one_core(report: Report, world: World, sizes: Sizes, seed: int) -> Iterator[str]:
    """Measure all three kinds of queries; yield what comes next."""
    rows = []
    yield "one core, compiling"
    _warm_up(world, seed)
    for kind in KINDS:
        yield f"one core, {kind}"
        stream = Stream.draw(world, kind, sizes.queries, sizes.tuples, BATCH, seed)
        rounds = [core_runs(stream, world) for _ in range(sizes.core_rounds)]
        best = {name: min((one[name] for one in rounds), key=lambda run: run.seconds) for name in rounds[0]}
        over_gi2 = {name: run.throughput / best[GI2].throughput for name, run in best.items()}
        rows += [{"queries": kind, "index": name, **run.row, "× GI²": over_gi2[name]} for name, run in best.items()]
        report.summary[f"flatgrid_over_gi2_{kind}"] = over_gi2[FLAT_GRID]
        if kind == "q1":
            report.summary["tuples_per_s_core"] = best[FLAT_GRID].throughput
    report.section(
        f"One core, {world.name}: {sizes.queries:,} queries in memory",
        rows,
        f"{stream.tuples:,} tuples in batches of {BATCH:,}: queries are removed, queries are added, posts are matched. "
        f"Best of {sizes.core_rounds} rounds. Indexes took turns and agreed on every batch; brute force, on "
        f"{_CHECKED} posts. The slowest batch is one in which arrays grew or parts were merged, where there was one.",
    )


def _warm_up(world: World, seed: int) -> None:
    """Let every kernel be compiled before a clock runs: each index lives through a little of everything."""
    stream = Stream.draw(world, "q1", 500, 6_000, BATCH, seed)
    core_runs(stream, world)
    index = FlatGrid(smallest_merge=0)
    stream.fill(index)
    passing = stream.placed(stream.batches[0].added)
    for _ in range(1 + 2 * stream.standing // max(passing.rows, 1)):  # after as many as there are, it sweeps
        index.remove(index.add(passing))


def brute_force_answers(stream: Stream, rows: Int64, posts: PlacedPosts) -> Int64:
    """Return what of these conjunctions matches, as numbers of post and conjunction in one, rising."""
    oracle = PlacedBruteForce()
    oracle.add(stream.placed(rows))
    matches = oracle.match(posts).sets
    return pairs(Csr(matches.offsets, rows[matches.values].astype(np.int32)))


def first_posts(posts: PlacedPosts, count: int) -> PlacedPosts:
    """Return the first few of them."""
    count = min(count, len(posts.lat))
    return PlacedPosts(posts.terms.slice(0, count), posts.lat[:count], posts.lon[:count])


def _check_equal(batch: Batch, expected: Int64, found: Int64) -> None:
    if not np.array_equal(expected, found):
        wrong = int(np.setxor1d(expected, found)[0])
        raise TidegateError(
            f"post {batch.first + (wrong >> 32)} and conjunction {wrong & 0xFFFFFFFF}: {GI2} and {FLAT_GRID} do not "
            "agree on whether they match"
        )


def _check_brute_force(stream: Stream, found: Int64) -> None:
    posts = first_posts(stream.batches[-1].posts, _CHECKED)
    expected = brute_force_answers(stream, stream.living(len(stream.batches)), posts)
    if not np.array_equal(expected, found[found >> 32 < len(posts.lat)]):
        raise TidegateError(f"the first {len(posts.lat)} posts of the last batch match other queries by brute force")
