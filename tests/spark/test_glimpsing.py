"""What a job leaves of the posts it has seen: fair, the same however the stream is cut, and once."""

from collections import Counter
from datetime import UTC, datetime
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from tests.spark.scenes import files, forget_last_batch, run, slices
from tidegate.deliver.clock import SECOND
from tidegate.route.plan import Plan
from tidegate.spark.columns import Columns
from tidegate.spark.glimpsing import Glimpsing, drawn_line, looked_at
from tidegate.spark.run import Settings, run_id, start
from tidegate.spark.sinks import sink_at
from tidegate.spark.sources.posts import read_posts
from tidegate.store.glimpses import Glimpses
from tidegate.store.store import Store

COLUMNS = Columns(author="author")


def numbered(n: int) -> pa.RecordBatch:
    ids = list(map(str, range(n)))
    return pa.record_batch({"id": ids, "text": [f"post {each}" for each in ids], "author": ids})


def drawn(posts: pa.RecordBatch, cuts: list[int], most: int) -> list[Any]:
    ends = [0, *sorted(cuts), posts.num_rows]
    parts = [posts.slice(begin, end - begin) for begin, end in pairwise(ends)]
    lines = [drawn_line(part, COLUMNS, most) for part in parts if part.num_rows]
    found: list[Any] = looked_at(lines, most).to_pylist()
    return found


@given(st.integers(0, 300), st.lists(st.integers(0, 300), max_size=6), st.integers(1, 80))
def test_what_is_seen_does_not_depend_on_how_a_batch_is_cut(n: int, cuts: list[int], most: int) -> None:
    posts = numbered(n)
    whole = drawn(posts, [], n + 1)
    found = drawn(posts, [min(cut, n) for cut in cuts], most)
    assert len(whole) == n
    assert found == whole[: len(found)]
    assert len(found) == n if n <= most else 1 <= len(found) <= most


def test_every_post_is_as_likely_as_any_other() -> None:
    # Ids of a counter differ in their last digits alone: these say whether the draw is fair.
    found = drawn(numbered(100_000), [40_000], 10_000)
    assert len(found) > 4_000
    for place in (-1, -2, 0):
        counts = Counter(each["id"].zfill(5)[place] for each in found)
        expected = len(found) / 10
        assert sum((count - expected) ** 2 / expected for count in counts.values()) < 27.9, (place, counts)  # p = 0.001


def test_columns_of_any_kind_are_read_as_far_as_they_can_be() -> None:
    moment = datetime(2026, 3, 1, tzinfo=UTC)
    posts = pa.record_batch(
        {
            "key": pa.array([b"\xff1", b"2"], pa.binary()),
            "ts": pa.array([moment, None], pa.timestamp("ns", "UTC")),
            "text": ["x" * 30_000, "storm\u2028\n"],
            "account": [7, None],
            "lat": ["54.3", "north"],
            "lon": pa.array([Decimal("10.1"), None], pa.decimal128(5, 2)),
        }
    )
    columns = Columns("key", "text", "account", None, "lat", "lon")
    line = drawn_line(posts, columns, 10)
    assert len(line.splitlines()) == 1
    first, second = sorted(looked_at([line]).to_pylist(), key=lambda row: str(row["id"]), reverse=True)
    assert first == {
        "id": "\ufffd1",
        "ts": moment,
        "author": "7",
        "text": "x" * 20_000,
        "lang": None,
        "lat": 54.3,
        "lon": 10.1,
    }
    assert second == {
        "id": "2",
        "ts": None,
        "author": None,
        "text": "storm\u2028\n",
        **dict.fromkeys(("lang", "lat", "lon")),
    }


def test_batches_between_two_looks_are_stood_for_by_the_next(tmp_path: Path) -> None:
    now = 0
    store = Store.open(tmp_path / "store")
    glimpsing = Glimpsing(store, "run", 5000, lambda: now)
    line = drawn_line(numbered(3), COLUMNS, 64)
    assert glimpsing.wanted() > 0
    glimpsing.after(0, 3, [line])
    assert glimpsing.wanted() == 0
    glimpsing.after(1, 1000, [])
    now = 5 * SECOND
    assert glimpsing.wanted() > 0
    glimpsing.after(2, 3, [line])
    glimpsing.after(2, 3, [line])  # a replay
    left = Glimpses(store.beside).read("run")
    assert left is not None
    assert [look.stands_for for look in left.looks] == [3, 1003]


@pytest.mark.parametrize("plan", [Plan.replicate(), Plan.hash(3)], ids=str)
def test_a_job_leaves_what_it_has_seen_and_a_replay_adds_nothing(
    spark: SparkSession, store: Store, posts: pa.Table, tmp_path: Path, plan: Plan
) -> None:
    store.publish(plan)
    first, second = slices(posts, 2)
    bad = pa.table({name: pa.nulls(5, first.schema.field(name).type) for name in first.column_names})
    address, checkpoint = files(tmp_path / "posts", pa.concat_tables([first, bad])), tmp_path / "checkpoint"

    def follow() -> pa.Table:
        run(read_posts(spark, address), store, sink_at(f"json:{tmp_path}/matches"), checkpoint)
        left = Glimpses(store.beside).read(run_id(str(checkpoint)))
        assert left is not None
        return left

    left = follow()
    assert left.stands_for == first.num_rows  # and not the dead letters
    texts = {str(row["id"]): row["text"] for row in first.to_pylist()}
    seen = left.posts.to_pylist()
    assert 64 <= len(seen) <= 256
    assert all(texts[row["id"]] == row["text"] for row in seen)
    forget_last_batch(checkpoint)
    assert follow().stands_for == first.num_rows
    files(tmp_path / "posts", second)
    assert follow().stands_for == posts.num_rows


def test_a_job_that_is_told_so_leaves_nothing(
    spark: SparkSession, storms: Store, posts: pa.Table, tmp_path: Path
) -> None:
    stream = read_posts(spark, files(tmp_path / "posts", posts.slice(0, 10)))
    settings = Settings(str(tmp_path / "checkpoint"), once=True, recent=0)
    start(stream, storms, sink_at(f"json:{tmp_path}/matches"), settings).awaitTermination()
    assert Glimpses(storms.beside).written() == {}
