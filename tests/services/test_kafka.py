import re
import socket
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyspark
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tests.services.broker import Kafka, script
from tidegate.spark.sinks import IN_ORDER


def numbers(spark: SparkSession, start: int, end: int) -> DataFrame:
    return spark.range(start, end, numPartitions=2).select(F.col("id").cast("string").alias("value"))


def values(rows: DataFrame) -> list[int]:
    return sorted(int(row.value) for row in rows.select(F.col("value").cast("string")).collect())


def doubled(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        number = pc.cast(batch.column("value"), pa.int64())
        yield pa.record_batch({"value": pc.cast(pc.multiply(number, 2), pa.string())})


def wait_for(happened: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline, f"waited {seconds} s in vain"
        time.sleep(0.05)


def test_a_topic_is_written_and_read_back(kafka: Kafka, spark_kafka: SparkSession) -> None:
    kafka.produce(numbers(spark_kafka, 0, 1000), "written")
    assert values(kafka.consume(spark_kafka, "written")) == list(range(1000))


def test_a_stream_passes_through_python_from_topic_to_topic(
    kafka: Kafka, spark_kafka: SparkSession, tmp_path: Path
) -> None:
    kafka.produce(numbers(spark_kafka, 0, 1000), "numbers")
    posts = kafka.stream(spark_kafka, "numbers", rows_per_batch=400)
    rows = posts.select(F.col("value").cast("string")).mapInArrow(doubled, "value string")
    writer = rows.writeStream.format("kafka").option("kafka.bootstrap.servers", kafka.bootstrap)
    writer = writer.options(**IN_ORDER).option("topic", "doubled")
    query = writer.option("checkpointLocation", str(tmp_path)).start()
    try:
        query.processAllAvailable()
        assert values(kafka.consume(spark_kafka, "doubled")) == list(range(0, 2000, 2))
    finally:
        query.stop()


def test_a_restarted_broker_keeps_its_data_and_its_address(kafka: Kafka, spark_kafka: SparkSession) -> None:
    kafka.produce(numbers(spark_kafka, 0, 500), "kept")
    kafka.stop()
    with pytest.raises(subprocess.CalledProcessError) as failure:
        script("status", "--dir", kafka.folder)
    assert "no broker answers" in failure.value.stderr
    kafka.restart()
    assert script("status", "--dir", kafka.folder) == kafka.bootstrap
    assert values(kafka.consume(spark_kafka, "kept")) == list(range(500))


def test_a_stream_outlives_a_restart_of_the_broker_with_every_row_once(
    kafka: Kafka, spark_kafka: SparkSession, tmp_path: Path
) -> None:
    kafka.produce(numbers(spark_kafka, 0, 3000), "interrupted")
    posts = kafka.stream(spark_kafka, "interrupted", rows_per_batch=100)
    sink, checkpoint = str(tmp_path / "rows"), str(tmp_path / "checkpoint")
    query = posts.writeStream.format("parquet").option("path", sink).option("checkpointLocation", checkpoint).start()
    try:
        wait_for(lambda: query.lastProgress is not None)
        kafka.stop()
        before = len(values(spark_kafka.read.parquet(sink)))
        kafka.restart()
        assert 0 < before < 3000, "the broker was to go away in the middle of the stream"
        kafka.produce(numbers(spark_kafka, 3000, 4000), "interrupted")
        query.processAllAvailable()
        assert values(spark_kafka.read.parquet(sink)) == list(range(4000))
    finally:
        query.stop()


def test_starting_a_broker_that_runs_changes_nothing(kafka: Kafka) -> None:
    pid = (kafka.folder / "broker.pid").read_text()
    assert script("start", "--dir", kafka.folder) == kafka.bootstrap
    assert (kafka.folder / "broker.pid").read_text() == pid


def test_a_taken_port_is_refused_by_its_number(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(subprocess.CalledProcessError) as failure:
            script("start", "--dir", tmp_path, "--port", str(port))
    assert f"port {port} is taken" in failure.value.stderr


def test_a_broker_that_cannot_start_leaves_the_end_of_its_log(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "meta.properties").write_text("version=99\n")
    with pytest.raises(subprocess.CalledProcessError) as failure:
        script("start", "--dir", tmp_path)
    assert "version" in failure.value.stderr
    assert "broker.log" in failure.value.stderr


def test_the_connector_brings_nothing_that_spark_has_already() -> None:
    def name(jar: Path) -> str:
        return re.sub(r"-\d+(\.\d+)+.*", "", jar.name)

    assert pyspark.__file__
    spark = {name(jar) for jar in (Path(pyspark.__file__).parent / "jars").glob("*.jar")}
    connector = {name(Path(jar)) for jar in script("jars").split(",")}
    assert "spark-sql_2.13" in spark
    assert "spark-sql-kafka-0-10_2.13" in connector
    assert not connector & spark
