"""The job into the inbox, on real Spark and both databases: the notifications of plain matching, once."""

import pickle
from collections import defaultdict
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from tests.spark.oracle import pairs_of
from tests.spark.scenes import files, forget_last_batch, run, slices, stormy
from tidegate.deliver.database import Database
from tidegate.deliver.inbox import Inbox
from tidegate.deliver.notification import Notification
from tidegate.deliver.subscribers import Subscribers
from tidegate.errors import ConfigError, StoreError
from tidegate.spark.columns import Shape
from tidegate.spark.job import usual_checkpoint
from tidegate.spark.run import Settings, start
from tidegate.spark.sinks import HookSink, sink_at
from tidegate.spark.sources.posts import read_posts
from tidegate.spark.told import told
from tidegate.store.store import Store


def everything(url: str) -> list[Notification]:
    database = Database.open(url)
    found = Inbox(database).tail(0, limit=1_000_000)
    database.close()
    return found


def test_a_stream_fills_the_inbox_and_a_replay_leaves_it_as_it_was(
    spark: SparkSession, store: Store, queries: dict[str, str], posts: pa.Table, url: str, tmp_path: Path
) -> None:
    address, checkpoint = files(tmp_path / "posts", *slices(posts, 3)), tmp_path / "checkpoint"

    def follow() -> None:
        run(read_posts(spark, address), store, sink_at(f"inbox:{url}"), checkpoint)

    follow()
    expected = defaultdict(set)
    for post, subscription in pairs_of(queries, posts):
        expected[f"reader{int(subscription) % 7}", post].add(subscription)
    found = everything(url)
    assert len(found) == len(expected)
    assert {(one.subscriber, one.id): {reason["subscription"] for reason in one.reasons} for one in found} == expected
    assert max(len(one.reasons) for one in found) > 1
    texts = dict(zip(map(str, posts.column("id").to_pylist()), posts.column("text").to_pylist(), strict=True))
    assert all(one.post["text"] == texts[one.id] and "subscriber" not in one.post for one in found)
    forget_last_batch(checkpoint)
    follow()
    assert everything(url) == found
    # As if the driver had died before it could ask, too.
    forget_last_batch(checkpoint)
    sink = sink_at(f"inbox:{url}")
    sink.has = lambda query, batch: False  # type: ignore[method-assign]
    run(read_posts(spark, address), store, sink, checkpoint)
    assert everything(url) == found


def test_what_was_pinned_before_a_subscriber_was_removed_does_not_reach_the_next_of_its_name(
    spark: SparkSession, storms: Store, tmp_path: Path
) -> None:
    """The job has pinned its batch and dies; ana leaves, and another ana comes; then the job is started again."""
    url, checkpoint = f"sqlite:///{tmp_path}/inbox.db", tmp_path / "checkpoint"
    database = Database.open(url)
    subscribers = Subscribers(database)
    subscribers.put("ana")
    sink = sink_at(f"inbox:{url}")
    follow = partial(run, read_posts(spark, files(tmp_path / "posts", stormy("1"))), storms)
    with pytest.raises(StreamingQueryException):
        follow(HookSink(_die), checkpoint)
    storms.unsubscribe("storms")
    assert subscribers.remove("ana", version=storms.version)
    assert subscribers.make("ana", version=storms.version)
    storms.subscribe("ana", "storm", id="again")
    follow(sink, checkpoint)
    assert everything(url) == []
    files(tmp_path / "posts", stormy("2"))
    follow(sink, checkpoint)
    assert [(one.id, one.reasons) for one in everything(url)] == [("2", ({"subscription": "again"},))]
    database.close()


def _die(matches: DataFrame, batch: int) -> None:
    raise RuntimeError(f"batch {batch} is not to be written")


def test_posts_say_when_they_were_written(spark: SparkSession, storms: Store, tmp_path: Path) -> None:
    times = {name: [datetime(year, 2, 3, tzinfo=UTC)] for name, year in (("ts", 2020), ("edited", 2021))}
    address = files(tmp_path / "posts", pa.table({"id": ["1"], "text": ["storm"], **times}))
    for option, year in (("", 2020), ("?at=edited", 2021)):
        url = f"sqlite:///{tmp_path}/{year}.db"
        run(read_posts(spark, address), storms, sink_at(f"inbox:{url}{option}"), tmp_path / f"checkpoint-{year}")
        (found,) = everything(url)
        assert found.at == int(datetime(year, 2, 3, tzinfo=UTC).timestamp()) * 1_000_000
        assert found.post.keys() == {"id", "text", "ts", "edited"}


