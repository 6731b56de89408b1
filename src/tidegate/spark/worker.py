"""What runs in a Python worker: routing and matching one partition of a batch.

A worker serves many tasks; it opens a store once, and keeps its segments mapped and its lexicons learned.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from math import inf
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext

from tidegate.csr import Csr, Int64
from tidegate.errors import PipelineError, StoreError
from tidegate.route.hot_words import post_hashes
from tidegate.route.placement import HEAD
from tidegate.route.plan import Plan
from tidegate.route.shedding import Shedding
from tidegate.route.visits import Visits, unpacked
from tidegate.spark.columns import MATCHER, VISITS, Columns, Shape
from tidegate.spark.counts import Counts, count_row, line_row
from tidegate.spark.glimpsing import drawn_line
from tidegate.spark.receive import Receiver
from tidegate.store.dead_letters import DeadLetters
from tidegate.store.location import Location
from tidegate.store.standing import Part
from tidegate.store.store import Store

Batches = Iterator[pa.RecordBatch]
# Matches of one output batch: a post may have thousands, and a batch has to fit into memory on both sides.
_OUTPUT_MATCHES = 1 << 18
# Visits of one output batch, each of which has all that a post carries.
_OUTPUT_VISITS = 1 << 14
# A visit is one number: the matcher, and above it a fingerprint of the cover.
_MATCHER_BITS = 12
MATCHER_MASK = (1 << _MATCHER_BITS) - 1


@dataclass(frozen=True)
class Task:
    """What the functions below are told by the driver. Small: it is pickled into every task."""

    location: Location
    identity: str
    """Of the store that was there when the job was built."""
    columns: Columns
    carried: tuple[str, ...]
    shape: Shape
    plan: Plan
    version: int | None
    """The version of the store to match against; None: the one that the micro-batch pins."""
    origin: str
    """Where dead letters come from, unless the micro-batch says so."""
    shedding: Shedding = field(default_factory=Shedding)
    draws: int = 0
    """How many posts are drawn from each batch of Arrow's, for a glimpse of the stream."""

    @property
    def store(self) -> Store:
        """The store, as this process has it."""
        return store_at(self.location, self.identity)

    def store_version(self) -> int:
        """The version that this task's batch is matched against."""
        if self.version is not None:
            return self.version
        return _pinned(self.location, self.identity, *_batch(), self.plan.version)

    def receiver(self) -> Receiver:
        """Who receives this task's posts."""
        origin = self.origin
        if self.version is None:
            query, batch = _batch()
            origin = f"{query}/{batch:012}"
        letters = DeadLetters(self.store.beside)
        return Receiver(self.columns, letters, f"{origin}-{_context().partitionId():06}")


@lru_cache(maxsize=8)
def store_at(location: Location, identity: str) -> Store:
    """This process's own store object for a location."""
    store = Store(location)
    if store.table.identity != identity:
        raise StoreError(f"{location.url}: another store has been made here since the job was built: start it anew")
    return store


@lru_cache(maxsize=8)
def _pinned(location: Location, identity: str, query: str, batch: int, plan: int) -> int:
    return store_at(location, identity).pin(query, batch, plan).store


def _batch() -> tuple[str, int]:
    """The streaming query and the micro-batch of this task."""
    context = _context()
    query = context.getLocalProperty("sql.streaming.queryId")
    batch = context.getLocalProperty("streaming.sql.batchId")
    if query is None or batch is None:
        raise PipelineError("the job of a stream does not say which micro-batch it is for: this Spark is not supported")
    return query, int(batch)


def _context() -> TaskContext:
    context = TaskContext.get()
    if context is None:
        raise PipelineError("a stage runs outside of Spark")
    return context


def matching(task: Task) -> Callable[[Batches], Batches]:
    """Return the stage of plan *replicate*: receive and match, no shuffle."""

    def match(batches: Batches) -> Batches:
        standing = task.store.opener.standing(task.store_version(), task.plan)
        receiver = task.receiver()
        schema: pa.Schema | None = None
        for batch in batches:
            posts, dead = receiver.good(batch)
            schema = schema or match_schema(posts.schema, task)
            counts = Counts(posts=batch.num_rows, dead=dead)
            yield from _drawn(posts, task, schema)
            yield from _match(posts, standing.match(posts, None, **task.columns.read), task, schema, counts, 0)

    return match


