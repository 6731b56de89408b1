"""Timed batches: the ceiling, which only hands posts to Python and back, and the pipeline on the same posts."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tidegate.spark.pipeline import match
from tidegate.spark.session import local_session
from tidegate.store.pins import Pin
from tidegate.store.store import Store

SCHEMA = "id long, text string"
"""Of the posts in all trials."""


class Fingerprint(NamedTuple):
    """Stands for a set of matches: two different sets agree in both by a chance of one in 2⁶⁴."""

    matches: int
    digest: int


@contextmanager
def trial_session(cores: int) -> Iterator[SparkSession]:
    """Yield the running session, or one for the trials alone, which ends with them."""
    running = SparkSession.getActiveSession()
    session = running or local_session("tidegate-bench", cores=cores)
    try:
        yield session
    finally:
        if running is None:
            session.stop()


def ceiling_seconds(spark: SparkSession, posts: Path) -> float:
    """The time of reading posts, handing them through Python workers as they are, and dropping them."""
    read = _read(spark, posts)
    return drained(read.mapInArrow(_identity, read.schema))


def matching_seconds(spark: SparkSession, posts: Path, store: Store, at: Pin, per: str = "match") -> float:
    """The time of the whole pipeline, from the posts' text to rows of post and subscription, as rivals give them.

    With `per="post"`, the rows are posts with lists of subscriptions.
    """
    return drained(_matches(spark, posts, store, at, per))


def fingerprint(spark: SparkSession, posts: Path, store: Store, at: Pin, per: str = "match") -> Fingerprint:
    """What the pipeline finds, whatever its order; a match found twice shows in the count."""
    matches = _matches(spark, posts, store, at, per)
    if per == "post":
        matches = matches.select("id", F.explode("subscriptions").alias("subscription"))
    pair = F.xxhash64("id", "subscription")
    found = matches.agg(F.count(pair), F.coalesce(F.bit_xor(pair), F.lit(0))).first()
    assert found is not None
    return Fingerprint(*found)


def matched_pairs(spark: SparkSession, posts: Path, store: Store, at: Pin) -> pa.Table:
    """All matches, as rows of post and subscription; for few posts."""
    return _matches(spark, posts, store, at).select("id", "subscription").toArrow()


def drained(rows: DataFrame) -> float:
    """Compute all rows and drop them; return the seconds it took."""
    start = time.perf_counter()
    rows.write.format("noop").mode("overwrite").save()
    return time.perf_counter() - start


def _matches(spark: SparkSession, posts: Path, store: Store, at: Pin, per: str = "match") -> DataFrame:
    return match(_read(spark, posts), store, carry=["id"], subscribers=False, per=per, at=at)


def _read(spark: SparkSession, posts: Path) -> DataFrame:
    return spark.read.schema(SCHEMA).parquet(str(posts))


def _identity(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    return batches
