"""Matcher clocks: the work of a cluster really done, one matcher after the other, each with its own clock.

A core receives and routes its share of the posts, and matches what comes to its matcher; posts travel as Arrow batches
that are really written and read. The cluster is as fast as its slowest core.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from time import process_time
from typing import NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tidegate.bench.every_word import over_every_word
from tidegate.csr import Int64
from tidegate.errors import TidegateError
from tidegate.index.asked import Asked
from tidegate.index.common_reading import CommonReading, View
from tidegate.index.compiled import Compiled
from tidegate.index.found import Found
from tidegate.index.strings import strings
from tidegate.route.copies import Duty
from tidegate.route.hot_words import post_hashes
from tidegate.route.placement import HEAD, place
from tidegate.route.plan import Plan
from tidegate.route.router import Router
from tidegate.route.visits import Visits, unpacked
from tidegate.route.word_map import WordMap
from tidegate.text.analyzer import Analyzer

_VISITS = "visits"
_BATCH = 1_000_000  # hundreds of matchers get through it in a moment; what each is sent is no handful even so
_Result = TypeVar("_Result")
_ROUNDS = 4  # in the first, lexicons learn the words of the stream; of the others, the best counts


@dataclass(frozen=True)
class Clocked:
    """What was measured of one plan."""

    plan: Plan
    posts: int
    router_s: float
    """Of all routers together: reading, routing, matching the head, and writing what travels."""
    matcher_s: tuple[float, ...]
    """By matcher: receiving, reading and matching."""
    visits: int
    sent_bytes: int
    host_bytes: int
    """The most that a host of some matchers holds of the index: its matchers' segments, and the head once."""
    head: float
    """The share of the subscriptions that are in the head."""
    matches: Int64
    """The matches as numbers, post and subscription in one, sorted."""

    @property
    def throughput(self) -> float:
        """Posts a second."""
        return self.posts / (self.router_s / len(self.matcher_s) + max(self.matcher_s))

    @property
    def spread(self) -> float:
        """Visits of a post."""
        return self.visits / self.posts

    @property
    def imbalance(self) -> float:
        """What the slowest matcher takes over the mean."""
        return float(max(self.matcher_s) / np.mean(self.matcher_s))

    def shared_by(self, matchers: int) -> "Clocked":
        """Return what it would be if all posts were dealt out to so many matchers that do the same."""
        return replace(self, matcher_s=(sum(self.matcher_s) / matchers,) * matchers)

    def checked(self, other: "Clocked") -> "Clocked":
        """Return the run without its matches, if they are those of another one; else raise `TidegateError`."""
        if not np.array_equal(self.matches, other.matches):
            raise TidegateError(
                f"plan {self.plan} found {len(self.matches):,} matches, and plan {other.plan} {len(other.matches):,}, "
                "which are not the same"
            )
        return replace(self, matches=self.matches[:0].copy())


class Segment(NamedTuple):
    """What a matcher holds."""

    compiled: Compiled
    view: View
    duty: Duty | None
    numbers: Int64
    """By subscription here: its number among all."""


def replicated(asked: Asked, posts: pa.Table) -> Clocked:
    """Run plan *replicate* on one core, which matches all posts against everything; it may be `shared_by` many."""
    analyzer = Analyzer()
    reading = CommonReading(analyzer.profile)
    segment = _segment(asked, np.ones(len(asked.queries), np.bool_), analyzer, reading, None)
    best = float("inf")
    for _ in range(_ROUNDS):
        seconds, matches = 0.0, []
        for batch in posts.to_batches(_BATCH):
            took, found = timed(partial(_match, segment, reading, batch))
            seconds += took
            matches.append(_pairs(found, segment, batch))
        best = min(best, seconds)
    size = _bytes(segment.compiled)
    return Clocked(Plan.replicate(), posts.num_rows, 0.0, (best,), 0, 0, size, 1.0, np.sort(np.concatenate(matches)))


def clocked(
    plan: Plan, words: WordMap | None, asked: Asked, posts: pa.Table, *, per_host: int = 8, every_word: bool = False
) -> Clocked:
    """Run a plan that partitions, over posts with columns `id` (a number) and `text`.

    With `every_word`, a post visits the owners of all its subscribed words, as in S³-TM; else only where keys lead.
    """
    analyzer = Analyzer()
    placement = place(asked.queries, plan, words)
    router = Router.build(placement, analyzer)
    if every_word and words is not None:
        terms = sorted({term for query in asked.queries for one in query.conjunctions for term in one.positive})
        owners = words.owners_of(terms)
        is_asked, reached = np.ones(len(terms), np.bool_), np.ones(len(owners.values), np.int64)
        router = over_every_word(router, strings(terms), owners, is_asked, reached)
    reading = CommonReading(analyzer.profile)
    way = reading.add(router.keys)
    homes = np.repeat(np.arange(placement.homes.rows), np.diff(placement.homes.offsets))
    segments = {}
    for matcher in range(HEAD, plan.matchers):
        wanted = np.zeros(len(asked.queries), np.bool_)
        wanted[homes[placement.homes.values == matcher]] = True
        segments[matcher] = _segment(asked, wanted, analyzer, reading, None if matcher == HEAD else (router, matcher))
    clocks = []
    for _ in range(_ROUNDS):
        run = _Run(plan, reading, router, way, segments)
        for batch in posts.to_batches(_BATCH):
            run.take(batch)
        clocks.append((run.router_s, *run.matcher_s))
    router_s, *matcher_s = np.min(clocks, axis=0).tolist()
    sizes = {matcher: _bytes(segment.compiled) for matcher, segment in segments.items()}
    held = sorted((sizes[matcher] for matcher in range(plan.matchers)), reverse=True)
    return Clocked(
        plan,
        posts.num_rows,
        router_s,
        tuple(matcher_s),
        run.visits,
        run.sent_bytes,
        sizes[HEAD] + sum(held[:per_host]),
        len(segments[HEAD].numbers) / max(len(asked.ids), 1),
        np.sort(np.concatenate([np.empty(0, np.int64), *run.matches])),
    )


