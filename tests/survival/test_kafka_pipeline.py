"""From Kafka to Kafka and to a table: produce, match, consume, with the broker restarted in between."""

import time
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from tests.services.broker import Kafka
from tests.spark.oracle import Pair, pairs_of
from tidegate.spark.run import Settings, start
from tidegate.spark.sinks import sink_at
from tidegate.spark.sources.posts import read_posts
from tidegate.store.dead_letters import DeadLetters
from tidegate.store.store import Store
from tidegate.workload.posts import posts as generated_posts
from tidegate.workload.searches import saved_searches

UNDECODABLE = ["", "storm", '{"id": "cut', "[1, 2]", '{"id": "x", "text": "storm", "lat": "north"}']


def produce(kafka: Kafka, spark: SparkSession, posts: pa.Table, topic: str) -> None:
    """Produce posts, and between them what is none."""
    good = spark.createDataFrame(posts).select(F.to_json(F.struct("*")).alias("value"))
    bad = spark.createDataFrame([(value,) for value in UNDECODABLE], "value string")
    kafka.produce(good.union(bad), topic)


def matches_in_table(folder: Path) -> list[Pair]:
    rows = DeltaTable(str(folder)).to_pyarrow_table()
    return sorted(zip(rows.column("id").to_pylist(), rows.column("subscription").to_pylist(), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["kafka", "delta"])
def test_a_stream_from_kafka_outlives_a_restart_of_the_broker_with_every_match(
    kafka: Kafka, spark_kafka: SparkSession, tmp_path: Path, kind: str
) -> None:
    queries = {str(i): query for i, query in enumerate(saved_searches(150, 41).column("query").to_pylist())}
    posts = generated_posts(1_500, 42)
    store = Store.open(tmp_path / "store")
    subscribers = ["ana"] * len(queries)
    store.apply(pa.table({"id": list(queries), "query": list(queries.values()), "subscriber": subscribers}))
    source, target = f"posts-{kind}", f"matches-{kind}"
    produce(kafka, spark_kafka, posts.slice(0, 1_000), source)
    sink = f"kafka://{kafka.bootstrap}/{target}" if kind == "kafka" else f"delta:{tmp_path}/matches"
    query = start(
        read_posts(spark_kafka, f"kafka://{kafka.bootstrap}/{source}?maxOffsetsPerTrigger=50"),
        store,
        sink_at(sink),
        Settings(str(tmp_path / "checkpoint"), trigger_s=0.1),
    )
    try:
        deadline = time.monotonic() + 120
        while query.lastProgress is None and time.monotonic() < deadline:
            time.sleep(0.05)
        kafka.stop()
        committed = len(list((tmp_path / "checkpoint" / "commits").glob("[0-9]*")))
        kafka.restart()
        assert 0 < committed < 20, "the broker was to go away in mid-stream"
        produce(kafka, spark_kafka, posts.slice(1_000), source)
        query.processAllAvailable()
    finally:
        query.stop()
    found = kafka.matches(spark_kafka, target) if kind == "kafka" else matches_in_table(tmp_path / "matches")
    assert found == pairs_of(queries, posts)
    letters = DeadLetters(store.beside).read()
    assert letters.column("reason").to_pylist() == ["the payload cannot be decoded"] * 2 * len(UNDECODABLE)
