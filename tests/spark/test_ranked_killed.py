"""A stream of ranked feeds that is killed in mid-window and in mid-batch; run as a module, it is that stream."""

import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame

from tests.rank.central import Best, delivered
from tests.spark.test_ranked import DELAY, SETTINGS, read, stream_of, write
from tests.survival.process import Process
from tidegate.spark.ranked import PROVIDER, ranked
from tidegate.spark.session import local_session


def rank(folder: Path) -> None:
    """Rank all matches there are; a batch that comes again is written over."""
    spark = local_session("ranked", cores=2, settings={"spark.driver.memory": "1g"})
    for name, value in PROVIDER.items():
        spark.conf.set(name, value)

    def write_batch(rows: DataFrame, batch: int) -> None:
        rows.write.mode("overwrite").parquet(str(folder / "out" / str(batch)))

    result = ranked(read(spark, folder / "posts"), SETTINGS)
    writer = result.writeStream.foreachBatch(write_batch).option("checkpointLocation", str(folder / "checkpoint"))
    writer.trigger(availableNow=True).start().awaitTermination()
    spark.stop()


@pytest.mark.slow
def test_a_stream_that_is_killed_delivers_every_window_once(tmp_path: Path) -> None:
    batches = stream_of(5, 120)
    write(tmp_path / "posts", batches)
    # In the middle of a batch that has been begun, and between what a batch delivers and the note that it is done.
    for sign in ("checkpoint/offsets/1", "out/3/_SUCCESS"):
        job = Process.python(__name__, tmp_path, log=tmp_path / "log")
        try:
            job.wait_until((tmp_path / sign).exists)
        finally:
            job.kill()
    job = Process.python(__name__, tmp_path, log=tmp_path / "log")
    try:
        job.wait(400)
    finally:
        job.kill()
    rows = [row for folder in (tmp_path / "out").iterdir() for row in pq.read_table(folder).to_pylist()]
    found = [Best(*(row[name] for name in Best._fields)) for row in rows]
    assert sorted(found, key=lambda one: (one.subscriber, one.subscription or "", *one[2:])) == delivered(
        batches, DELAY
    )


if __name__ == "__main__":
    rank(Path(sys.argv[1]))
