"""A plan published while the job runs is followed from the next batch on, and no match is lost or doubled."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from tests.spark.oracle import Pair, pairs_of
from tests.spark.plans import publish
from tidegate.spark.run import Settings, run_id, start
from tidegate.spark.sinks import HookSink
from tidegate.spark.sources.posts import read_posts
from tidegate.store.store import Store
from tidegate.workload.posts import posts as generated_posts
from tidegate.workload.searches import saved_searches

PLANS = ("hash:3", "hybrid:4", "salb:5", "grid:4", "replicate", "headtail:4", "headtail:2")
BATCH = 200


def test_a_new_plan_is_followed_from_the_next_batch_without_a_match_lost_or_doubled(
    spark: SparkSession, tmp_path: Path
) -> None:
    queries = {str(i): query for i, query in enumerate(saved_searches(200, 21).column("query").to_pylist())}
    posts = generated_posts(BATCH * (len(PLANS) + 1), 22)
    (tmp_path / "posts").mkdir()
    for number in range(len(PLANS) + 1):
        pq.write_table(posts.slice(number * BATCH, BATCH), tmp_path / "posts" / f"{number}.parquet")
    store = Store.open(tmp_path / "store")
    subscribers = ["ana"] * len(queries)
    store.apply(pa.table({"id": list(queries), "query": list(queries.values()), "subscriber": subscribers}))
    found: list[Pair] = []

    def hook(matches: DataFrame, batch: int) -> None:
        found.extend((str(row.id), row.subscription) for row in matches.collect())
        for plan in PLANS[batch : batch + 1]:
            publish(store, plan, posts, head=10)

    settings = Settings(str(tmp_path / "checkpoint"), once=True, carry=())
    stream = read_posts(spark, f"parquet:{tmp_path}/posts?maxFilesPerTrigger=1")
    start(stream, store, HookSink(hook), settings).awaitTermination()
    pins = [store.pins.at(run_id(settings.checkpoint), batch) for batch in range(len(PLANS) + 1)]
    assert [pin and pin.plan for pin in pins] == list(range(len(PLANS) + 1))
    assert sorted(found) == pairs_of(queries, posts)
