"""How much memory many queries take in the index people use."""

import resource
from collections.abc import Iterator
from typing import Final

import numpy as np

from tidegate.bench.report import Report, Row
from tidegate.bench.route.clocks import timed
from tidegate.bench.spatial.one_core import brute_force_answers, first_posts, pairs
from tidegate.bench.spatial.rivals import FLAT_GRID, INDEXES
from tidegate.bench.spatial.stream import Stream
from tidegate.bench.spatial.world import World
from tidegate.errors import TidegateError

_TUPLES: Final = 12_000
_CHECKED: Final = 2  # posts that brute force sees


def report_memory(report: Report, world: World, held: tuple[int, ...], seed: int) -> Iterator[str]:
    """Fill the index with so many Q1 queries each time; yield what comes next."""
    rows = []
    for queries in held:
        yield f"memory of {queries:,} queries"
        rows.append(_held(world, queries, seed))
    if rows:
        report.section(
            f"Memory, {world.name}: Q1 queries in {FLAT_GRID}",
            rows,
            "GB are 10⁹ bytes. The peak is that of the whole process so far, with the queries as they were generated.",
        )


def _held(world: World, queries: int, seed: int) -> Row:
    stream = Stream.draw(world, "q1", queries, _TUPLES, _TUPLES, seed)
    index = INDEXES[FLAT_GRID](world.bounds)
    took, _ = timed(lambda: stream.fill(index))
    posts = stream.batches[0].posts
    matching, matches = timed(lambda: index.match(posts))
    found, checked = pairs(matches.sets), first_posts(posts, _CHECKED)
    expected = brute_force_answers(stream, np.arange(stream.standing), checked)
    if not np.array_equal(expected, found[found >> 32 < len(checked.lat)]):
        raise TidegateError(f"with {queries:,} queries, {FLAT_GRID} and brute force do not find the same matches")
    return {
        "queries": stream.standing_queries,
        "conjunctions": stream.standing,
        "GB": index.nbytes / 1e9,
        "bytes a query": index.nbytes / stream.standing_queries,
        "filling, s": took,
        "µs a post": 1e6 * matching / len(posts.lat),
        "peak of the process, GB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9,
    }
