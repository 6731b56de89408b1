"""What tests of the pipeline and of the job share: streams from files, and runs to their end."""

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame

from tests.spark.oracle import Pair
from tidegate.spark.run import Report, Settings, start
from tidegate.spark.sinks import Sink
from tidegate.store.store import Store


def pairs(matches: DataFrame, id_: str = "id") -> list[Pair]:
    return sorted((str(row[id_]), row.subscription) for row in matches.select(id_, "subscription").collect())


def files(folder: Path, *tables: pa.Table) -> str:
    """Tables as Parquet files, the address of a stream that reads one of them in each micro-batch, oldest first."""
    folder.mkdir(exist_ok=True)
    for table in tables:
        number = len(list(folder.iterdir()))
        pq.write_table(table, folder / f"{number:03}.parquet")
        os.utime(folder / f"{number:03}.parquet", (number, number))  # by which Spark sorts, and clocks are coarse
    return f"parquet:{folder}?maxFilesPerTrigger=1"


def slices(table: pa.Table, n: int) -> list[pa.Table]:
    size = -(-table.num_rows // n)
    return [table.slice(begin, size) for begin in range(0, table.num_rows, size)]


def stormy(*ids: str) -> pa.Table:
    return pa.table({"id": list(ids), "text": ["A storm is coming"] * len(ids)})


def run(
    posts: DataFrame,
    store: Store,
    sink: Sink,
    checkpoint: Path,
    *,
    report: Report | None = None,
) -> None:
    """Take all posts that are there, and end."""
    start(posts, store, sink, Settings(str(checkpoint), once=True), report=report).awaitTermination()


def forget_last_batch(checkpoint: Path) -> None:
    """Leave the checkpoint as a driver does that dies before it notes the end of its last batch."""
    max((checkpoint / "commits").glob("[0-9]*"), key=lambda file: int(file.name)).unlink()
