"""What a job says when its store or its sink cannot be used: the reason, soon; and it goes on when that is mended."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from tests.machine import small_disk
from tests.spark.oracle import pairs_of
from tidegate.route.plan import Plan
from tidegate.spark.failure import failure
from tidegate.spark.run import Settings, start
from tidegate.spark.sinks import HookSink, Sink, sink_at
from tidegate.spark.sources.posts import read_posts
from tidegate.store.store import Store
from tidegate.workload.posts import posts as generated_posts

BATCHES, BATCH = 4, 500


@pytest.fixture
def posts(tmp_path: Path) -> pa.Table:
    """Posts, which also lie in files for so many batches."""
    made = generated_posts(BATCHES * BATCH, 52)
    (tmp_path / "posts").mkdir()
    for number in range(BATCHES):
        pq.write_table(made.slice(number * BATCH, BATCH), tmp_path / "posts" / f"{number}.parquet")
    return made


@pytest.fixture
def store(tmp_path: Path) -> Store:
    made = Store.open(tmp_path / "store")
    made.subscribe("ana", "lang:en", id="english")
    return made


def run(spark: SparkSession, store: Store, sink: Sink, folder: Path) -> None:
    """Match all there is; no trouble may make this last."""
    stream = read_posts(spark, f"parquet:{folder}/posts?maxFilesPerTrigger=1")
    query = start(stream, store, sink, Settings(str(folder / "checkpoint"), once=True))
    assert query.awaitTermination(120), "it hangs"


def complaint(spark: SparkSession, store: Store, sink: Sink, folder: Path) -> str:
    with pytest.raises(StreamingQueryException) as failed:
        run(spark, store, sink, folder)
    return failure(str(failed.value))


@pytest.mark.usefixtures("posts")
def test_a_store_that_vanishes_ends_the_job_with_its_name(spark: SparkSession, store: Store, tmp_path: Path) -> None:
    seen: list[int] = []

    def hook(matches: DataFrame, batch: int) -> None:
        seen.append(matches.count())
        shutil.rmtree(tmp_path / "store")

    said = complaint(spark, store, HookSink(hook), tmp_path)
    assert f"{tmp_path}/store" in said
    assert len(seen) == 1


@pytest.mark.usefixtures("posts")
@pytest.mark.parametrize("plan", ["replicate", "hash:2"])
def test_a_store_of_a_newer_format_ends_the_job_with_what_to_do(
    spark: SparkSession, store: Store, tmp_path: Path, plan: str
) -> None:
    store.publish(Plan.parse(plan))
    DeltaTable(str(tmp_path / "store")).alter.set_table_properties({"tidegate.format": "99"}, raise_if_not_exists=False)
    said = complaint(spark, store, sink_at(f"delta:{tmp_path}/matches"), tmp_path)
    assert "written in format 99" in said
    assert "upgrade Tidegate" in said


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system with room for two megabytes."""
    with small_disk(tmp_path / "disk") as mount:
        yield mount("size=2m")


@pytest.mark.parametrize("kind", ["delta", "parquet"])
def test_a_sink_on_a_full_disk_says_so_and_is_exact_once_there_is_room(
    spark: SparkSession, store: Store, posts: pa.Table, disk: Path, tmp_path: Path, kind: str
) -> None:
    sink = sink_at(f"{kind}:{disk}/matches")
    filler = disk / "filler"
    filler.write_bytes(bytes(2 * 1024 * 1024 - 8192))
    assert "No space left on device" in complaint(spark, store, sink, tmp_path)
    filler.unlink()
    run(spark, store, sink, tmp_path)
    written = disk / "matches"
    files = DeltaTable(str(written)).file_uris() if kind == "delta" else [*map(str, written.rglob("*.parquet"))]
    rows = spark.read.parquet(*files).select("id", "subscription").toArrow()
    pairs = zip(map(str, rows.column("id").to_pylist()), rows.column("subscription").to_pylist(), strict=True)
    assert sorted(pairs) == pairs_of({"english": "lang:en"}, posts)
