"""What runs in a Python worker when matches are ranked: slicing, holding, and unpacking what is delivered."""

from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import (
    ExpiredTimerInfo,
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)

from tidegate.errors import PipelineError
from tidegate.rank.bundle import Bundle, PostColumns, times
from tidegate.rank.holding import Held, advance
from tidegate.rank.selection import NEVER
from tidegate.rank.slicing import Sliced, Slicing, sliced

Batches = Iterator[pa.RecordBatch]

BUCKET, CLOCK, NEWEST = "_bucket", "_clock", "_newest"
SLICE_COUNTS = ("matches", "sent", "sent_bytes", "aside")
SENT = (
    f"{BUCKET} int, {NEWEST} timestamp, slice bigint, bundle binary, unranked binary, "
    "matches bigint, sent bigint, sent_bytes bigint, aside bigint"
)
"""Rows with a bundle have no time: Spark drops rows whose time has passed, and posts in windows by count do not age.
One row of each slice has the time of its newest post, by which the watermark moves, and counts; and nothing else."""

STEP_COUNTS = ("feeds", "held", "held_bytes", "late", "delivered")
STEP = "result binary, feeds bigint, held bigint, held_bytes bigint, late bigint, delivered bigint"

_SENT = pa.schema(
    [
        pa.field(BUCKET, pa.int32()),
        pa.field(NEWEST, pa.timestamp("us", tz="UTC")),
        pa.field("slice", pa.int64()),
        pa.field("bundle", pa.binary()),
        pa.field("unranked", pa.binary()),
        *(pa.field(name, pa.int64()) for name in SLICE_COUNTS),
    ]
)
_STATE = "bundle binary, closed bigint, timer bigint, buckets int"
# Slices of a partition are numbered below this.
_SLICES = 1 << 32
_US_IN_MS = 1_000


def slicing(how: Slicing, schema: pa.Schema, rows: int, ahead: int) -> Callable[[Batches], Batches]:
    """Return the function that sends on what windows need of the matches of a partition, `rows` of them at a time.

    Matches are read with the columns of a schema: in whatever time zone a session is, what they hold is of one type.
    Beside those they have a `BUCKET`, and a `CLOCK` that posts may be `ahead` of by so many microseconds. It is that of
    the micro-batch: one that is repeated sets the same posts aside.
    """

    def slice_(batches: Batches) -> Batches:
        context = TaskContext.get()
        partition = 0 if context is None else context.partitionId()
        for number, gathered in enumerate(_gathered(batches, rows, how.columns.id)):
            bucket = gathered.column(BUCKET).to_numpy()
            latest = int(times(gathered.slice(0, 1), PostColumns(time=CLOCK))[0]) + ahead
            found = sliced(_conformed(gathered, schema), bucket, how, latest)
            yield from _sent(found, partition * _SLICES + number, gathered.num_rows)

    return slice_


def unpacking(schema: pa.Schema) -> Callable[[Batches], Batches]:
    """Return the function that makes rows of what steps have delivered, with the columns of a schema."""

    def unpack(batches: Batches) -> Batches:
        for batch in batches:
            for result in batch.column("result"):
                if result.is_valid:
                    yield from _conformed(pa.ipc.open_stream(result.as_buffer()).read_all(), schema).to_batches()

    return unpack


