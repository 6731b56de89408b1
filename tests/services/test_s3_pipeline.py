"""Spark on a store in an object store: the same matches, and a clear word where Spark itself cannot go."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

import tidegate
from tests.spark.oracle import Pair, pairs_of
from tidegate.errors import ConfigError
from tidegate.route.plan import Plan
from tidegate.spark.run import Settings, start
from tidegate.spark.sinks import HookSink, sink_at
from tidegate.spark.sources.posts import read_posts
from tidegate.store.dead_letters import DeadLetters
from tidegate.store.store import Store
from tidegate.workload.posts import posts as generated_posts
from tidegate.workload.searches import saved_searches

QUERIES = {str(i): query for i, query in enumerate(saved_searches(150, 61).column("query").to_pylist())}


@pytest.fixture
def posts() -> pa.Table:
    return generated_posts(600, 62)


@pytest.fixture
def subscribed(store: Store) -> Store:
    """The store in the object store, with subscriptions."""
    subscribers = ["ana"] * len(QUERIES)
    store.apply(pa.table({"id": list(QUERIES), "query": list(QUERIES.values()), "subscriber": subscribers}))
    return store


@pytest.mark.parametrize("plan", ["replicate", "hash:3"])
def test_posts_are_matched_against_a_store_in_an_object_store(
    spark: SparkSession, subscribed: Store, posts: pa.Table, plan: str
) -> None:
    subscribed.publish(Plan.parse(plan))
    matches = tidegate.match(spark.createDataFrame(posts).repartition(3), subscribed, carry=())
    assert sorted((str(row.id), row.subscription) for row in matches.collect()) == pairs_of(QUERIES, posts)


def test_a_job_pins_and_sets_aside_in_the_object_store(
    spark: SparkSession, subscribed: Store, posts: pa.Table, tmp_path: Path
) -> None:
    nameless = posts.set_column(posts.schema.get_field_index("id"), "id", pa.nulls(len(posts), posts.field("id").type))
    for number, table in enumerate((posts.slice(0, 300), posts.slice(300), nameless.slice(0, 5))):
        pq.write_table(table, tmp_path / f"{number}.parquet")
    found: list[Pair] = []

    def hook(matches: DataFrame, batch: int) -> None:
        found.extend((str(row.id), row.subscription) for row in matches.collect())

    stream = read_posts(spark, f"parquet:{tmp_path}?maxFilesPerTrigger=1")
    settings = Settings(str(tmp_path / "checkpoint"), once=True, carry=())
    start(stream, subscribed, HookSink(hook), settings).awaitTermination()
    assert sorted(found) == pairs_of(QUERIES, posts)
    assert len(list(subscribed.beside.names("pins"))) == 3
    assert DeadLetters(subscribed.beside).count() == 5


@pytest.mark.parametrize("address", ["s3://bucket/there", "s3a://bucket/there"])
def test_an_address_that_spark_has_no_file_system_for_is_refused_before_the_stream_starts(
    spark: SparkSession, subscribed: Store, tmp_path: Path, address: str
) -> None:
    scheme = address.partition(":")[0]
    complaint = rf"{address}: this Spark has no file system for {scheme}:// addresses: .* hadoop-aws"
    stream = read_posts(spark, "microblog:?limit=10")
    for kind in ("delta", "parquet", "json"):
        with pytest.raises(ConfigError, match=complaint):
            start(stream, subscribed, sink_at(f"{kind}:{address}"), Settings(str(tmp_path / "checkpoint")))
    with pytest.raises(ConfigError, match=complaint):
        start(stream, subscribed, sink_at("console:"), Settings(address))
    with pytest.raises(ConfigError, match=complaint):
        read_posts(spark, f"parquet:{address}")
    assert not (tmp_path / "checkpoint").exists()
