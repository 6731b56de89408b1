"""A local Spark session with the settings that suit Tidegate; on a cluster, take them over from `SETTINGS`."""

import os
import sys
from collections.abc import Mapping

from pyspark.sql import SparkSession

SETTINGS = {
    # Kernels cost a fixed time per Arrow batch: larger ones are faster, and still fit the caches.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "20000",
    # The logs of a stream are small files: without a helper process each, a micro-batch is some 50 ms shorter.
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
    "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    "spark.sql.session.timeZone": "UTC",
    # Spark's older form of times is in no other reader's schema.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
}

_LOCAL = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "2g",
    "spark.sql.shuffle.partitions": "2",
}


def local_session(
    name: str = "tidegate", *, cores: int | str = "*", settings: Mapping[str, str] | None = None
) -> SparkSession:
    """Return the running session, or start one on this machine: on loopback, its Python workers like this process."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.master(f"local[{cores}]").appName(name)
    for key, value in {**SETTINGS, **_LOCAL, **(settings or {})}.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()
