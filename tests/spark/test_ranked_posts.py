"""From posts to ranked feeds on real Spark: what is matched, ranked by what its subscriptions ask for."""

import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import tidegate
from tests.spark.plans import publish
from tidegate.errors import ConfigError
from tidegate.spark.columns import Columns
from tidegate.spark.ranked import PROVIDER, RankSettings
from tidegate.spark.ranked_posts import WordCounts, ranked_feeds, with_rarity
from tidegate.spark.ranked_run import counted_words, start_ranked
from tidegate.spark.run import Settings
from tidegate.spark.sinks import sink_at
from tidegate.store.store import Store
from tidegate.store.upkeep import Policy, Upkeep

START = 10**15
SETTINGS = RankSettings(buckets=2)
RANKING = {"k": 1, "window": 3, "score": "field:likes", "feed": True}
TEXTS = ["storm and flood", "flood", "sun", "storm", "storm, flood", "storm", "flood", "storm"]
LIKES = [1, 5, 99, 3, 2, 8, 7, 50]


@pytest.fixture(autouse=True)
def _provider(spark: SparkSession) -> Iterator[None]:
    for name, value in PROVIDER.items():
        spark.conf.set(name, value)
    yield
    for name in PROVIDER:
        spark.conf.unset(name)


@pytest.fixture
def feed(tmp_path: Path) -> Store:
    """A store in which floods and storms are one feed of ana's; bo's subscription is not ranked."""
    store = Store.open(tmp_path / "store")
    store.subscribe("ana", "storm", id="storms", ranking=RANKING)
    store.subscribe("ana", "flood", id="floods", ranking=RANKING)
    store.subscribe("bo", "storm", id="plain")
    return store


@pytest.fixture
def posts(tmp_path: Path) -> pa.Table:
    table = pa.table(
        {
            "id": [f"p{i}" for i in range(8)],
            "text": TEXTS,
            "ts": pa.array([START + i for i in range(8)], pa.timestamp("us", tz="UTC")),
            "likes": LIKES,
        }
    )
    (tmp_path / "posts").mkdir()
    pq.write_table(table, tmp_path / "posts" / "0.parquet")
    return table


def stream(spark: SparkSession, folder: Path) -> DataFrame:
    return spark.readStream.schema(spark.read.parquet(str(folder)).schema).parquet(str(folder))


def windows(result: DataFrame, checkpoint: Path) -> list[tuple[str, str | None, int, str]]:
    found: list[tuple[str, str | None, int, str]] = []

    def keep(rows: DataFrame, _: int) -> None:
        found.extend(tuple(row) for row in rows.select("subscriber", "subscription", "window", "id").collect())

    writer = result.writeStream.foreachBatch(keep).option("checkpointLocation", str(checkpoint))
    writer.trigger(availableNow=True).start().awaitTermination()
    return sorted(found)


@pytest.mark.parametrize("plan", ["replicate", "hash:3"])
def test_the_queries_of_a_subscriber_are_one_feed_in_which_a_post_counts_once(
    spark: SparkSession, tmp_path: Path, feed: Store, posts: pa.Table, plan: str
) -> None:
    publish(feed, plan, posts)
    result = tidegate.ranked_feeds(stream(spark, tmp_path / "posts"), feed, SETTINGS)
    found = windows(result, tmp_path / "checkpoint")
    if plan == "replicate":
        # The feed of ana is p0, p1, p3 | p4, p5, p6 | p7 and what is still to come.
        assert found == [("ana", None, 0, "p1"), ("ana", None, 1, "p5")]
    else:
        # In another order, by matcher; but of seven posts, not of the nine matches that they have.
        assert [(who, which, window) for who, which, window, _ in found] == [("ana", None, 0), ("ana", None, 1)]


