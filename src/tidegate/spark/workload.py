"""The analysis of a workload on Spark: one pass over the pairs, whose tasks hand back small tables.

Nothing is shuffled but the followers of topics, and these as arrays; pairs themselves only where they are not grouped
by subscriber.
"""

import pickle
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark import StorageLevel
from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, GroupedData, SparkSession
from pyspark.sql import functions as F

from tidegate.errors import ConfigError
from tidegate.workload.analysis import Analysis, TopicCounts
from tidegate.workload.hours import Publications, Subscriptions, pivoted
from tidegate.workload.tally import SubscriberCounts, Tally, Topics, apart, every

_BLOCK: Final = 1 << 20
"""Topics whose followers are shuffled together, as one array."""
_PART: Final = "block int, payload binary"
_PART_ARROW: Final = pa.schema([("block", pa.int32()), ("payload", pa.binary())])
_ABOUT: Final = -1
"""The block of what is not about topics."""
_RECORDS: Final = "spark.sql.execution.arrow.maxRecordsPerBatch"
_RECORDS_AT_ONCE: Final = "200000"
"""What is counted costs little for each pair: what a batch costs counts."""
_STRETCHES: Final = 1_000
"""Of a task: with more, pairs are in no order."""
_SORTED: Final = 8_000_000
"""Pairs that are sorted at once, about."""
_WHOLE: Final = ("tinyint", "smallint", "int", "bigint")

Say = Callable[[str], None]


class Part(NamedTuple):
    """What a task found."""

    counts: SubscriberCounts
    stretches: list[tuple[int, int]]
    """In which subscribers came in rising order."""
    nulls: int
    is_all: bool
    """Whether it went on to the end of its pairs."""


