"""Shedding in the pipeline: what is delivered is part of all matches, the rest is counted, and a replay sheds alike."""

from collections.abc import Iterator
from math import inf
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

import tidegate
from tests.spark.oracle import Pair, pairs_of
from tests.spark.plans import publish
from tidegate.route.shedding import Levels
from tidegate.spark.counts import Counts
from tidegate.spark.relief import Relief
from tidegate.spark.run import Settings, run_id, start
from tidegate.spark.sinks import HookSink
from tidegate.spark.sources.posts import read_posts
from tidegate.store.pins import Pin
from tidegate.store.store import Store
from tidegate.workload.posts import posts as generated_posts
from tidegate.workload.searches import saved_searches

POSTS = generated_posts(400, 31)
QUERIES = {str(i): query for i, query in enumerate(saved_searches(400, 32).column("query").to_pylist())}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store.open(tmp_path / "store")
    rows = {"id": list(QUERIES), "query": list(QUERIES.values()), "subscriber": ["ana"] * len(QUERIES)}
    store.apply(pa.table(rows))
    publish(store, "salb:16", POSTS)
    return store


def pairs(matches: DataFrame) -> set[Pair]:
    return {(str(row.id), row.subscription) for row in matches.select("id", "subscription").collect()}


def test_a_higher_level_finds_less_and_never_anything_wrong(spark: SparkSession, store: Store) -> None:
    frame = spark.createDataFrame(POSTS)
    found = [
        pairs(tidegate.match(frame.repartition(parts), store, at=Pin(store.version, 1, most)))
        for parts, most in ((1, inf), (2, 1.9), (1, 1.0), (3, 1.0))
    ]
    assert found[0] == set(pairs_of(QUERIES, POSTS))
    assert found[0] > found[1] > found[2]
    assert found[2] == found[3], "a replay sheds alike, however it is partitioned"
    assert len(found[2]) > 0.3 * len(found[0])


def test_a_job_sheds_while_too_much_waits_and_stops_when_it_has_caught_up(
    spark: SparkSession, store: Store, tmp_path: Path
) -> None:
    (tmp_path / "posts").mkdir()
    for number in range(4):
        pq.write_table(POSTS.slice(100 * number, 100), tmp_path / "posts" / f"{number}.parquet")
    waiting = iter([0, 900, 900, 0])
    found: dict[int, set[Pair]] = {}
    counted: dict[int, Counts] = {}
    start(
        read_posts(spark, f"parquet:{tmp_path}/posts?maxFilesPerTrigger=1"),
        store,
        HookSink(lambda matches, batch: found.update({batch: pairs(matches)})),
        Settings(str(tmp_path / "checkpoint"), once=True, shed_beyond=500, shed_from=2.0),
        report=counted.__setitem__,
        waiting=lambda: next(waiting),
    ).awaitTermination()
    pins = [store.pins.at(run_id(str(tmp_path / "checkpoint")), batch) for batch in range(4)]
    assert [pin and pin.most for pin in pins][:2] == [inf, 2.0]
    assert [counts.shed > 0 for counts in counted.values()] == [pin is not None and pin.most < inf for pin in pins]
    everything = set(pairs_of(QUERIES, POSTS))
    assert set().union(*found.values()) <= everything


def test_the_level_follows_the_backlog() -> None:
    clock = iter(range(100))
    backlog: Iterator[int | None] = iter([10, 200, 300, None, 300, 90, 20, 10, 5])
    levels = Levels()
    relief = Relief(100, levels, lambda: next(backlog), clock=lambda: float(next(clock)))
    assert relief.most() == inf
    relief.learn({8: 100, 2: 50})
    assert [relief.most() for _ in range(8)] == [levels.most(level) for level in (1, 2, 1, 2, 2, 1, 0, 0)]