@pytest.mark.parametrize(("plan", "head"), [("replicate", 0), ("hash:3", 0), ("headtail:3", 1)])
def test_the_matches_to_rank_are_those_of_rankings_as_they_are_now(
    spark: SparkSession, tmp_path: Path, feed: Store, posts: pa.Table, plan: str, head: int
) -> None:
    """Levels with and without rankings, a ranking that alone has changed, one that is gone, and all of it compacted."""
    publish(feed, plan, posts, head)
    given = spark.read.parquet(str(tmp_path / "posts"))

    def found() -> list[tuple[str, str, int]]:
        rows = tidegate.match(given, feed, subscribers=False, ranked=True)
        return sorted((row.id, row.subscription, json.loads(row.ranking)["k"]) for row in rows.collect())

    storms, floods = ([f"p{i}" for i, text in enumerate(TEXTS) if word in text] for word in ("storm", "flood"))
    both = [*((id_, "storms", 1) for id_ in storms), *((id_, "floods", 1) for id_ in floods)]
    assert found() == sorted(both)
    feed.subscribe("cy", "flood", id="unranked")
    feed.subscribe("ana", "storm", id="storms", ranking={**RANKING, "k": 2})
    feed.subscribe("ana", "flood", id="floods")
    changed = [(id_, "storms", 2) for id_ in storms]
    assert found() == changed
    assert Upkeep(feed, Policy(tail_rows=0)).compact_segments() == 4
    feed.subscribe("bo", "sun", id="suns", ranking=RANKING)
    assert found() == sorted([*changed, ("p2", "suns", 1)])
    per_post = tidegate.match(given, feed, per="post", ranked=True).where("array_contains(subscriptions, 'suns')")
    (row,) = per_post.collect()
    assert (row.subscriptions, row.subscribers, json.loads(row.rankings[0])) == (["suns"], ["bo"], RANKING)


def test_what_is_kept_of_posts_is_what_was_asked_for(
    spark: SparkSession, tmp_path: Path, feed: Store, posts: pa.Table
) -> None:
    result = ranked_feeds(stream(spark, tmp_path / "posts"), feed, SETTINGS, carry=["likes"])
    assert result.columns[-3:] == ["id", "likes", "ts"]
    assert "text" not in result.columns
    assert len(windows(result, tmp_path / "checkpoint")) == 2


def test_a_batch_that_is_in_the_sink_already_is_not_written_again(
    spark: SparkSession, tmp_path: Path, feed: Store, posts: pa.Table
) -> None:
    """As a job is that dies after it has written, and before Spark has noted it."""
    settings = Settings(str(tmp_path / "checkpoint"), once=True)

    def run() -> list[tuple[int, str]]:
        sink = sink_at(f"delta:{tmp_path}/windows")
        start_ranked(stream(spark, tmp_path / "posts"), feed, sink, settings, SETTINGS).awaitTermination()
        rows = spark.read.parquet(f"{tmp_path}/windows/run-*/batch-*").select("window", "id").collect()
        return sorted(tuple(row) for row in rows)

    assert run() == [(0, "p1"), (1, "p5")]
    commits = [one for one in (tmp_path / "checkpoint" / "commits").iterdir() if one.name.isdigit()]
    for one in commits:
        one.unlink()
    more = posts.set_column(0, "id", pa.array([f"q{i}" for i in range(8)]))
    pq.write_table(more, tmp_path / "posts" / "1.parquet")
    # p7, q0, q1 | q3, q4, q5 | q6, q7: what was held after the batch that came again is known.
    assert run() == [(0, "p1"), (1, "p5"), (2, "p7"), (3, "q5")]


def test_rare_words_rate_higher(spark: SparkSession) -> None:
    posts = spark.createDataFrame(
        [(1, "A storm"), (2, "An eclipse"), (3, "nothing known"), (4, None)], "id int, text string"
    )
    rated = with_rarity(posts, WordCounts({"storm": 90, "eclips": 2}, 100))
    rarity = {row.id: row.rarity for row in rated.orderBy(F.col("id")).collect()}
    assert rarity[2] > rarity[1] > rarity[3] == rarity[4] == 0
    with pytest.raises(ConfigError, match="posts have a column 'rarity' already"):
        with_rarity(rated.withColumnRenamed("rarity", "Rarity"), WordCounts({"storm": 1}, 1))
    with pytest.raises(ConfigError, match="1 words were counted in 1 posts"):
        WordCounts({"storm": 2}, 1)


def test_words_are_counted_once_in_the_life_of_a_job(spark: SparkSession, tmp_path: Path) -> None:
    place = str(tmp_path / "checkpoint")
    assert counted_words(None, Columns(), place) is None
    history = spark.createDataFrame([("1", "a storm"), ("2", "storm, flood")], "id string, text string")
    counted = counted_words(history, Columns(), place)
    assert counted == WordCounts({"storm": 2, "flood": 1}, 2)
    assert counted_words(history.limit(1), Columns(), place) == counted
    assert counted_words(None, Columns(), place) == counted
    with pytest.raises(ConfigError, match="the history has no words to count"):
        counted_words(history.limit(0), Columns(), str(tmp_path / "other"))
