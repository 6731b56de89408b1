"""A job that learns while it runs: it starts on hash, swaps when it has seen enough, and loses nothing."""

from collections import Counter
from itertools import count
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from tests.spark.oracle import Pair, pairs_of
from tests.spark.scenes import files, slices
from tidegate.route.costs import Cluster
from tidegate.route.plan import Plan
from tidegate.spark.columns import Columns
from tidegate.spark.counts import Counts
from tidegate.spark.relearning import Relearning, Schedule
from tidegate.spark.run import Settings, run_id, start
from tidegate.spark.sinks import HookSink
from tidegate.spark.sources.posts import read_posts
from tidegate.store.store import Store
from tidegate.store.upkeep import Upkeep
from tidegate.workload.posts import posts as generated_posts
from tidegate.workload.searches import saved_searches

BATCH, BATCHES = 200, 5


def filled_store(folder: Path) -> tuple[Store, dict[str, str]]:
    queries = {str(i): query for i, query in enumerate(saved_searches(200, 21).column("query").to_pylist())}
    store = Store.open(folder / "store")
    store.apply(pa.table({"id": list(queries), "query": list(queries.values()), "subscriber": ["ana"] * len(queries)}))
    return store, queries


def test_a_job_starts_on_hash_and_follows_what_it_has_learned(spark: SparkSession, tmp_path: Path) -> None:
    store, queries = filled_store(tmp_path)
    posts = generated_posts(BATCH * BATCHES, 22)
    address = files(tmp_path / "posts", *slices(posts, BATCHES))
    store.publish(Plan.hash(4))
    said: list[str] = []
    relearning = Relearning(store, Columns(), Plan.parse("headtail:4"), Cluster(4), Schedule(2 * BATCH), said.append)
    found: list[Pair] = []

    def hook(matches: DataFrame, batch: int) -> None:
        found.extend((str(row.id), row.subscription) for row in matches.collect())
        relearning.wait()

    settings = Settings(str(tmp_path / "checkpoint"), once=True, carry=())
    stream = read_posts(spark, address)
    start(stream, store, HookSink(hook), settings, relearning=relearning).awaitTermination()
    relearning.wait()
    pins = [store.pins.at(run_id(settings.checkpoint), batch) for batch in range(BATCHES)]
    kinds = [store.plans.at(pin.plan).kind for pin in pins if pin is not None]
    assert kinds[:2] == ["hash", "hash"], "two batches are what it trains on"
    assert kinds[-1] == "headtail"
    assert said == ["learned headtail:4 from 400 posts: version 2"]
    assert sorted(found) == pairs_of(queries, posts)


def test_a_plan_by_places_is_adjusted_while_the_job_runs(spark: SparkSession, tmp_path: Path) -> None:
    store, queries = filled_store(tmp_path)
    posts = generated_posts(BATCH * BATCHES, 23)
    address = files(tmp_path / "posts", *slices(posts, BATCHES))
    store.publish(Plan.hash(4))
    said: list[str] = []
    schedule = Schedule(BATCH, every_s=1e-6)
    ticks = count(0, 100)  # so that every batch is drawn from
    relearning = Relearning(
        store, Columns(), Plan.parse("hybrid:4"), Cluster(4), schedule, said.append, lambda: float(next(ticks))
    )
    found: list[Pair] = []

    def hook(matches: DataFrame, batch: int) -> None:
        found.extend((str(row.id), row.subscription) for row in matches.collect())
        relearning.wait()
        if batch == BATCHES - 2:
            Upkeep(store).compact_segments()

    settings = Settings(str(tmp_path / "checkpoint"), once=True, carry=())
    stream = read_posts(spark, address)
    start(stream, store, HookSink(hook), settings, relearning=relearning).awaitTermination()
    relearning.wait()
    pins = [store.pins.at(run_id(settings.checkpoint), batch) for batch in range(BATCHES)]
    plans = [store.plans.at(pin.plan) for pin in pins if pin is not None]
    assert [plan.kind for plan in (plans[0], *plans[-2:])] == ["hash", "hybrid", "hybrid"]
    by_place = {plan.version: plan.after for plan in plans if plan.by_place}
    assert len(by_place) > 1, "it was adjusted"
    assert all(after == version - 1 for version, after in by_place.items()), "each takes over from the one before"
    assert sorted(found) == pairs_of(queries, posts)


def test_a_plan_that_no_longer_fits_is_learned_anew(spark: SparkSession, tmp_path: Path) -> None:
    store, _ = filled_store(tmp_path)
    frame = spark.createDataFrame(generated_posts(BATCH, 23))
    said: list[str] = []
    relearning = Relearning(store, Columns(), Plan.parse("salb:2"), Cluster(2), Schedule(BATCH, decay=0.3), said.append)

    def batch(loads: dict[int, int]) -> None:
        relearning.before(frame)
        plan = store.plans.newest()
        relearning.after(frame, Counts(posts=BATCH, visited=Counter(loads)), plan)
        relearning.wait()

    batch({})
    assert said == [f"learned salb:2 from {BATCH} posts: version 1"], "the first plan is learned after training"
    batch({0: BATCH, 1: BATCH})
    batch({0: BATCH, 1: BATCH + 10})
    assert len(said) == 1, "a plan that fits is kept"
    relearning._last_draw = float("-inf")  # as if time had passed
    batch({0: 2 * BATCH, 1: 10})
    assert said[1:] == [f"learned salb:2 from {BATCH} posts: version 2"]


def test_learning_that_fails_leaves_the_stream_its_plan(spark: SparkSession, tmp_path: Path) -> None:
    store = Store.open(tmp_path / "empty")  # without subscriptions there is nothing to make a plan for
    frame = spark.createDataFrame(generated_posts(BATCH, 23))
    relearning = Relearning(store, Columns(), Plan.parse("salb:2"), Cluster(2), Schedule(BATCH), lambda _: None)
    for _ in range(3):
        relearning.before(frame)
        relearning.after(frame, Counts(posts=BATCH), store.plans.newest())
        relearning.wait()
    assert store.plans.newest() == Plan.replicate()
    assert relearning._failures == 1, "after a failure it rests"