def test_a_ranked_match_keeps_its_window_and_its_rank_and_one_set_aside_is_not_told(
    spark: SparkSession, tmp_path: Path
) -> None:
    columns = "subscriber string, subscription string, ranking string, window long, begins timestamp, rank int, \
        score double, reason string, id long, text string"
    rows = [
        ("ana", None, "{}", 7, None, 2, 0.5, None, 1, "storm"),
        ("ana", "s", "{}", None, None, None, None, "the post has no time", 2, "storm"),
    ]
    windows = spark.createDataFrame(rows, columns)
    key = ("id", "subscriber", "subscription", "ranking", "window", "rank")
    url = f"sqlite:///{tmp_path}/inbox.db"
    sink_at(f"inbox:{url}", key=key).write(windows, "run", 0)
    (found,) = everything(url)
    assert found.reasons == ({"subscription": None, "window": 7, "rank": 2},)
    assert (found.topic_type, found.id, found.post) == ("ranked", "1", {"id": 1, "text": "storm"})


def test_what_an_inbox_cannot_take_is_said_before_or_when_it_comes(
    spark: SparkSession, storms: Store, tmp_path: Path
) -> None:
    stream = read_posts(spark, files(tmp_path / "posts", stormy("1")))
    (tmp_path / "notes.db").write_bytes(b"my notes\n" * 200)
    with pytest.raises(StoreError, match="no SQLite database"):
        run(stream, storms, sink_at(f"inbox:sqlite:///{tmp_path}/notes.db"), tmp_path / "checkpoint")
    nobody = Settings(str(tmp_path / "nobody"), once=True, shape=Shape(subscribers=False))
    with pytest.raises(StreamingQueryException, match="an inbox needs matches with a subscriber"):
        start(stream, storms, sink_at(f"inbox:sqlite:///{tmp_path}/inbox.db"), nobody).awaitTermination()
    matches = spark.createDataFrame([("1", "a", "s")], "id string, subscriber string, subscription string")
    with pytest.raises(ConfigError, match="at names 'when', and there is no such column"):
        told(matches, ("id", "subscription"), "when")
    with pytest.raises(ConfigError, match="at names 'id', and it is of type string"):
        told(matches, ("id", "subscription"), "id")


def test_a_sink_travels_without_its_connections(spark: SparkSession, tmp_path: Path) -> None:
    sink = sink_at(f"inbox:sqlite:///{tmp_path}/inbox.db")
    sink.check(spark)
    assert not pickle.loads(pickle.dumps(sink)).has("run", 0)


def test_a_password_is_no_part_of_what_is_written_down(storms: Store) -> None:
    places = [
        usual_checkpoint(storms, "json:posts", f"inbox:postgresql://ana{secret}@db/inbox") for secret in ("", ":x")
    ]
    assert places[0] == places[1]


def test_a_post_that_names_a_topic_is_told_as_about_it_and_is_in_its_history(
    spark: SparkSession, url: str, tmp_path: Path
) -> None:
    store = Store.open(tmp_path / "store")
    store.subscribe(subscriber="ana", query="storm", id="s1")
    rows = [("p1", "storm", "kiel", "city"), ("p2", "storm", None, None)]
    columns = dict(zip(("id", "text", "topic", "topic_type"), map(list, zip(*rows, strict=True)), strict=True))
    address = files(tmp_path / "posts", pa.table(columns))
    run(read_posts(spark, address), store, sink_at(f"inbox:{url}"), tmp_path / "checkpoint")
    assert {one.id: (one.topic, one.topic_type) for one in everything(url)} == {
        "p1": ("kiel", "city"),
        "p2": ("subscription:s1", "match"),
    }
    assert [entry.id for entry in Inbox(Database.open(url)).history("kiel")] == ["p1"]
