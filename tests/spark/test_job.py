"""The job on real Spark: streams, replays, sinks, and what is set aside; compared with plain matching."""

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

import tidegate
from tests.spark.oracle import Pair, pairs_of
from tests.spark.scenes import files, forget_last_batch, pairs, run, slices, stormy
from tidegate.route.plan import Plan
from tidegate.spark.counts import Counts, counts_of
from tidegate.spark.sinks import HookSink, sink_at
from tidegate.spark.sources.posts import read_posts
from tidegate.store.dead_letters import DeadLetters
from tidegate.store.store import Store


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
