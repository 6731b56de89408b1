"""The stage that ranks: from a stream of matches to the best of every window of every feed.

Each partition's slice of a micro-batch leaves behind what no window can need, and sends the rest on as one bundle of
Arrow tables for each bucket of subscribers. Behind the shuffle, a bucket holds what its open windows need. Spark sees
a few rows for each bucket and batch, whatever the number of matches.

The order of a feed is (micro-batch, partition, place in the partition), which keeps that of every publisher whose posts
stay in one partition.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    DoubleType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from tidegate.errors import ConfigError
from tidegate.rank.bundle import PostColumns
from tidegate.rank.duration import MICROSECONDS, duration
from tidegate.rank.score import registered_scores
from tidegate.rank.scores import ScoreColumns
from tidegate.rank.slicing import Slicing
from tidegate.spark import ranked_worker as worker

SLICED, HELD = "tidegate-sliced", "tidegate-held"
"""The names under which Spark observes what slices send, and what buckets hold."""

PROVIDER = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    # RocksDB's files are copied by Hadoop's usual local file system, which `SETTINGS` replace by a faster one.
    "fs.file.impl": "org.apache.hadoop.fs.LocalFileSystem",
    "fs.file.impl.disable.cache": "true",
}
"""What a session has to be set to for state to be held; may be set while it runs, before the stream starts."""

_NAME = [StructField(name, StringType()) for name in ("subscriber", "subscription", "ranking")]
_ADDED = [
    StructField("window", LongType()),
    StructField("begins", TimestampType()),
    StructField("rank", IntegerType()),
    StructField("score", DoubleType()),
    StructField("reason", StringType()),
]


@dataclass(frozen=True)
class RankSettings:
    """How matches are ranked."""

    columns: PostColumns = field(default_factory=PostColumns)
    scores: ScoreColumns = field(default_factory=ScoreColumns)
    buckets: int = 64
    """Of subscribers. What is held of a bucket is written anew whenever it changes; fixed once a stream has begun."""
    delay: str = "10m"
    """How long windows of time wait for posts that are late."""
    ahead: str = "1h"
    """How far a post may be ahead of the clock: it is set aside if it is further, as it would end all windows."""
    idle: str | None = "30d"
    """After so long without a post, by the times of posts, a feed is forgotten and would begin anew; None: never."""
    slice_rows: int = 1 << 18
    """A partition with more matches than these is several slices: they have to be in memory together."""
    chunks: bool = True
    """Whether slices leave behind what no window can need; if not, everything is shuffled, to compare."""


def ranked(matches: DataFrame, settings: RankSettings = RankSettings()) -> DataFrame:  # noqa: B008
    """Return the best posts of every window, each window once, when it is complete.

    Matches have the columns of their post, `subscriber`, `subscription` and `ranking`, the JSON that the store keeps;
    those without a ranking are passed over. Feeds of the whole subscriber have no `subscription`. Added are `window`
    (its number), `begins` (null for windows by count), `rank` (from 1) and `score`. A match that cannot be ranked is a
    row with a `reason` and no rank. For a post to count once in windows by count, all of its matches have to be in one
    partition. A window of time is complete when the watermark reaches its end; posts that come later are not in it.
    """
    _check(matches, settings)
    post = [one for one in matches.schema.fields if one.name not in {name.name for name in _NAME}]
    result = StructType([*_NAME, *_ADDED, *post])
    slicing = Slicing(settings.columns, settings.scores, registered_scores(), settings.chunks)
    bucket = F.pmod(F.xxhash64("subscriber"), F.lit(settings.buckets)).cast("int")
    sent = (
        matches.where(F.col("ranking").isNotNull())
        .withColumn(worker.BUCKET, bucket)
        .mapInArrow(worker.slicing(slicing, settings.slice_rows, duration("ahead", settings.ahead)), worker.SENT)
        .observe(SLICED, *(F.sum(name).alias(name) for name in worker.SLICE_COUNTS))
    )
    delay = duration("delay", settings.delay) // MICROSECONDS["ms"]
    idle = None if settings.idle is None else duration("idle", settings.idle)
    steps = (
        sent.withWatermark(worker.NEWEST, f"{delay} milliseconds")
        .groupBy(worker.BUCKET)
        .transformWithState(worker.Feeds(settings.columns, idle), worker.STEP, "Append", "EventTime")
        .observe(HELD, *(F.sum(name).alias(name) for name in worker.STEP_COUNTS))
    )
    return steps.mapInArrow(worker.unpacking(to_arrow_schema(result, timezone="UTC")), result)


def rank_counts(observed: Mapping[str, Any]) -> dict[str, int]:
    """Return what a micro-batch counted, from the observed metrics of its progress.

    `matches`, of which `sent` were shuffled, in `sent_bytes`, and `aside` could not be ranked; of the buckets that had
    anything to do `feeds`, `held` entries and `held_bytes`; entries that came too `late`, and rows `delivered`.
    """
    rows = [observed[name].asDict() for name in (SLICED, HELD) if name in observed]
    return {name: int(value or 0) for row in rows for name, value in row.items()}


def _check(matches: DataFrame, settings: RankSettings) -> None:
    names = matches.schema.names
    columns = settings.columns
    for name in (*(one.name for one in _NAME), columns.id, columns.time):
        if name not in names:
            raise ConfigError(f"matches have no column {name!r}: the columns are {', '.join(names)}")
    for name in (columns.id, "ranking", columns.time):
        kind = matches.schema[name].dataType
        if name == columns.time and kind != TimestampType():
            raise ConfigError(f"column {name!r} is of type {kind.simpleString()}: cast it to timestamp first")
    taken = {one.name for one in _ADDED} & {name.lower() for name in names}
    if taken:
        raise ConfigError(f"matches have a column {min(taken)!r}, which ranking adds itself: rename it first")
    if not 1 <= settings.buckets <= 1 << 16:
        raise ConfigError(f"buckets is {settings.buckets}: give 1 to 65,536")
    for name, value in PROVIDER.items():
        if matches.sparkSession.conf.get(name, "") != value:
            raise ConfigError(f"ranked feeds need the RocksDB state store: set {name} to {value}")
    if settings.slice_rows < 1:
        raise ConfigError(f"slice_rows is {settings.slice_rows}: give 1 or more")
