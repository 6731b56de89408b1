"""The timed stream of changes: batches of files applied to a store one after the other, as fast as it goes."""

import time
from pathlib import Path

from pyspark.sql import SparkSession

from tidegate.spark.changes import Changed, apply_changes
from tidegate.spark.trials.streams import wait_for
from tidegate.store.store import Store


def changes_per_second(
    spark: SparkSession, files: Path, per_batch: int, batches: int, store: Store, checkpoint: Path
) -> float:
    """Apply all files, so many per micro-batch; return the rate from the end of the first batch to that of the last."""
    done: list[tuple[float, int]] = []

    def note(changed: Changed) -> None:
        done.append((time.perf_counter(), changed.accepted))

    source = spark.readStream.schema(spark.read.parquet(str(files)).schema).option("maxFilesPerTrigger", per_batch)
    job = apply_changes(source.parquet(str(files)), store, checkpoint=str(checkpoint), trigger_s=0.0, report=note)
    try:
        wait_for(job, lambda: len(done) >= batches)
        job.processAllAvailable()
    finally:
        job.stop()
    # The first batch starts the workers, and what goes before it.
    return sum(accepted for _, accepted in done[1:]) / (done[-1][0] - done[0][0])
