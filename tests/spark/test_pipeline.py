"""The stages and the job on real Spark, compared with matching that knows nothing of either."""

import json
import os
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import tidegate
from tests.spark.oracle import Pair, pairs_of
from tests.spark.plans import publish
from tidegate.errors import ConfigError
from tidegate.query.parse import parse
from tidegate.query.semantics import PostView, satisfies
from tidegate.route.plan import Plan
from tidegate.spark.counts import Counts, counts_of
from tidegate.spark.run import Report, Settings, start
from tidegate.spark.sinks import HookSink, Sink, sink_at
from tidegate.spark.sources.posts import read_posts
from tidegate.store.dead_letters import DeadLetters
from tidegate.store.store import Store
from tidegate.text.analyzer import Analyzer
from tidegate.workload.posts import posts as generated_posts
from tidegate.workload.searches import saved_searches

PLANS = ["replicate", "hash:1", "hash:3", "hash:8", "salb:4", "salb:3:anycast", "headtail:3"]
BY_PLACE = ["hybrid:3", "kd_tree:4", "metric:5"]


@pytest.fixture(scope="module")
def queries() -> dict[str, str]:
    return {str(i): query for i, query in enumerate(saved_searches(200, 5).column("query").to_pylist())}


@pytest.fixture(scope="module")
def posts() -> pa.Table:
    return generated_posts(1_200, 6)


@pytest.fixture
def store(tmp_path: Path, queries: dict[str, str]) -> Store:
    """A store with the generated searches."""
    made = Store.open(tmp_path / "store")
    subscribers = [f"reader{i % 7}" for i in range(len(queries))]
    made.apply(pa.table({"id": list(queries), "query": list(queries.values()), "subscriber": subscribers}))
    return made


@pytest.fixture
def storms(tmp_path: Path) -> Store:
    """A store in which ana is interested in storms."""
    made = Store.open(tmp_path / "store")
    made.subscribe("ana", "storm", id="storms")
    return made


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


@pytest.mark.parametrize("plan", ["replicate", "hash:3"])
def test_a_stream_is_matched_like_a_batch(
    spark: SparkSession, store: Store, queries: dict[str, str], posts: pa.Table, plan: str, tmp_path: Path
) -> None:
    store.publish(Plan.parse(plan))
    matches = tidegate.match(read_posts(spark, files(tmp_path / "posts", *slices(posts, 3))), store)
    writer = matches.writeStream.format("parquet").option("checkpointLocation", str(tmp_path / "checkpoint"))
    query = writer.trigger(availableNow=True).start(str(tmp_path / "matches"))
    query.awaitTermination()
    written = spark.read.parquet(str(tmp_path / "matches"))
    assert pairs(written) == pairs_of(queries, posts)
    counted = Counts()
    for progress in query.recentProgress:
        counted.add(counts_of(progress.observedMetrics["tidegate"].asDict()))
    assert (counted.posts, counted.matches) == (posts.num_rows, written.count())


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


@pytest.mark.parametrize(
    ("kind", "lines", "undecodable"),
    [
        ("json", ['{"id": "1", "text": "storm"}', '{"id": "2", "text": "st', '{"id": "3", "text": "storm"}'], '"st'),
        ("csv", ["id,text,lat,lon", "1,storm,,", "2,storm,north,4", "3,storm,,"], "2,storm,north,4"),
    ],
)
def test_undecodable_lines_are_set_aside_once_and_the_stream_goes_on(
    spark: SparkSession, storms: Store, tmp_path: Path, kind: str, lines: list[str], undecodable: str
) -> None:
    (tmp_path / "posts").mkdir()
    (tmp_path / "posts" / f"first.{kind}").write_text("\n".join(lines))
    counts: list[Counts] = []
    checkpoint, matches = tmp_path / "checkpoint", str(tmp_path / "matches")

    def follow() -> None:
        stream = read_posts(spark, f"{kind}:{tmp_path}/posts")
        run(stream, storms, sink_at(f"parquet:{matches}"), checkpoint, report=lambda _, counted: counts.append(counted))

    follow()
    forget_last_batch(checkpoint)
    follow()
    (tmp_path / "posts" / f"second.{kind}").write_text("\n".join(lines).replace("3", "4"))
    follow()
    assert [(counted.posts, counted.dead, counted.matches) for counted in counts] == [(3, 1, 2)] * 3
    assert pairs(spark.read.parquet(matches)) == [(id_, "storms") for id_ in ("1", "1", "3", "4")]
    letters = DeadLetters(storms.beside).read()
    assert letters.column("reason").to_pylist() == ["the payload cannot be decoded"] * 2
    assert all(undecodable in post.replace('\\"', '"') for post in letters.column("post").to_pylist())


