import json
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

from tidegate.errors import ConfigError
from tidegate.spark.sources.microblog import MicroblogReader, MicroblogSource, MicroblogStreamReader, Range, Settings
from tidegate.workload.microblog import BLOCK, SCHEMA, Microblog

BEGAN = datetime(2026, 5, 1, tzinfo=UTC)


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.time = BEGAN

    def __call__(self) -> datetime:
        return self.time

    def pass_seconds(self, seconds: float) -> None:
        self.time += timedelta(seconds=seconds)


def stream_reader(clock: Clock | None = None, **options: object) -> MicroblogStreamReader:
    return MicroblogStreamReader(Settings.of({key: str(value) for key, value in options.items()}), clock or Clock())


def rows(reader: MicroblogReader | MicroblogStreamReader, parts: Sequence[InputPartition]) -> pa.Table:
    return pa.Table.from_batches([batch for part in parts for batch in reader.read(part)], schema=SCHEMA)


def batches(reader: MicroblogStreamReader, most: int) -> list[int]:
    """The sizes of the next micro-batches, up to the first empty one."""
    offset, sizes = reader.initialOffset(), []
    for _ in range(most):
        end = reader.latestOffset(offset, reader.getDefaultReadLimit())
        if end == offset:
            break
        sizes.append(end["posts"] - offset["posts"])
        offset = end
    return sizes


def test_posts_fall_due_as_time_passes_and_never_before() -> None:
    clock = Clock()
    reader = stream_reader(clock, rowsPerSecond=100)
    first = reader.initialOffset()
    assert reader.latestOffset(first, ReadAllAvailable()) == first
    clock.pass_seconds(2.345)
    second = reader.latestOffset(first, ReadAllAvailable())
    assert second["posts"] == 234
    clock.pass_seconds(-1)  # a clock set back takes no post back
    assert reader.latestOffset(second, ReadAllAvailable()) == second


def test_a_slow_consumer_gets_bounded_batches_and_sees_its_lag() -> None:
    clock = Clock()
    reader = stream_reader(clock, rowsPerSecond=100, maxRowsPerBatch=300)
    assert reader.reportLatestOffset() is None
    first = reader.initialOffset()
    clock.pass_seconds(10)
    assert reader.latestOffset(first, reader.getDefaultReadLimit())["posts"] == 300
    assert reader.reportLatestOffset() == first | {"posts": 1000}


def test_a_restarted_query_keeps_the_pace_and_the_times_of_its_offset() -> None:
    clock = Clock()
    offset = stream_reader(clock, rowsPerSecond=10).initialOffset()
    clock.pass_seconds(60)
    restarted = stream_reader(clock, rowsPerSecond=10)
    end = restarted.latestOffset(json.loads(json.dumps(offset)), ReadAllAvailable())
    assert end == {"posts": 600, "start": BEGAN.isoformat(), "began": BEGAN.isoformat()}


def test_a_query_that_died_in_its_first_batch_reads_the_same_posts_again() -> None:
    clock = Clock()
    reader = stream_reader(clock, rowsPerBatch=100)
    first = reader.initialOffset()
    end = reader.latestOffset(first, ReadMaxRows(100))
    clock.pass_seconds(60)
    restarted = stream_reader(clock, rowsPerBatch=100)
    again = rows(restarted, restarted.partitions(restarted.initialOffset(), end))
    assert again.equals(rows(reader, reader.partitions(first, end)))


def test_a_fixed_number_of_rows_per_batch_takes_precedence_until_the_limit() -> None:
    assert batches(stream_reader(rowsPerBatch=400, rowsPerSecond=1, limit=1000), most=9) == [400, 400, 200]
    assert batches(stream_reader(rowsPerBatch=400), most=9) == [400] * 9


def test_available_now_stops_the_clock() -> None:
    clock = Clock()
    reader = stream_reader(clock, rowsPerSecond=100, maxRowsPerBatch=300)
    offset = reader.initialOffset()
    clock.pass_seconds(5)
    reader.prepareForTriggerAvailableNow()
    clock.pass_seconds(5)
    assert reader.latestOffset(offset, ReadAllAvailable())["posts"] == 500


def test_available_now_refuses_rows_that_never_run_out() -> None:
    with pytest.raises(ConfigError, match="give limit too"):
        stream_reader(rowsPerBatch=10).prepareForTriggerAvailableNow()