def routing(task: Task) -> Callable[[Batches], Batches]:
    """Return the first stage of a partitioned plan: receive, say who is to see each post, and match the head."""

    def route(batches: Batches) -> Batches:
        ways = task.store.opener.routing(task.store_version(), task.plan)
        receiver = task.receiver()
        beyond = _context().partitionId() % task.plan.matchers
        schema: pa.Schema | None = None
        for batch in batches:
            posts, dead = receiver.good(batch)
            schema = schema or visit_schema(posts.schema, task)
            visits, head = ways.route(posts, task.columns.id, **task.columns.read)
            counts = Counts(posts=batch.num_rows, dead=dead, wanted=visits.histogram())
            if task.shedding.most < inf:
                kept = task.shedding.kept(visits, post_hashes(posts.column(task.columns.id)))
                counts.shed = len(visits) - len(kept)
                visits = kept
            yield from _visits(posts, visits, ways.fingerprint, schema)
            matches = match_schema(posts.schema, task)
            for found in chain(_drawn(posts, task, matches), _match(posts, head, task, matches, counts, HEAD)):
                yield _on_the_way(found, packed(ways.fingerprint, beyond), schema)

    return route


def partition_matching(task: Task) -> Callable[[Batches], Batches]:
    """Return the second stage of a partitioned plan: each post against the subscriptions of one matcher."""

    def match(batches: Batches) -> Batches:
        opener = task.store.opener
        version = task.store_version()
        fingerprint = opener.cover(version, task.plan).fingerprint
        standing = lru_cache(maxsize=None)(lambda matcher: opener.standing(version, task.plan, matcher))
        for batch in batches:
            schema = match_schema(batch.schema, task)
            matched = batch.column(task.shape.together[0].name).is_valid()
            yield batch.filter(matched).select(schema.names)
            posts = batch.filter(pc.invert(matched))
            visits = posts.column(MATCHER).to_numpy()
            if (visits >> _MATCHER_BITS != fingerprint).any():
                raise PipelineError(
                    f"{task.location.url}: what is derived of version {version} was made anew between routing and "
                    "matching, and may lie elsewhere: let the batch run again"
                )
            numbers = visits & MATCHER_MASK
            for matcher in np.unique(numbers).tolist():
                seen = posts.filter(pa.array(numbers == matcher))
                every = unpacked(seen.column(VISITS)) if task.plan.makes_copies else None
                parts = standing(matcher).match(seen, every, **task.columns.read)
                yield from _match(seen, parts, task, schema, Counts(), matcher)

    return match


def packed(fingerprint: int, matchers: Any) -> Any:
    """Return numbers of matchers with the cover that posts were routed by, as they travel."""
    return (fingerprint << _MATCHER_BITS) | matchers


def visit_schema(posts: pa.Schema, task: Task) -> pa.Schema:
    """The schema of posts on their way to matchers, and of matches and counts that are on the way already."""
    lists = [field for field in match_schema(posts, task) if field.name not in task.carried]
    ways = [(MATCHER, pa.int32()), *([(VISITS, pa.list_(pa.int16()))] if task.plan.makes_copies else [])]
    return pa.schema([*posts, *lists, *ways])


def match_schema(posts: pa.Schema, task: Task) -> pa.Schema:
    """The schema of matches, of posts of a schema."""
    pair = pa.struct([(name, pa.string()) for name in task.shape.names])
    kind = pa.list_(pair if task.shape.paired else pa.string())
    return pa.schema([*(posts.field(name) for name in task.carried), *((f.name, kind) for f in task.shape.together)])


def _drawn(posts: pa.RecordBatch, task: Task, schema: pa.Schema) -> Batches:
    """Some posts on one line, if any are wanted and there are any."""
    if task.draws and posts.num_rows:
        yield line_row(drawn_line(posts, task.columns, task.draws), schema, task.shape)


def _match(
    posts: pa.RecordBatch, parts: Iterator[Part], task: Task, schema: pa.Schema, counts: Counts, matcher: int
) -> Batches:
    found = [_ranked(part) for part in parts] if task.shape.ranked else list(parts)
    counts.candidates += sum(part.found.candidates for part in found)
    counts.matches += sum(len(part.subscriptions.values) for part in found)
    for begin, end in _ranges(found, posts.num_rows):
        named = [_named(part, begin, end, task.shape) for part in found]
        yield from _rows(posts.slice(begin, end - begin), _together(named), task, schema)
    if matcher != HEAD:
        counts.visits += posts.num_rows
        counts.visited[matcher] += posts.num_rows
        counts.loads[matcher] += posts.num_rows + counts.candidates
    yield count_row(counts, schema, task.shape)


