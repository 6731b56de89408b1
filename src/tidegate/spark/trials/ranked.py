"""Timed ranking: the stage over a stream of matches in files, and what Spark does by itself with the same matches."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from tidegate.errors import PipelineError
from tidegate.rank.ranking import TimeWindows, ranking_of
from tidegate.spark.failure import failure
from tidegate.spark.ranked import PROVIDER, RankSettings, rank_counts, ranked
from tidegate.spark.trials.batch import drained

SLICES = 2
"""Files of a micro-batch: each is a partition, and so a slice."""


class RankedBatch(NamedTuple):
    """What a micro-batch took, and counted."""

    seconds: float
    counts: dict[str, int]


@contextmanager
def holding_state(spark: SparkSession) -> Iterator[None]:
    """Set a session to what ranking needs, and back in the end."""
    before = {name: spark.conf.get(name, None) for name in PROVIDER}
    for name, value in PROVIDER.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, old in before.items():
            if old is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, old)


def ranked_batches(spark: SparkSession, files: Path, best: Path, settings: RankSettings) -> list[RankedBatch]:
    """Rank the matches in the files of a folder, `SLICES` of them at a time, the oldest first, until all are done.

    What feeds deliver is in Parquet files in `best` afterwards. The last batch may be one without matches, which
    delivers the windows that are complete by then.
    """
    schema = spark.read.parquet(str(files)).schema
    matches = spark.readStream.schema(schema).option("maxFilesPerTrigger", SLICES).parquet(str(files))
    writer = ranked(matches, settings).writeStream.format("parquet").option("path", str(best))
    query = writer.option("checkpointLocation", f"{best}-checkpoint").trigger(availableNow=True).start()
    try:
        query.awaitTermination()
    except Exception as error:
        raise PipelineError(failure(str(error))) from error
    finally:
        query.stop()
    return [
        RankedBatch(one.durationMs["triggerExecution"] / 1e3, rank_counts(one.observedMetrics))
        for one in query.recentProgress
    ]


def shuffled_bytes(spark: SparkSession) -> int:
    """What all stages of the session have written so far to be shuffled, by Spark's own count; local sessions only."""
    context = spark.sparkContext._jsc.sc()
    context.listenerBus().waitUntilEmpty()
    executors = context.statusStore().executorList(False)
    return sum(int(executors.apply(i).totalShuffleWrite()) for i in range(executors.size()))


def shuffle_seconds(spark: SparkSession, files: Sequence[Path]) -> float:
    """The time of shuffling matches by subscriber, and nothing else."""
    return drained(_read(spark, files).repartition(SLICES, "subscriber"))


def windowed_seconds(spark: SparkSession, files: Sequence[Path], rankings: Sequence[str]) -> float:
    """The time of ranking the matches of one micro-batch by Spark's window functions, the rows dropped."""
    return drained(_windowed(spark, files, rankings))


def windowed_best(spark: SparkSession, files: Sequence[Path], rankings: Sequence[str]) -> pa.Table:
    """What that finds: the best of all windows in the batch, also of those that it begins and does not complete."""
    return _windowed(spark, files, rankings).select("subscriber", "window", "rank", "id").toArrow()


def _windowed(spark: SparkSession, files: Sequence[Path], rankings: Sequence[str]) -> DataFrame:
    """Feeds of one subscriber each, by `likes`; tumbling windows. A plan of its own for each ranking, with a fixed k:
    only then does Spark drop rows before the shuffle, and after it, that are not among the best."""
    matches = _read(spark, files)
    return reduce(DataFrame.union, [_best(matches.where(F.col("ranking") == one), one) for one in rankings])


def _best(matches: DataFrame, ranking: str) -> DataFrame:
    windows = ranking_of(ranking).windows
    if isinstance(windows, TimeWindows):
        numbered = matches.withColumn("window", F.expr(f"unix_micros(ts) div {windows.width}"))
    else:
        feed = Window.partitionBy("subscriber").orderBy("order")
        position = F.row_number().over(feed) - 1
        numbered = (
            matches.withColumn("order", F.monotonically_increasing_id())
            .withColumn("position", position)
            .withColumn("window", F.expr(f"position div {windows.width}"))
            .drop("order", "position")
        )
    best_first = Window.partitionBy("subscriber", "window").orderBy(F.desc("likes"), F.desc("ts"), "id")
    return numbered.withColumn("rank", F.row_number().over(best_first)).where(F.col("rank") <= windows.k)


def _read(spark: SparkSession, files: Sequence[Path]) -> DataFrame:
    return spark.read.parquet(*map(str, files))
