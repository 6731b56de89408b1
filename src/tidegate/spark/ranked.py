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
    DataType,
    DoubleType,
    IntegerType,
    IntegralType,
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
    """A partition with more matches than these is several slices: they have to be in memory together.

    So have all matches of a post, however many they are."""
    chunks: bool = True
    """Whether slices leave behind what no window can need; if not, everything is shuffled, to compare."""

    def __post_init__(self) -> None:
        """Refuse what cannot be, before there is a stream."""
        if not 1 <= self.buckets <= 1 << 16:
            raise ConfigError(f"buckets is {self.buckets}: give 1 to 65,536")
        if self.slice_rows < 1:
            raise ConfigError(f"slice_rows is {self.slice_rows}: give 1 or more")
        for name, span in (("delay", self.delay), ("ahead", self.ahead), ("idle", self.idle)):
            if (name, span) != ("idle", None):
                duration(name, span)


def ranked(
    matches: DataFrame,
    settings: RankSettings = RankSettings(),  # noqa: B008
    *,
    apart: bool = False,
) -> DataFrame:
    """Return the best posts of every window, each window once, when it is complete.

    Matches have the columns of their post, `subscriber`, `subscription` and `ranking`, the JSON that the store keeps;
    those without a ranking are passed over. Feeds of the whole subscriber have no `subscription`. Added are `window`
    (its number), `begins` (null for windows by count), `rank` (from 1) and `score`. A match that cannot be ranked is a
    row with a `reason` and no rank. For a post to count once in windows by count, its matches have to follow each other
    in one partition; if they may be in several, say that they are `apart`. A window of time is complete when the
    watermark reaches its end; posts that come later are not in it.
    """
    _check(matches, settings.columns)
    post = [one for one in matches.schema.fields if one.name not in {name.name for name in _NAME}]
    result = StructType([*_NAME, *_ADDED, *post])
    slicing = Slicing(settings.columns, settings.scores, registered_scores(), settings.chunks, apart)
    schema, ahead = to_arrow_schema(matches.schema, timezone="UTC"), duration("ahead", settings.ahead)
    bucket = F.pmod(F.xxhash64("subscriber"), F.lit(settings.buckets)).cast("int")
    sent = (
        matches.where(F.col("ranking").isNotNull())
        .withColumns({worker.BUCKET: bucket, worker.CLOCK: F.current_timestamp()})
        .mapInArrow(worker.slicing(slicing, schema, settings.slice_rows, ahead), worker.SENT)
        .observe(SLICED, *(F.sum(name).alias(name) for name in worker.SLICE_COUNTS))
    )
    delay = duration("delay", settings.delay) // MICROSECONDS["ms"]
    idle = None if settings.idle is None else duration("idle", settings.idle)
    feeds = worker.Feeds(settings.columns, idle, settings.buckets, apart=apart)
    steps = (
        sent.withWatermark(worker.NEWEST, f"{delay} milliseconds")
        .groupBy(worker.BUCKET)
        .transformWithState(feeds, worker.STEP, "Append", "EventTime")
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


def _check(matches: DataFrame, columns: PostColumns) -> None:
    names = matches.schema.names
    for name in (*(one.name for one in _NAME), columns.id, columns.time):
        if name not in names:
            raise ConfigError(f"matches have no column {name!r}: the columns are {', '.join(names)}")
    for named in ("subscriber", "subscription", columns.id, columns.author):
        if named in names:  # who wrote a post need not be known
            _check_kind(matches, named, StringType, IntegralType)
    _check_kind(matches, "ranking", StringType)
    _check_kind(matches, columns.time, TimestampType)
    taken = {*(one.name for one in _ADDED), worker.BUCKET, worker.CLOCK} & {name.lower() for name in names}
    if taken:
        raise ConfigError(f"matches have a column {min(taken)!r}, which ranking adds itself: rename it first")
    for name, value in PROVIDER.items():
        if matches.sparkSession.conf.get(name, "") != value:
            raise ConfigError(f"ranked feeds need the RocksDB state store: set {name} to {value}")


def _check_kind(matches: DataFrame, name: str, *allowed: type[DataType]) -> None:
    kind = matches.schema[name].dataType
    if not isinstance(kind, allowed):
        wanted = allowed[0]().simpleString()
        raise ConfigError(f"column {name!r} is of type {kind.simpleString()}: cast it to {wanted} first")
