"""Posts that were handed in are posts to a job."""

import time
from pathlib import Path

from pyspark.sql import SparkSession

from tests.serve.scene import Scene
from tests.spark.scenes import forget_last_batch, run
from tidegate.serve.post import Post
from tidegate.serve.postbox import Postbox
from tidegate.spark.sinks import sink_at
from tidegate.spark.sources.posts import POST, read_history, read_posts
from tidegate.store.store import Store


def test_a_job_reads_what_was_acknowledged(scene: Scene, spark: SparkSession, tmp_path: Path) -> None:
    text = 'Storms\n\u2028 "reach" Kiel'
    posts = [
        {
            "id": "p1",
            "text": text,
            "lat": 54.3,
            "lon": 10,
            "ts": "2026-03-01T12:00:00.5+02:00",
        },
        {"id": "p2", "text": "calm", "lang": "en", "topic": "kiel", "topic_type": "city"},
    ]
    scene.ask("ana", "POST", "/posts", json=posts)
    scene.ask("ana", "POST", "/posts", json={"id": "p3", "text": "away", "topic": "ana", "topic_type": "presence"})
    rows = {row["id"]: row for row in read_history(spark, f"json:{tmp_path}/posts", schema=POST).collect()}
    assert rows.keys() == {"ana/p1", "ana/p2"}
    first = rows["ana/p1"]
    assert (first["text"], first["author"], first["lat"], first["lon"]) == (text, "ana", 54.3, 10.0)
    assert first["ts"].timestamp() == 1772359200.5
    assert rows["ana/p2"]["lang"] == "en"
    assert all(row["_corrupt_record"] is None for row in rows.values())


def test_a_job_knows_all_columns_of_posts_though_none_has_them_yet(
    scene: Scene, spark: SparkSession, tmp_path: Path
) -> None:
    scene.ask("ana", "POST", "/posts", json={"id": "p1", "text": "calm"})
    columns = read_history(spark, f"json:{tmp_path}/posts").columns
    assert [name for name in columns if not name.startswith("_")] == list(Post.model_fields)


def test_a_job_goes_on_though_what_it_had_found_is_forgotten(spark: SparkSession, tmp_path: Path) -> None:
    postbox, store = Postbox(tmp_path / "posts"), Store.open(tmp_path / "store")
    store.subscribe("ana", "storm")
    checkpoint, matches = tmp_path / "checkpoint", tmp_path / "matches"

    def follow() -> None:
        run(read_posts(spark, f"json:{tmp_path}/posts"), store, sink_at(f"json:{matches}"), checkpoint)

    postbox.put([Post(id="old", text="storm")])
    follow()
    # As if it had been killed in the midst of it, and started again after the retention.
    forget_last_batch(checkpoint)
    assert postbox.forget(time.time() + 1, newest=0) == 1
    postbox.put([Post(id="new", text="storm")])
    follow()
    assert [row["id"] for row in spark.read.json(f"{matches}/*/*").collect()] == ["new"]