def analyse(pairs: DataFrame, topics: DataFrame, say: Say = lambda _: None) -> Analysis:
    """Analyse pairs (`subscriber`, `topic`) and rates (`topic`, `events`); all are whole numbers.

    Pairs that are grouped by subscriber, in rising order, are read once and not shuffled; others are sorted first.
    """
    check_whole(pairs, "pairs", ("subscriber", "topic"))
    check_whole(topics, "topics", ("topic", "events"))
    spark = pairs.sparkSession
    rated = topics.select("topic", "events").dropna().toArrow()
    known = Topics.of(rated["topic"], rated["events"])
    chosen = pairs.select("subscriber", "topic")
    pairs_there = chosen.count()
    shown = every(pairs_there)
    before = spark.conf.get(_RECORDS)
    spark.conf.set(_RECORDS, _RECORDS_AT_ONCE)
    try:
        say("counting")
        found = _counted(chosen, known, shown, only_grouped=True)
        if found is None:
            say("pairs are not grouped by subscriber: sorting them")
            grouped = chosen.repartition(pairs_there // _SORTED + 1, "subscriber").sortWithinPartitions("subscriber")
            found = _counted(grouped, known, shown, only_grouped=False)
        assert found is not None
        return found
    finally:
        spark.conf.set(_RECORDS, before or "10000")


def read(spark: SparkSession, path: str) -> DataFrame:
    """Read Parquet; say which file it is that cannot be read."""
    try:
        return spark.read.parquet(path)
    except AnalysisException as error:
        raise ConfigError(f"no Parquet can be read from {path}: {str(error).partition(chr(10))[0]}") from error


def check_whole(frame: DataFrame, what: str, columns: tuple[str, ...]) -> None:
    """Refuse a frame that lacks one of these columns of whole numbers."""
    _check_there(frame, what, columns)
    types = dict(frame.dtypes)
    for column in columns:
        if types[column] not in _WHOLE:
            raise ConfigError(f"{what}: column {column!r} is of type {types[column]}, and has to be of whole numbers")


def publications(events: DataFrame) -> Publications:
    """Sum up events by the hour: their `hour` (or any time in it), `service`, `site` that notifies and `origin`.

    With a column `events`, a row is as many; otherwise one.
    """
    _check_there(events, "publications", ("hour", "service", "site", "origin"))
    if "events" in events.columns:
        check_whole(events, "publications", ("events",))
    count = F.sum("events") if "events" in events.columns else F.count(F.lit(1))
    local = F.col("site") == F.col("origin")
    summed = _by_hour(events, local.alias("local")).agg(count.alias("events")).toArrow()
    hours, services, here, counts = (summed[name].to_numpy() for name in ("hour", "service", "local", "events"))
    here = here.astype(bool)
    distinct, sides = pivoted(hours, np.where(here, "local", "remote"), counts)
    _, published = pivoted(hours, services, np.where(here, counts, 0))
    none = np.zeros(len(distinct), np.int64)
    return Publications(distinct, published, sides.get("local", none), sides.get("remote", none))


def subscriptions(changes: DataFrame) -> Subscriptions:
    """Sum up changes by `hour` and `service`: how many were `subscribed` and `unsubscribed`, and are `standing`."""
    counted = ("subscribed", "unsubscribed", "standing")
    _check_there(changes, "subscriptions", ("hour", "service"))
    check_whole(changes, "subscriptions", counted)
    summed = _by_hour(changes).agg(*(F.sum(name).alias(name) for name in counted)).toArrow()
    hours, services = (summed[name].to_numpy() for name in ("hour", "service"))
    distinct, standing = pivoted(hours, services, summed["standing"])
    made, unmade = (pivoted(hours, ["all"] * len(hours), summed[name])[1].get("all") for name in counted[:2])
    if made is None or unmade is None:
        raise ConfigError("there are no subscriptions by the hour: leave them out, or name other files")
    return Subscriptions(distinct, made, unmade, standing)


def _by_hour(frame: DataFrame, *others: Column) -> GroupedData:
    hour = F.date_trunc("hour", F.col("hour")).cast("timestamp_ntz").alias("hour")
    return frame.dropna(subset=["hour", "service"]).groupBy(hour, "service", *others)


def _check_there(frame: DataFrame, what: str, columns: tuple[str, ...]) -> None:
    for column in columns:
        if column not in frame.columns:
            raise ConfigError(f"{what} need a column {column!r}; their columns are {', '.join(frame.columns)}")


def _counted(pairs: DataFrame, topics: Topics, shown: int, *, only_grouped: bool) -> Analysis | None:
    """Count; return nothing if a subscriber may be in two places, and that matters."""
    parts = pairs.mapInArrow(tallying(topics, shown, only_grouped=only_grouped), _PART).persist(StorageLevel.DISK_ONLY)
    try:
        about = parts.where(F.col("block") == _ABOUT).toArrow()
        found: list[Part] = [pickle.loads(payload) for payload in about["payload"].to_pylist()]
        if only_grouped and not are_whole(found):
            return None
        followed = parts.where(F.col("block") != _ABOUT).groupBy("block").applyInArrow(_adding(topics), _PART).toArrow()
        of_topics = [pickle.loads(payload) for payload in followed["payload"].to_pylist()]
    finally:
        parts.unpersist()
    analysis = Analysis.of(topics, [part.counts for part in found], of_topics)
    return replace(analysis, nulls=sum(part.nulls for part in found))


def are_whole(parts: list[Part]) -> bool:
    """Did all tasks go on to the end, and each subscriber come in one place? Stretches of a few may well be apart."""
    return all(part.is_all for part in parts) and apart(stretch for part in parts for stretch in part.stretches)


def tallying(
    topics: Topics, shown: int, *, only_grouped: bool
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return what a task does: count its pairs; leave off, if only grouped ones count, when they are not."""

    def tally(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        counts = Tally(topics, shown)
        nulls, is_all = 0, True
        for batch in batches:
            whole = batch.drop_null() if any(column.null_count for column in batch.columns) else batch
            nulls += batch.num_rows - whole.num_rows
            counts.take(*(column.to_numpy() for column in whole.columns))
            if only_grouped and len(counts.stretches) > _STRETCHES:
                is_all = False
                break
        yield _row(_ABOUT, pickle.dumps(Part(counts.ended(), counts.stretches, nulls, is_all)))
        for start in range(0, len(counts.followers) if counts.stretches else 0, _BLOCK):
            yield _row(start, counts.followers[start : start + _BLOCK].tobytes())

    return tally


def _adding(topics: Topics) -> Callable[[pa.Table], pa.Table]:
    """Return what is done with a block of topics: add up the followers that tasks have counted, and count topics."""

    def add(parts: pa.Table) -> pa.Table:
        start = parts["block"][0].as_py()
        followers = sum(np.frombuffer(payload.as_buffer(), np.int32).astype(np.int64) for payload in parts["payload"])
        events = topics.events[start : start + _BLOCK]
        return _table(start, pickle.dumps(TopicCounts.of(start, followers, events, len(topics.events))))

    return add


def _row(block: int, payload: Any) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(
        [pa.array([block], pa.int32()), pa.array([payload], pa.binary())], schema=_PART_ARROW
    )


def _table(block: int, payload: Any) -> pa.Table:
    return pa.Table.from_batches([_row(block, payload)])
