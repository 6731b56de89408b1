"""An overloaded job on real Spark and both databases: chosen topics are told live, the others wait in the inbox."""

import pickle
from collections.abc import Callable, Mapping
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from tests.spark.scenes import files, run
from tidegate.deliver.database import Database
from tidegate.deliver.inbox import Inbox
from tidegate.errors import ConfigError
from tidegate.serve.tail import Tail
from tidegate.spark.metrics import Metrics
from tidegate.spark.offload import InInbox, Offload, OffloadSettings
from tidegate.spark.prometheus import Exposition
from tidegate.spark.sinks import sink_at
from tidegate.spark.sources.posts import read_posts
from tidegate.store.store import Store

FOLLOWERS = {"nasa": 10, "esa": 3}
# By batch, each of which is a window: how many posts each account writes.
WINDOWS = [{"nasa": 2, "esa": 3}, {"nasa": 3, "esa": 1}, {"nasa": 1, "esa": 1}]
# At first nothing is known, and esa is cheaper; then nasa satisfies more; then nasa has become too dear.
LIVE = ["esa", "nasa", "esa"]
SETTINGS = OffloadSettings("inbox", 20, 1.0, satisfied_by=2, by="author")


def by_turns() -> Callable[[], float]:
    moments = iter(range(1_000))
    return lambda: float(next(moments))


@pytest.fixture
def followed(tmp_path: Path) -> Store:
    store = Store.open(tmp_path / "store")
    for account, followers in FOLLOWERS.items():
        for follower in range(followers):
            store.subscribe(f"reader{follower}", f"from:{account}", id=f"{account}-{follower}")
    return store


def written(window: int) -> pa.Table:
    rows = [(f"{window}/{name}/{i}", name) for name, posts in WINDOWS[window].items() for i in range(posts)]
    ids, authors = zip(*rows, strict=True)
    return pa.table({"id": ids, "author": authors, "text": [f"news of {name}" for name in authors]})


def expected(*, live: bool) -> set[tuple[str, str]]:
    """Subscribers and posts, all of them, or those that are to be told live."""
    return {
        (f"reader{follower}", f"{window}/{name}/{i}")
        for window, posts in enumerate(WINDOWS)
        for name, count in posts.items()
        for i in range(count)
        for follower in range(FOLLOWERS[name])
        if not live or LIVE[window] == name
    }


def test_chosen_topics_are_told_live_and_the_others_are_all_in_the_inbox(
    spark: SparkSession, followed: Store, url: str, tmp_path: Path
) -> None:
    address = files(tmp_path / "posts", *map(written, range(len(WINDOWS))))
    offload, metrics = Offload(SETTINGS, clock=by_turns()), Metrics()
    standings: list[Mapping[str, int]] = []

    def report(standing: Mapping[str, int]) -> None:
        metrics.offloaded("job", standing)
        standings.append(standing)

    offload.report = report
    run(read_posts(spark, address), followed, sink_at(f"inbox:{url}", offload=offload), tmp_path / "checkpoint")
    database = Database.open(url)
    inbox, everybody = Inbox(database), {f"reader{follower}" for follower in range(10)}
    assert {(one.subscriber, one.id) for one in inbox.tail(0, limit=1000)} == expected(live=False)
    seen = Tail(database).after(0, everybody)
    pushed = {cursor: who for who, event in seen.events if (cursor := event.cursor) is not None}
    by_cursor = inbox.some(pushed)
    assert {(who, by_cursor[cursor].id) for cursor, who in pushed.items()} == expected(live=True)
    assert seen.cursor == inbox.newest()
    caught_up = {(who, one.id) for who in everybody for one in inbox.since(who, live=True)}
    assert caught_up == expected(live=True)
    assert [(one["windows"], one["came"], one["went"]) for one in standings] == [(0, 0, 0), (1, 0, 0), (2, 1, 1)]
    told = metrics.of("job").summary()["offloading"]
    assert (told["live"], told["later"]) == (len(expected(live=True)), len(expected(live=False) - expected(live=True)))
    samples = {sample.name: sample.value for family in Exposition(metrics).collect() for sample in family.samples}
    assert samples["tidegate_offloading_later_total"] == told["later"]
    assert samples["tidegate_offloading_served_topics"] == 1
    database.close()


class Others(InInbox):
    """Stands for another way to offload: takes what is about nasa."""

    def __init__(self) -> None:
        self.taken: list[str] = []

    def hand_over(self, rows: pa.Table, query: str, batch: int) -> pa.Table:
        is_theirs = [name == "nasa" for name in rows["served_by"].to_pylist()]
        self.taken += rows.filter(pa.array(is_theirs, pa.bool_()))["id"].to_pylist()
        return rows.filter(pa.array([not theirs for theirs in is_theirs], pa.bool_()))


def test_who_takes_what_is_offloaded_leaves_the_rest_in_the_inbox_in_its_order() -> None:
    others = Others()
    offload = Offload(OffloadSettings("inbox", 1), others)
    rows = pa.table(
        {
            "subscriber": ["ana", "ana", "ana"],
            "subscription": ["s1", "s1", "s2"],
            "id": ["1", "2", "3"],
            "post": ["{}", "{}", "{}"],
            "served_by": ["esa", "nasa", None],
            "topic": pa.array([None, None, None], pa.string()),
        }
    )
    marked = offload.marked(rows.take([2, 1, 0, 0]), "run", 0)
    # Each has one notification to tell, so the first by name gets the room there is.
    assert list(zip(marked["id"].to_pylist(), marked["offloaded"].to_pylist(), strict=True)) == [
        ("3", True),
        ("1", False),
        ("1", False),
    ]
    assert others.taken == ["2"]
    assert set(marked.column_names) == {"subscriber", "subscription", "id", "post", "topic", "offloaded"}


def test_where_nothing_is_told_live_nothing_can_be_offloaded() -> None:
    with pytest.raises(ConfigError, match="only an inbox is told in real time"):
        sink_at("delta:matches", offload=Offload(SETTINGS))
    with pytest.raises(ConfigError, match="nothing can be offloaded to 'space': choose one of inbox, overlay"):
        OffloadSettings("space", 20)
    with pytest.raises(ConfigError, match="name a peer that is there by --overlay-join"):
        OffloadSettings("overlay", 20)
    with pytest.raises(ConfigError, match="no goal is called 'all'"):
        OffloadSettings("inbox", 20, goal="all")


def test_a_column_that_is_not_there_is_named(spark: SparkSession, tmp_path: Path) -> None:
    matches = spark.createDataFrame([("1", "a", "s")], "id string, subscriber string, subscription string")
    sink = sink_at(f"inbox:sqlite:///{tmp_path}/inbox.db", offload=Offload(SETTINGS))
    with pytest.raises(ConfigError, match="topics are offloaded by 'author', which matches do not carry"):
        sink.write(matches, "run", 0)


def test_it_travels_with_its_settings(tmp_path: Path) -> None:
    sink = sink_at(f"inbox:sqlite:///{tmp_path}/inbox.db", offload=Offload(SETTINGS))
    assert pickle.loads(pickle.dumps(sink))._offload.settings == SETTINGS
