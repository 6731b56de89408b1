"""The library under Spark Connect, whose client has no JVM: no `sparkContext`, no RDDs, no `_jvm`."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from tests.spark.oracle import pairs_of
from tidegate.store.store import Store
from tidegate.workload.posts import posts as generated_posts
from tidegate.workload.searches import saved_searches

PROJECT = Path(__file__).parents[2]

# In a process of its own: sessions with and without a JVM do not mix in one.
PROGRAM = """
import json, sys
from pathlib import Path
from pyspark.errors import PySparkAttributeError
from pyspark.sql import SparkSession
import tidegate
from tidegate.route.plan import Plan
from tidegate.spark.ranked import PROVIDER, RankSettings
from tidegate.spark.run import Settings, start
from tidegate.spark.session import SETTINGS
from tidegate.spark.sinks import sink_at
from tidegate.spark.sources.posts import read_posts

folder = Path(sys.argv[1])
builder = SparkSession.builder.remote("local[2]")
for key, value in {**SETTINGS, "spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2"}.items():
    builder = builder.config(key, value)
spark = builder.getOrCreate()
try:
    spark.sparkContext
    sys.exit("this is not Spark Connect")
except PySparkAttributeError:
    pass
store = tidegate.open(folder / "store")


def report(batch, counts):
    # The job's batches run beside the server: what they leave in memory does not come back.
    (folder / f"report-{batch}.json").write_text(counts.to_json())


for plan in ("replicate", "hash:3"):
    store.publish(Plan.parse(plan))
    name = plan.replace(":", "")
    matches = tidegate.match(spark.read.parquet(f"{folder}/posts"), store)
    pairs = matches.select("id", "subscription").toArrow()
    (folder / f"batch-{name}.json").write_text(json.dumps([list(pair) for pair in zip(*pairs.to_pydict().values())]))
    stream = read_posts(spark, f"parquet:{folder}/posts?maxFilesPerTrigger=1")
    settings = Settings(f"{folder}/checkpoint-{name}", once=True, carry=())
    start(stream, store, sink_at(f"delta:{folder}/stream-{name}"), settings, report=report).awaitTermination()
    writer = tidegate.match(stream, store, carry=[]).writeStream.format("parquet").trigger(availableNow=True)
    writer = writer.option("checkpointLocation", f"{folder}/checkpoint-plain-{name}")
    writer.start(f"{folder}/plain-{name}").awaitTermination()
for key, value in PROVIDER.items():
    spark.conf.set(key, value)
writer = tidegate.ranked_feeds(stream, store, RankSettings(buckets=2), carry=[]).writeStream.format("parquet")
writer = writer.trigger(availableNow=True).option("checkpointLocation", f"{folder}/checkpoint-ranked")
writer.start(f"{folder}/ranked").awaitTermination()
spark.stop()
"""


@pytest.mark.slow
def test_batches_and_streams_are_matched_under_spark_connect(tmp_path: Path) -> None:
    queries = {str(i): query for i, query in enumerate(saved_searches(100, 31).column("query").to_pylist())}
    posts = generated_posts(400, 32)
    (tmp_path / "posts").mkdir()
    for number in range(2):
        pq.write_table(posts.slice(200 * number, 200), tmp_path / "posts" / f"{number}.parquet")
    subscribers = ["ana"] * len(queries)
    rankings = ['{"k": 1, "window": 3, "feed": true}'] * len(queries)
    subscriptions = pa.table(
        {"id": list(queries), "query": list(queries.values()), "subscriber": subscribers, "ranking": rankings}
    )
    Store.open(tmp_path / "store").apply(subscriptions)
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, tmp_path],
        cwd=PROJECT,
        env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    expected = pairs_of(queries, posts)
    for plan in ("replicate", "hash3"):
        batch = json.loads((tmp_path / f"batch-{plan}.json").read_text())
        assert sorted((str(id_), subscription) for id_, subscription in batch) == expected
        job = DeltaTable(str(tmp_path / f"stream-{plan}")).to_pyarrow_table()
        plain = pq.read_table([*(tmp_path / f"plain-{plan}").glob("*.parquet")])
        for rows in (job, plain):
            ids = map(str, rows.column("id").to_pylist())
            assert sorted(zip(ids, rows.column("subscription").to_pylist(), strict=True)) == expected
    ranked = pq.read_table([*(tmp_path / "ranked").glob("*.parquet")])
    of_feed = {post for post, _ in expected}
    # In order, as the names of the files have none.
    assert sorted(ranked.column("window").to_pylist()) == list(range(len(of_feed) // 3))
    assert set(map(str, ranked.column("id").to_pylist())) <= of_feed
    reported = [json.loads(file.read_text()) for file in sorted(tmp_path.glob("report-*.json"))]
    assert [counts["posts"] for counts in reported] == [200, 200]
    assert sum(counts["matches"] for counts in reported) == len(expected)