def _ranges(found: list[Part], rows: int) -> Iterator[tuple[int, int]]:
    """Cut posts into ranges with a bounded number of matches; a post with more is a range of its own."""
    ends = sum((part.subscriptions.offsets[1:] for part in found), np.zeros(rows, np.int64))
    begin = 0
    while begin < rows:
        before = ends[begin - 1] if begin else 0
        end = max(begin + 1, int(np.searchsorted(ends, before + _OUTPUT_MATCHES, side="right")))
        yield begin, end
        begin = end


class Named(NamedTuple):
    """Matches by name, in the order of their posts."""

    per_post: Int64
    """By post: how many."""
    names: list[pa.StringArray]
    """By match: ids, and what else the shape wants of a subscription."""


def _named(part: Part, begin: int, end: int, shape: Shape) -> Named:
    offsets, numbers = part.subscriptions.slice(begin, end)
    roster = part.compiled.roster
    names = [roster.ids(numbers)]
    if shape.subscribers:
        names.append(roster.holders(numbers))
    if shape.ranked:
        names.append(roster.rankings_of(numbers))
    return Named(np.diff(offsets), names)


def _ranked(part: Part) -> Part:
    """The matches that are to be ranked."""
    offsets, numbers = part.subscriptions
    ranked = part.compiled.roster.are_ranked(numbers)
    before = np.concatenate([[0], np.cumsum(ranked)])
    return part._replace(subscriptions=Csr(before[offsets], numbers[ranked]))


def _together(found: list[Named]) -> Named | None:
    """The matches of all levels."""
    found = [named for named in found if len(named.names[0])]
    if len(found) <= 1:
        return found[0] if found else None
    of_post = np.concatenate([np.repeat(np.arange(len(named.per_post)), named.per_post) for named in found])
    order = pa.array(np.argsort(of_post, kind="stable"))
    columns = zip(*(named.names for named in found), strict=True)
    per_post = np.sum([named.per_post for named in found], axis=0)
    return Named(per_post, [pa.concat_arrays(list(column)).take(order) for column in columns])


def _rows(posts: pa.RecordBatch, found: Named | None, task: Task, schema: pa.Schema) -> Batches:
    """One row for every post that matches."""
    if found is None:
        return
    rows = np.flatnonzero(found.per_post)
    ends = np.cumsum(found.per_post[rows])
    offsets = pa.array(np.concatenate([[0], ends]), pa.int32())
    names = found.names
    if task.shape.paired:
        names = [pa.StructArray.from_arrays(names, task.shape.names)]
    columns = [posts.column(name).take(pa.array(rows)) for name in task.carried]
    lists = [pa.ListArray.from_arrays(offsets, column) for column in names]
    yield pa.RecordBatch.from_arrays([*columns, *lists], schema=schema)


def _visits(posts: pa.RecordBatch, visits: Visits, fingerprint: int, schema: pa.Schema) -> Batches:
    """One row for every visit, in batches of a bounded size however many visits a post makes."""
    rows, matchers = visits.post_of, packed(fingerprint, visits.matchers.values)
    every = visits.lists() if VISITS in schema.names else None
    for begin in range(0, len(rows), _OUTPUT_VISITS):
        end = begin + _OUTPUT_VISITS
        visiting = posts.take(pa.array(rows[begin:end]))
        ways = pa.array(matchers[begin:end], pa.int32())
        columns = {**dict(zip(posts.schema.names, visiting.columns, strict=True)), MATCHER: ways}
        if every is not None:
            columns[VISITS] = every.take(pa.array(rows[begin:end]))
        yield _batch_of(columns, visiting.num_rows, schema)


def _on_the_way(found: pa.RecordBatch, way: int, schema: pa.Schema) -> pa.RecordBatch:
    """Matches and counts of the router, which a matcher passes on."""
    columns = dict(zip(found.schema.names, found.columns, strict=True))
    return _batch_of(
        {**columns, MATCHER: pa.repeat(pa.scalar(way, pa.int32()), found.num_rows)}, found.num_rows, schema
    )


def _batch_of(columns: dict[str, pa.Array], rows: int, schema: pa.Schema) -> pa.RecordBatch:
    """A batch of a schema with these columns; the others are null."""
    arrays = [columns[field.name] if field.name in columns else pa.nulls(rows, field.type) for field in schema]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
