"""The stages on real Spark, compared with matching that knows nothing of it."""

from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import tidegate
from tests.spark.oracle import pairs_of
from tests.spark.plans import publish
from tests.spark.scenes import pairs, stormy
from tidegate.errors import ConfigError
from tidegate.query.parse import parse
from tidegate.query.semantics import PostView, satisfies
from tidegate.route.plan import Plan
from tidegate.store.dead_letters import DeadLetters
from tidegate.store.store import Store
from tidegate.text.analyzer import Analyzer

PLANS = ["replicate", "hash:1", "hash:3", "hash:8", "salb:4", "salb:3:anycast", "headtail:3"]
BY_PLACE = ["hybrid:3", "kd_tree:4", "metric:5"]


@pytest.mark.parametrize("plan", [*PLANS, *BY_PLACE])
def test_every_plan_matches_a_batch_as_the_oracle_does(
    spark: SparkSession, store: Store, queries: dict[str, str], posts: pa.Table, plan: str
) -> None:
    publish(store, plan, posts, head=20)
    assert pairs(tidegate.match(spark.createDataFrame(posts).repartition(3), store)) == pairs_of(queries, posts)


@pytest.mark.parametrize("plan", ["replicate", "hash:3"])
def test_matches_are_what_the_language_defines(
    spark: SparkSession, store: Store, queries: dict[str, str], posts: pa.Table, plan: str
) -> None:
    store.publish(Plan.parse(plan))
    few, analyzer = posts.slice(0, 60), Analyzer()
    views = {
        str(post["id"]): PostView(*(post[name] for name in ("text", "author", "lang", "lat", "lon")))
        for post in few.to_pylist()
    }
    parsed = {subscription: parse(query, analyzer) for subscription, query in queries.items()}
    defined = {
        (id_, s) for id_, view in views.items() for s, query in parsed.items() if satisfies(query, view, analyzer)
    }
    found = pairs(tidegate.match(spark.createDataFrame(few), store))
    assert found == sorted(defined)
    assert defined


def test_a_match_names_its_subscriber_and_keeps_the_whole_post(spark: SparkSession, storms: Store) -> None:
    rest = F.array(F.struct(F.lit(1).alias("width"), F.lit("a.png").alias("name")))
    frame = spark.createDataFrame(stormy("1")).withColumn("pictures", rest).withColumn("seen", F.lit(None).cast("date"))
    for plan in PLANS:
        publish(storms, plan, stormy("1"))
        matches = tidegate.match(frame, storms)
        assert matches.columns == ["id", "text", "pictures", "seen", "subscription", "subscriber"]
        assert [tuple(row) for row in matches.collect()] == [(*frame.collect()[0], "storms", "ana")]


@pytest.mark.parametrize("plan", ["replicate", "hash:3"])
def test_the_matches_of_a_post_may_stay_together(
    spark: SparkSession, store: Store, queries: dict[str, str], posts: pa.Table, plan: str
) -> None:
    store.publish(Plan.parse(plan))
    rows = tidegate.match(spark.createDataFrame(posts), store, carry=[], per="post").collect()
    assert sorted((str(row.id), name) for row in rows for name in row.subscriptions) == pairs_of(queries, posts)
    holders = {name: f"reader{int(name) % 7}" for name in queries}
    assert all([holders[name] for name in row.subscriptions] == row.subscribers for row in rows)
    assert all(row.subscriptions for row in rows)
    assert plan != "replicate" or len({row.id for row in rows}) == len(rows)


def test_subscribers_need_not_be_named(spark: SparkSession, storms: Store) -> None:
    frame = spark.createDataFrame(stormy("1"))
    assert [tuple(row) for row in tidegate.match(frame, storms, carry=[], subscribers=False).collect()] == [
        ("1", "storms")
    ]


def test_only_what_is_carried_travels_on(spark: SparkSession, store: Store, posts: pa.Table) -> None:
    frame = spark.createDataFrame(posts)
    assert tidegate.match(frame, store, carry=["ts"]).columns == ["id", "ts", "subscription", "subscriber"]
    assert pairs(tidegate.match(frame, store, carry=[])) == pairs(tidegate.match(frame, store))


@pytest.mark.parametrize("plan", ["replicate", "hash:3"])
def test_columns_may_have_other_names(
    spark: SparkSession, store: Store, queries: dict[str, str], posts: pa.Table, plan: str
) -> None:
    store.publish(Plan.parse(plan))
    names = {"id": "key", "text": "body", "author": "who", "lang": "tongue", "lat": "y", "lon": "x"}
    renamed = posts.rename_columns([names.get(name, name) for name in posts.schema.names])
    matches = tidegate.match(spark.createDataFrame(renamed), store, **names)  # type: ignore[arg-type]
    assert pairs(matches, "key") == pairs_of(queries, renamed, **names)


