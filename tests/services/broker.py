"""A real Kafka broker for tests, through the script that users start theirs with."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tests.spark.oracle import Pair
from tidegate.spark.sinks import IN_ORDER

SCRIPT = Path(__file__).parents[2] / "scripts" / "kafka"


def script(action: str, *arguments: str | Path) -> str:
    """Return what `scripts/kafka ACTION` prints; raise `CalledProcessError` with its complaint when it fails."""
    command = [sys.executable, SCRIPT, action, *arguments]
    return subprocess.run(command, check=True, text=True, capture_output=True).stdout.strip()


@dataclass(frozen=True)
class Kafka:
    """One node on loopback, its data in `folder`; it keeps data and address when it is restarted."""

    folder: Path
    bootstrap: str

    @classmethod
    def started(cls, folder: Path) -> "Kafka":
        return cls(folder, script("start", "--dir", folder))

    def stop(self) -> None:
        script("stop", "--dir", self.folder)

    def restart(self) -> None:
        self.stop()
        script("start", "--dir", self.folder)

    def produce(self, rows: DataFrame, topic: str) -> None:
        """Append rows (a column `value`, perhaps `key`) to a topic, made when it is new."""
        writer = rows.write.format("kafka").option("kafka.bootstrap.servers", self.bootstrap).options(**IN_ORDER)
        writer.option("topic", topic).save()

    def consume(self, spark: SparkSession, topic: str) -> DataFrame:
        """Return the whole topic as it is now."""
        reader = spark.read.format("kafka").option("kafka.bootstrap.servers", self.bootstrap)
        return reader.option("subscribe", topic).load()

    def matches(self, spark: SparkSession, topic: str) -> list[Pair]:
        """Return the distinct matches of a topic, sorted: it has each at least once."""
        keys = self.consume(spark, topic).select(F.col("key").cast("string")).distinct().collect()
        return sorted((post, subscription) for post, _, subscription in (row.key.partition("/") for row in keys))

    def stream(self, spark: SparkSession, topic: str, rows_per_batch: int) -> DataFrame:
        """Return the topic as a stream from its beginning, which fails rather than skip a row."""
        reader = spark.readStream.format("kafka").option("kafka.bootstrap.servers", self.bootstrap)
        reader = reader.option("startingOffsets", "earliest").option("failOnDataLoss", "true")
        return reader.option("maxOffsetsPerTrigger", rows_per_batch).option("subscribe", topic).load()