def test_a_job_reports_what_each_batch_came_to(
    spark: SparkSession, store: Store, queries: dict[str, str], posts: pa.Table, tmp_path: Path
) -> None:
    store.publish(Plan.hash(4))
    reported: dict[int, Counts] = {}
    stream = read_posts(spark, files(tmp_path / "posts", *slices(posts, 2)))
    run(stream, store, sink_at(f"delta:{tmp_path}/matches"), tmp_path / "checkpoint", report=reported.__setitem__)
    assert [counts.posts for counts in reported.values()] == [600, 600]
    assert sum(counts.matches for counts in reported.values()) == len(pairs_of(queries, posts))
    for counts in reported.values():
        assert counts.candidates >= 600
        assert set(counts.loads) <= set(range(4))
        assert sum(counts.loads.values()) == counts.visits + counts.candidates


def test_a_replay_in_other_partitions_sets_each_bad_post_aside_once(
    spark: SparkSession, storms: Store, tmp_path: Path
) -> None:
    nameless = pa.table({"id": pa.nulls(40, pa.string()), "text": [f"storm {n}" for n in range(40)]})
    stream = read_posts(spark, files(tmp_path / "posts", stormy("1"), nameless))

    def die(matches: DataFrame, batch: int) -> None:
        matches.collect()
        if batch == 1:
            raise RuntimeError("the driver dies")

    with pytest.raises(StreamingQueryException, match="the driver dies"):
        run(stream.repartition(7), storms, HookSink(die), tmp_path / "checkpoint")
    assert DeadLetters(storms.beside).count() == 40
    run(stream.coalesce(1), storms, sink_at(f"json:{tmp_path}/matches"), tmp_path / "checkpoint")
    letters = [json.loads(post)["text"] for post in DeadLetters(storms.beside).read().column("post").to_pylist()]
    assert sorted(letters) == sorted(nameless.column("text").to_pylist())


@pytest.mark.parametrize("kind", ["delta", "parquet", "json"])
def test_a_replayed_batch_leaves_the_sink_as_it_was(
    spark: SparkSession, store: Store, queries: dict[str, str], posts: pa.Table, tmp_path: Path, kind: str
) -> None:
    address = files(tmp_path / "posts", *slices(posts, 2))
    checkpoint, matches = tmp_path / "checkpoint", str(tmp_path / "matches")

    def follow() -> list[Pair]:
        run(read_posts(spark, address), store, sink_at(f"{kind}:{matches}"), checkpoint)
        if kind != "delta":
            return pairs(spark.read.format(kind).load(matches))
        return pairs(spark.read.parquet(*DeltaTable(matches).file_uris()))

    assert follow() == pairs_of(queries, posts)
    forget_last_batch(checkpoint)
    assert follow() == pairs_of(queries, posts)


