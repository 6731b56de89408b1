"""Benchmark `delivery` reports what it promises, and notices what is wrong."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from rich.progress import Progress
from sqlalchemy import text

from tidegate.bench.delivery import crowd, inbox, run
from tidegate.bench.delivery.faults import Faults
from tidegate.bench.delivery.matches import Matches, reasons_of
from tidegate.bench.delivery.sizes import Sizes
from tidegate.bench.report import Report
from tidegate.deliver.database import Database
from tidegate.deliver.inbox import Added, Inbox
from tidegate.errors import ConfigError, TidegateError

TINY = Sizes(
    subscribers=60,
    batches=3,
    matches=400,
    rival_batches=1,
    checked=20,
    feeds=30,
    feed_s=1.0,
    doubled_s=0.5,
    doublings=1,
    listeners=2,
    timed_posts=3,
    kills=0,
)


@pytest.fixture(scope="module")
def report() -> Report:
    return run("small", seed=3, progress=Progress(disable=True), sizes=TINY)


@pytest.mark.slow
def test_every_section_is_reported_and_nothing_is_lost(report: Report) -> None:
    inboxes, feeds, paths, kills = (section.rows for section in report.sections)
    assert [row["database"] for row in inboxes] == ["SQLite", "Postgres"]
    told = sum(len(reasons_of(Matches(TINY, 3).batch(number))) for number in range(3))
    assert {row["notifications"] for row in inboxes} == {told}
    assert all(row["rival, rows/s"] > 0 for row in inboxes)
    assert {(row["database"], row["feeds"]) for row in feeds} == {("SQLite", 30)}
    assert [row["arrived"] for row in feeds] == [1_000, 1_000][: len(feeds)]
    assert [row["trigger"] for row in paths] == ["every 200ms", None]
    assert all(0 < row["p50_ms"] <= row["p99_ms"] <= row["max_ms"] for row in [*feeds, *paths])
    assert paths[1]["told"] == TINY.timed_posts * TINY.listeners
    assert (kills[0]["lost"], kills[0]["doubled"]) == (0, 0)


@pytest.mark.slow
def test_the_summary_has_what_was_promised(report: Report) -> None:
    promised = {"inbox_rows_per_s_postgres", "feed_connections", "feed_p99_ms", "lost", "doubled"}
    assert promised <= report.summary.keys()
    assert "feed_p99_past_1s_at_per_s" in report.summary
    assert (report.summary["feed_connections"], report.summary["lost"]) == (30, 0)


@pytest.mark.parametrize(
    ("told", "cursors", "wrong"),
    [
        (["a", "b"], [1, 2], Faults()),
        (["a"], [1], Faults(lost=1)),
        (["a", "b", "b"], [1, 2, 3], Faults(doubled=1)),
        (["b", "a"], [1, 2], Faults(misplaced=1)),
        (["a", "b"], [2, 2], Faults(misplaced=1)),
    ],
)
def test_a_feed_that_is_wrong_is_noticed(
    told: list[str], cursors: list[int], wrong: Faults, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crowd, "_PATIENCE_S", 0.1)

    async def scene() -> dict[str, Any]:
        feed = crowd.Feed("key")
        feed.told, feed.cursors, feed.late_ms = told, cursors, [1.0] * len(told)
        return await crowd.arrived([feed], [["a", "b"]])

    came = asyncio.run(scene())
    assert Faults(*(came[name] for name in Faults._fields)) == wrong
    if any(wrong):
        with pytest.raises(TidegateError, match=r"wrong answers: the feeds: 1 (lost|doubled|misplaced)"):
            wrong.demand_none("the feeds")


def test_matches_are_the_same_for_a_seed_and_some_share_a_subscriber_and_a_post() -> None:
    batch = Matches(TINY, 3).batch(1)
    assert batch.equals(Matches(TINY, 3).batch(1))
    assert not batch.equals(Matches(TINY, 4).batch(1))
    assert batch.num_rows == 400
    assert max(map(len, reasons_of(batch).values())) > 1


@pytest.mark.parametrize(
    ("spoiled", "said"),
    [
        ("DELETE FROM notifications WHERE cursor = 7", "0 notifications too many, 1 are missing"),
        (
            "INSERT INTO notifications (cursor, subscriber, post, reasons, topic, topic_type, at) "
            "SELECT 9999, subscriber, 'other', reasons, topic, topic_type, at FROM notifications WHERE cursor = 7",
            "1 notifications too many, 0 are missing",
        ),
        ("UPDATE notifications SET reasons = '[]'", "the inbox of reader[0-9]+ differs from plain Python's"),
        ('UPDATE posts SET body = \'{"id": "x"}\'', "has a notification with another's post"),
    ],
)
def test_an_inbox_that_is_wrong_ends_the_run(spoiled: str, said: str, tmp_path: Path) -> None:
    database, kept = Database.open(f"sqlite:///{tmp_path}/inbox.db"), inbox.Kept()
    batch = Matches(TINY, 3).batch(0)
    Inbox(database).add(batch, "bench", 0)
    kept.add(batch, TINY.checked)
    inbox._check(Inbox(database), database, kept, Added())
    with database.writing() as connection:
        connection.execute(text(spoiled))
    with pytest.raises(TidegateError, match=said):
        inbox._check(Inbox(database), database, kept, Added())
    with pytest.raises(TidegateError, match="came again made 3 notifications"):
        inbox._check(Inbox(database), database, kept, Added(3, 0, 9))
    database.close()


def test_a_file_of_posts_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"takes no posts, and some\.parquet was given"):
        run("small", posts=tmp_path / "some.parquet")