@pytest.mark.parametrize("partitions", [1, 2, 3, 7, 50])
def test_rows_do_not_depend_on_the_partitions(partitions: int) -> None:
    reader = stream_reader(seed=3, rowsPerBatch=1, partitions=partitions)
    begin, end = ({"posts": n, "start": BEGAN.isoformat()} for n in (BLOCK // 2, 5 * BLOCK + 1))
    parts = reader.partitions(begin, end)
    assert len(parts) == min(partitions, 6)
    wanted = Microblog(3, BEGAN, 1000.0).posts(BLOCK // 2, 5 * BLOCK + 1)
    assert rows(reader, parts).equals(pa.Table.from_batches(wanted))


def test_partitions_meet_between_blocks_and_are_of_like_size() -> None:
    parts = stream_reader(partitions=3).partitions({"posts": 0}, {"posts": 10 * BLOCK, "start": BEGAN.isoformat()})
    ends = [(part.first // BLOCK, part.stop // BLOCK) for part in parts if isinstance(part, Range)]
    assert ends == [(0, 3), (3, 6), (6, 10)]
    assert all(left[1] == right[0] for left, right in pairwise(ends))


def test_an_empty_range_has_no_partitions() -> None:
    offset = stream_reader().initialOffset()
    assert stream_reader().partitions(offset, offset) == []


def test_a_given_start_dates_the_posts_but_does_not_hurry_them() -> None:
    clock = Clock()
    reader = stream_reader(clock, start="2020-01-01", rowsPerSecond=4)
    first = reader.initialOffset()
    clock.pass_seconds(1)
    end = reader.latestOffset(first, ReadAllAvailable())
    times = rows(reader, reader.partitions(first, end))["ts"].to_pylist()
    assert times == [datetime(2020, 1, 1, tzinfo=UTC) + timedelta(seconds=i / 4) for i in range(4)]


def test_a_batch_read_needs_a_limit() -> None:
    with pytest.raises(ConfigError, match="give the option limit"):
        MicroblogReader(Settings.of({"seed": "1"}))


def frame(session: SparkSession, streaming: bool, **options: object) -> DataFrame:
    session.dataSource.register(MicroblogSource)
    reader: Any = session.readStream if streaming else session.read
    return reader.format("tidegate-microblog").options(**options).load()  # type: ignore[no-any-return]


def wanted(seed: int, n: int) -> pa.Table:
    return pa.Table.from_batches(Microblog(seed, BEGAN, 1000.0).posts(0, n), schema=SCHEMA)


@pytest.mark.parametrize("limit", [0, 3 * BLOCK + 5])
def test_spark_reads_a_batch(spark: SparkSession, limit: int) -> None:
    read = frame(spark, streaming=False, seed=9, limit=limit, start=BEGAN.isoformat())
    assert read.toArrow().sort_by("ts").cast(SCHEMA).equals(wanted(9, limit))


def test_spark_refuses_a_wrong_option_when_it_loads(spark: SparkSession) -> None:
    with pytest.raises(Exception, match="the option partitions is 'many'; give a whole number"):
        frame(spark, streaming=True, partitions="many")


def test_a_stream_that_is_stopped_and_started_again_has_every_post_once(spark: SparkSession, tmp_path: Path) -> None:
    def run(limit: int) -> int:
        posts = frame(spark, streaming=True, seed=9, rowsPerBatch=2500, limit=limit, start=BEGAN.isoformat())
        writer = posts.writeStream.format("parquet").option("checkpointLocation", str(tmp_path / "checkpoint"))
        query = writer.trigger(availableNow=True).start(str(tmp_path / "posts"))
        query.awaitTermination(120)
        return len(query.recentProgress)

    assert run(limit=5000) == 2
    assert run(limit=9000) == 2
    written = spark.read.parquet(str(tmp_path / "posts")).toArrow().sort_by("ts")
    assert written.cast(SCHEMA).equals(wanted(9, 9000))


def test_spark_shows_the_lag_of_a_stream(spark: SparkSession, tmp_path: Path) -> None:
    posts = frame(spark, streaming=True, rowsPerSecond=1_000_000, maxRowsPerBatch=1000)
    query = posts.writeStream.format("noop").option("checkpointLocation", str(tmp_path)).start()
    try:
        deadline = time.monotonic() + 60
        while len(query.recentProgress) < 3 and time.monotonic() < deadline:
            time.sleep(0.1)
        source = query.recentProgress[-1].sources[0]
    finally:
        query.stop()
    assert json.loads(source.latestOffset)["posts"] > json.loads(source.endOffset)["posts"]
