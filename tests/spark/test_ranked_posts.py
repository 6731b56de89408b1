"""From posts to ranked feeds on real Spark: what `match` finds, with the rankings of its subscriptions."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import tidegate
from tidegate.errors import ConfigError
from tidegate.spark.ranked import PROVIDER, RankSettings, ranked
from tidegate.spark.ranked_posts import with_rankings, with_rarity
from tidegate.store.store import Store

START = 10**15


def test_the_queries_of_a_subscriber_are_one_feed_in_which_a_post_counts_once(
    spark: SparkSession, tmp_path: Path
) -> None:
    store = Store.open(tmp_path / "store")
    ranking = {"k": 1, "window": 3, "score": "field:likes", "feed": True}
    store.subscribe("ana", "storm", id="storms", ranking=ranking)
    store.subscribe("ana", "flood", id="floods", ranking=ranking)
    store.subscribe("bo", "storm", id="plain")
    texts = ["storm and flood", "flood", "sun", "storm", "storm, flood", "storm", "flood", "storm"]
    posts = pa.table(
        {
            "id": [f"p{i}" for i in range(8)],
            "text": texts,
            "time": pa.array([START + i for i in range(8)], pa.timestamp("us", tz="UTC")),
            "likes": [1, 5, 99, 3, 2, 8, 7, 50],
        }
    )
    (tmp_path / "posts").mkdir()
    pq.write_table(posts, tmp_path / "posts" / "0.parquet")
    stream = spark.readStream.schema(spark.createDataFrame(posts).schema).parquet(str(tmp_path / "posts"))
    for name, value in PROVIDER.items():
        spark.conf.set(name, value)
    try:
        result = ranked(with_rankings(tidegate.match(stream, store), store), RankSettings(buckets=2))
        found: list[tuple[str, str | None, int, str]] = []

        def keep(rows: DataFrame, _: int) -> None:
            found.extend(tuple(row) for row in rows.select("subscriber", "subscription", "window", "id").collect())

        query = result.writeStream.foreachBatch(keep).option("checkpointLocation", str(tmp_path / "checkpoint"))
        query.trigger(availableNow=True).start().awaitTermination()
    finally:
        for name in PROVIDER:
            spark.conf.unset(name)
    # The feed of ana is p0, p1, p3 | p4, p5, p6 | p7 and what is still to come.
    assert sorted(found) == [("ana", None, 0, "p1"), ("ana", None, 1, "p5")]


def test_rare_words_rate_higher(spark: SparkSession) -> None:
    posts = spark.createDataFrame(
        [(1, "A storm"), (2, "An eclipse"), (3, "nothing known"), (4, None)], "id int, text string"
    )
    rated = with_rarity(posts, {"storm": 90, "eclips": 2}, 100)
    rarity = {row.id: row.rarity for row in rated.orderBy(F.col("id")).collect()}
    assert rarity[2] > rarity[1] > rarity[3] == rarity[4] == 0
    with pytest.raises(ConfigError, match="posts have a column 'rarity' already"):
        with_rarity(rated, {"storm": 1}, 1)
    with pytest.raises(ConfigError, match="1 words were counted in 1 posts"):
        with_rarity(posts, {"storm": 2}, 1)