@pytest.mark.parametrize(
    ("columns", "options", "complaint"),
    [
        ("id string, body string", {}, "posts have no column 'text': the columns are id, body"),
        ("text string", {}, "posts have no column 'id'"),
        ("id string, text string", {"lat": "north"}, "posts have no column 'north'"),
        ("id struct<a: int>, text string", {}, "column 'id' is of type struct<a:int>: an id is a text or a number"),
        ("id string, text binary", {}, "column 'text' is of type binary: string is needed; cast it first"),
        ("id string, text string, lat boolean, lon double", {}, "'lat' is of type boolean: double is needed; cast it"),
        ("id string, text string, lat struct<x: int>", {}, "'lat' is of type struct<x:int>.*or rename it if it is"),
        ("id string, text string, author struct<n: string>", {}, "'author' is of type struct<n:string>: string is"),
        (
            "id string, text string, tongue array<string>",
            {"lang": "tongue"},
            "column 'tongue' is of type array<string>",
        ),
        ("id string, text string", {"carry": ["mood"]}, "carry names 'mood': the posts' columns are id, text"),
        ("id string, text string, subscriber string", {}, "posts have a column 'subscriber'.*rename it first"),
        ("id string, text string, Subscription string", {}, "posts have a column 'Subscription'.*rename it first"),
        ("id string, text string, _matches int", {}, "posts have a column '_matches'.*rename it first"),
        ("id string, text string", {"per": "subscriber"}, "per is 'subscriber': allowed are 'match' and 'post'"),
        ("id string, text string, _matcher int", {}, "posts have a column '_matcher'.*rename it first"),
    ],
)
def test_posts_that_do_not_fit_are_refused_before_anything_runs(
    spark: SparkSession, storms: Store, columns: str, options: dict[str, str], complaint: str
) -> None:
    with pytest.raises(ConfigError, match=complaint):
        tidegate.match(spark.createDataFrame([], columns), storms, **options)  # type: ignore[arg-type]


def test_numbers_may_be_texts_and_ids_and_accounts_may_be_numbers(spark: SparkSession, tmp_path: Path) -> None:
    store = Store.open(tmp_path / "store")
    store.subscribe("ana", "from:12 in:(0,40,10,50)", id="here")
    columns = "id bigint, text string, author int, lang void, lat string, lon decimal(5,2)"
    rows = [(7, "A storm", 12, None, "41.5", Decimal("2.17")), (8, "A storm", 13, None, "41.5", Decimal("2.17"))]
    matches = tidegate.match(spark.createDataFrame(rows, columns), store)
    assert [(row.id, row.subscription) for row in matches.collect()] == [(7, "here")]


def test_posts_that_cannot_be_matched_are_set_aside_with_their_reasons(spark: SparkSession, storms: Store) -> None:
    frame = spark.createDataFrame(
        [
            ("good", "storm", 36.0, -5.0),
            (None, "storm", None, None),
            ("", "storm", None, None),
            ("mute", None, 1.0, 1.0),
            ("lost", "storm", 200.0, 1.0),
            ("hopeless", None, 1.0, -999.0),
        ],
        "id string, text string, lat double, lon double",
    )
    for plan in ("replicate", "hash:3"):
        storms.publish(Plan.parse(plan))
        assert pairs(tidegate.match(frame, storms)) == [("good", "storms")]
        letters = DeadLetters(storms.beside).read().to_pylist()[-5:]
        assert sorted((str(letter["id"]), letter["reason"]) for letter in letters) == [
            ("", "no id in column 'id'"),
            ("None", "no id in column 'id'"),
            ("hopeless", "no text in column 'text'; its coordinates are not on Earth"),
            ("lost", "its coordinates are not on Earth"),
            ("mute", "no text in column 'text'"),
        ]
        assert '"lat": 200.0' in next(letter["post"] for letter in letters if letter["id"] == "lost")


def test_a_batch_of_posts_can_be_matched_as_of_an_earlier_version(spark: SparkSession, storms: Store) -> None:
    before = storms.newest()
    storms.unsubscribe("storms")
    frame = spark.createDataFrame(stormy("1"))
    assert pairs(tidegate.match(frame, storms, at=before)) == [("1", "storms")]
    assert pairs(tidegate.match(frame, storms)) == []


def test_bytes_that_are_no_utf8_are_no_reason_to_stop(spark: SparkSession, storms: Store) -> None:
    good = "SELECT '1' AS id, 'A storm' AS text, CAST(unhex('61FF') AS STRING) AS author, NULL AS _corrupt_record"
    posts = spark.sql(f"{good} UNION ALL SELECT NULL, NULL, NULL, CAST(unhex('FFFE') AS STRING)")
    assert [row["id"] for row in tidegate.match(posts, storms, carry=[]).collect()] == ["1"]
    (letter,) = DeadLetters(storms.beside).read().to_pylist()
    assert letter["reason"] == "the payload cannot be decoded"


def test_a_dot_in_a_columns_name_is_refused_unless_the_column_stays_behind(spark: SparkSession, storms: Store) -> None:
    posts = spark.createDataFrame([("1", "A storm", 5)], "id string, text string, `a.b` int")
    with pytest.raises(ConfigError, match=r"column 'a\.b' has a dot in its name"):
        tidegate.match(posts, storms)
    assert [row["id"] for row in tidegate.match(posts, storms, carry=[]).collect()] == ["1"]