def test_a_delta_table_takes_the_files_of_a_batch_that_died_before_its_commit(
    spark: SparkSession, store: Store, queries: dict[str, str], posts: pa.Table, tmp_path: Path
) -> None:
    address, matches = files(tmp_path / "posts", *slices(posts, 2)), tmp_path / "matches"
    run(read_posts(spark, address), store, sink_at(f"delta:{matches}"), tmp_path / "checkpoint")
    forget_last_batch(tmp_path / "checkpoint")
    max((matches / "_delta_log").glob("*.json")).unlink()
    run(read_posts(spark, address), store, sink_at(f"delta:{matches}"), tmp_path / "checkpoint")
    assert pairs(spark.read.parquet(*DeltaTable(str(matches)).file_uris())) == pairs_of(queries, posts)


def test_the_console_shows_matches_and_still_sees_every_post(
    spark: SparkSession, storms: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    many = stormy(*map(str, range(500)))
    bad = pa.table({"id": pa.array([None], pa.string()), "text": ["storm"]})
    stream = read_posts(spark, files(tmp_path / "posts", many, bad).replace("Trigger=1", "Trigger=2"))
    reported: dict[int, Counts] = {}
    run(stream, storms, sink_at("console:?rows=5"), tmp_path / "checkpoint", report=reported.__setitem__)
    shown = capsys.readouterr().out
    assert shown.startswith("batch 0\n")
    assert shown.count(" storms|") == 5
    assert (reported[0].posts, reported[0].dead, reported[0].matches) == (501, 1, 500)
    assert DeadLetters(storms.beside).read().num_rows == 1


def test_a_subscription_counts_from_the_next_batch_and_a_removed_one_no_longer(
    spark: SparkSession, storms: Store, tmp_path: Path
) -> None:
    seen: list[list[Pair]] = []
    between: list[Callable[[], object]] = [
        lambda: storms.subscribe("eva", "storm", id="late"),
        lambda: storms.unsubscribe("storms"),
        lambda: storms.subscribe("eva", "flood", id="late"),
        lambda: None,
    ]

    def hook(matches: DataFrame, batch: int) -> None:
        seen.append(pairs(matches))
        between[batch]()

    stream = read_posts(spark, files(tmp_path / "posts", *map(stormy, "0123")))
    run(stream, storms, HookSink(hook), tmp_path / "checkpoint")
    assert seen == [[("0", "storms")], [("1", "late"), ("1", "storms")], [("2", "late")], []]


@pytest.mark.parametrize("way", ["job", "match"])
def test_a_replay_gives_the_same_matches_although_subscriptions_have_changed(
    spark: SparkSession, storms: Store, tmp_path: Path, way: str
) -> None:
    seen: list[tuple[int, list[Pair]]] = []
    address = files(tmp_path / "posts", stormy("0"))

    def hook(matches: DataFrame, batch: int) -> None:
        seen.append((batch, pairs(matches)))

    def follow() -> None:
        stream = read_posts(spark, address)
        if way == "job":
            run(stream, storms, HookSink(hook), tmp_path / "checkpoint")
            return
        writer = tidegate.match(stream, storms).writeStream.foreachBatch(hook).trigger(availableNow=True)
        writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start().awaitTermination()

    follow()
    storms.unsubscribe("storms")
    storms.subscribe("eva", "storm", id="late")
    forget_last_batch(tmp_path / "checkpoint")
    follow()
    files(tmp_path / "posts", stormy("1"))
    follow()
    assert seen == [(0, [("0", "storms")]), (0, [("0", "storms")]), (1, [("1", "late")])]


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


def test_a_function_that_looks_at_no_match_does_not_hold_up_the_stream(
    spark: SparkSession, storms: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tidegate.spark.run._COUNTS_S", 0.5)
    seen: list[int] = []
    address = files(tmp_path / "posts", stormy("1"), stormy("2"))
    counted: dict[int, Counts] = {}
    run(
        read_posts(spark, address),
        storms,
        HookSink(lambda _, batch: seen.append(batch)),
        tmp_path / "checkpoint",
        report=counted.__setitem__,
    )
    assert seen == [0, 1]
    assert counted == {0: Counts(), 1: Counts()}