class Feeds(StatefulProcessor):
    """What buckets of subscribers hold: one value each, read and written whole."""

    def __init__(self, columns: PostColumns, idle: int | None, buckets: int, *, apart: bool = False) -> None:
        """Say how posts are read, after how many microseconds a silent feed is forgotten, and how many buckets are.

        A bucket refuses to go on among more or fewer than it began with: it would hold feeds that others go on with.
        `apart` is as slices are made by.
        """
        self._columns, self._idle, self._buckets, self._apart = columns, idle, buckets, apart

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Take hold of the state of a partition."""
        self._handle = handle
        self._state = handle.getValueState("held", _STATE)

    # Both are no generators: Spark says which bucket is meant before the call, not before each row of its answer.
    def handleInputRows(self, key: object, rows: Iterator[Row], timerValues: TimerValues) -> Iterator[Row]:  # noqa: N802
        """Add the slices of a micro-batch."""
        sent = sorted((row for row in rows if row.slice is not None), key=lambda row: int(row.slice))
        bundles = [Bundle.from_bytes(row.bundle) for row in sent if row.bundle is not None]
        unranked = [_step(bytes(row.unranked)) for row in sent if row.unranked is not None]
        return iter([*unranked, *self._advanced(bundles, timerValues)])

    def handleExpiredTimer(  # noqa: N802
        self,
        key: object,
        timerValues: TimerValues,
        expiredTimerInfo: ExpiredTimerInfo,
    ) -> Iterator[Row]:
        """Deliver windows of time that have ended, and forget who is gone."""
        return iter(self._advanced([], timerValues))

    def close(self) -> None:
        """Nothing is open."""

    def _advanced(self, bundles: list[Bundle], now: TimerValues) -> list[Row]:
        state = self._state.get()
        if state is not None and state[3] != self._buckets:
            raise PipelineError(f"this stream began with {state[3]} buckets, not {self._buckets}: give as many")
        held = None if state is None else Held(Bundle.from_bytes(bytes(state[0])), int(state[1]))
        if held is None and not bundles:
            return []
        milliseconds = now.getCurrentWatermarkInMs()
        # Spark's watermark is 1970 until there is one.
        watermark = milliseconds * _US_IN_MS if milliseconds > 0 else NEVER
        done = advance(held, bundles, self._columns, watermark, self._idle, apart=self._apart)
        timer = self._timer(None if state is None else state[2], done.due)
        feeds, entries, _ = done.held.bundle
        data = done.held.bundle.to_bytes()
        if feeds.num_rows:
            self._state.update((data, done.held.closed, timer, self._buckets))
        else:
            self._state.clear()
        result = _written(done.delivered) if done.delivered.num_rows else None
        return [_step(result, feeds.num_rows, entries.num_rows, len(data), done.late, done.delivered.num_rows)]

    def _timer(self, before: int | None, due: int | None) -> int | None:
        """Have the bucket called when something is due, and not when it was before."""
        # A timer that is not after the watermark would be called at once, and never again; that of 1970 is none yet.
        wanted = None if due is None else max(1, -(-due // _US_IN_MS))
        if wanted != before:
            if before is not None:
                self._handle.deleteTimer(before)
            if wanted is not None:
                self._handle.registerTimer(wanted)
        return wanted


def _step(result: bytes | None, feeds: int = 0, held: int = 0, size: int = 0, late: int = 0, delivered: int = 0) -> Row:
    return Row(result=result, feeds=feeds, held=held, held_bytes=size, late=late, delivered=delivered)


def _gathered(batches: Batches, rows: int, id_: str) -> Iterator[pa.Table]:
    """Batches together, as many as have about so many rows; never some of a post's matches that follow each other."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(one.num_rows for one in waiting) >= rows:
            table = pa.Table.from_batches(waiting)
            end = _last_post(table.column(id_))
            if end:
                yield table.slice(0, end)
            waiting = table.slice(end).to_batches()
    if sum(one.num_rows for one in waiting):
        yield pa.Table.from_batches(waiting)


def _last_post(ids: pa.ChunkedArray) -> int:
    """Where the matches of the last post begin; their end if it has no id."""
    is_last = pc.fill_null(pc.equal(ids, ids[-1]), False).to_numpy()
    return int(np.flatnonzero(~is_last).max(initial=-1)) + 1


def _sent(found: Sliced, number: int, n_matches: int) -> Batches:
    size = 0
    for name, bundle in found.bundles():
        data = bundle.to_bytes()
        size += len(data)
        yield _row({BUCKET: name, "slice": number, "bundle": data})
    if found.aside.num_rows:
        # Whose they are does not matter: nothing is held of them.
        yield _row({BUCKET: 0, "slice": number, "unranked": _written(found.aside)})
    counts = (n_matches, len(found.sent.feed), size, found.aside.num_rows)
    yield _row({BUCKET: 0, NEWEST: found.newest, **dict(zip(SLICE_COUNTS, counts, strict=True))})


def _row(values: dict[str, object]) -> pa.RecordBatch:
    columns = [pa.array([values.get(one.name)], one.type) for one in _SENT]
    return pa.RecordBatch.from_arrays(columns, schema=_SENT)


def _written(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def _conformed(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """A table with the columns of a schema; what it does not have is null."""
    columns = [
        table.column(one.name).cast(one.type) if one.name in table.schema.names else pa.nulls(table.num_rows, one.type)
        for one in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)