class _Run:
    """One pass over the posts."""

    def __init__(
        self, plan: Plan, reading: CommonReading, router: Router, way: View, segments: dict[int, Segment]
    ) -> None:
        self._plan, self._reading, self._router, self._way, self._segments = plan, reading, router, way, segments
        self.router_s, self.matcher_s = 0.0, [0.0] * plan.matchers
        self.visits, self.sent_bytes = 0, 0
        self.matches: list[Int64] = []

    def take(self, batch: pa.RecordBatch) -> None:
        """Route a batch, and let every matcher see its part."""
        took, (visits, head, parcels) = timed(lambda: self._route(batch))
        self.router_s += took
        self.visits += len(visits.matchers.values)
        self.sent_bytes += sum(len(parcel) for parcel in parcels.values())
        if head is not None:
            self.matches.append(_pairs(head, self._segments[HEAD], batch))
        for matcher, parcel in parcels.items():
            segment = self._segments[matcher]
            took, (posts, found) = timed(partial(self._receive, parcel, segment))
            self.matcher_s[matcher] += took
            self.matches.append(_pairs(found, segment, posts))

    def _route(self, batch: pa.RecordBatch) -> tuple[Visits, Found | None, dict[int, pa.Buffer]]:
        read = self._reading.read(batch)
        hashes = post_hashes(batch.column("id")) if self._router.draws else None
        visits = self._router.route_read(self._way(read).terms, hashes)
        head = self._segments[HEAD]
        found = head.compiled.match_read(head.view(read), batch) if len(head.numbers) else None
        if found is not None:
            found.subscriptions  # noqa: B018  (asked for here: it belongs to the router's time)
        order = np.argsort(visits.matchers.values, kind="stable")
        rows = visits.post_of[order]
        ends = np.cumsum(np.bincount(visits.matchers.values, minlength=self._plan.matchers))
        going = batch.append_column(_VISITS, visits.lists()).take(pa.array(rows))
        parcels = {}
        for matcher in range(self._plan.matchers):
            begin = int(ends[matcher - 1]) if matcher else 0
            if ends[matcher] > begin:
                parcels[matcher] = written(going.slice(begin, int(ends[matcher]) - begin))
        return visits, found, parcels

    def _receive(self, parcel: pa.Buffer, segment: Segment) -> tuple[pa.RecordBatch, Found]:
        posts = received(parcel)
        return posts, _match(segment, self._reading, posts)


def _match(segment: Segment, reading: CommonReading, posts: pa.RecordBatch) -> Found:
    found = segment.compiled.match_read(segment.view(reading.read(posts)), posts)
    if segment.duty is not None:
        found = replace(found, queries=segment.duty.answered(found.queries, unpacked(posts.column(_VISITS))))
    found.subscriptions  # noqa: B018  (asked for here: it belongs to the matcher's time)
    return found


def _segment(
    asked: Asked, wanted: NDArray[np.bool_], analyzer: Analyzer, reading: CommonReading, at: tuple[Router, int] | None
) -> Segment:
    part = asked.only(wanted)
    compiled = Compiled.of(part, analyzer)
    duty = None if at is None else at[0].copies.duty(at[1], compiled.canonical)
    numbers = compiled.roster.ids(np.arange(len(compiled), dtype=np.int32)).cast(pa.int64()).to_numpy()
    return Segment(compiled, reading.add(compiled.terms, compiled.surfaces), duty, numbers)


def _pairs(found: Found, segment: Segment, posts: pa.RecordBatch) -> Int64:
    ids = posts.column("id").to_numpy()
    of_post = np.repeat(ids, np.diff(found.subscriptions.offsets))
    pairs: Int64 = (of_post << 32) | segment.numbers[found.subscriptions.values]
    return pairs


def written(posts: pa.RecordBatch) -> pa.Buffer:
    """Return posts as they travel."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, posts.schema) as writer:
        writer.write_batch(posts)
    return sink.getvalue()


def received(parcel: pa.Buffer) -> pa.RecordBatch:
    """Return posts that have travelled."""
    return pa.ipc.open_stream(parcel).read_next_batch()


def _bytes(compiled: Compiled) -> int:
    """What is mapped of a segment to match by: the index and what leads from its sets to subscriptions."""
    arrays = [*compiled.index.arrays.values(), compiled.resolution.direct, *compiled.resolution.conjunctions]
    return sum(array.nbytes for array in arrays) + compiled.roster.bounds.nbytes


def timed(work: Callable[[], _Result]) -> tuple[float, _Result]:
    """Return the seconds of a core that work took, whoever else uses the machine, and its result."""
    start = process_time()
    result = work()
    return process_time() - start, result
