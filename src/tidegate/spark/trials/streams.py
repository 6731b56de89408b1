"""Timed streams: how soon a new subscription is matched, and how long a post is on its way, in the main job itself."""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread

import numpy as np
import pyarrow.compute as pc
import pyarrow.dataset as ds
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from tidegate.errors import PipelineError
from tidegate.spark.columns import Shape
from tidegate.spark.counts import Counts
from tidegate.spark.failure import failure
from tidegate.spark.run import Settings, start
from tidegate.spark.sinks import FolderSink, HookSink, Sink
from tidegate.spark.trials.batch import SCHEMA
from tidegate.store.store import Store
from tidegate.workload.terms import Floats

# A stream that has said nothing for so long has failed, or is hopelessly behind.
_PATIENCE_S = 120.0
# Batches in which workers start, and map and learn what later ones find ready.
_WARM_UP = 2


class Arrivals:
    """Files of posts that appear in a folder one by one, on a steady beat; a post arrives when its file does."""

    def __init__(self, files: Sequence[Path], folder: Path, every_s: float) -> None:
        """Let the files appear in turn, over and over. They must lie on the folder's disk: they are linked."""
        self.folder = folder
        self.times: list[float] = []
        """When each file appeared."""
        self._files, self._every_s = files, every_s
        self._over = Event()
        self._thread = Thread(target=self._run, name="arrivals", daemon=True)
        folder.mkdir(parents=True)

    def begin(self) -> None:
        """Start the beat."""
        self._thread.start()

    def end(self) -> None:
        """Stop it, if it has started; `times` is complete when this returns."""
        self._over.set()
        if self._thread.ident is not None:
            self._thread.join()

    def drop(self) -> None:
        """Let one file appear now."""
        number = len(self.times)
        os.link(self._files[number % len(self._files)], self.folder / f"{number:06}.parquet")
        self.times.append(time.time())

    def _run(self) -> None:
        due = time.time()
        while not self._over.wait(max(due - time.time(), 0.0)):
            self.drop()
            due += self._every_s


@dataclass
class Landed:
    """By batch: when its matches were in the sink, and how many posts it had."""

    times: dict[int, float] = field(default_factory=dict)
    posts: dict[int, int] = field(default_factory=dict)

    def note(self, batch: int, counts: Counts) -> None:
        """Take a report of the job."""
        self.times[batch] = time.time()
        self.posts[batch] = counts.posts


def visibility(
    spark: SparkSession, arrivals: Arrivals, store: Store, query: str, probes: int, scratch: Path
) -> list[float]:
    """Subscribe to `query` so many times while a stream with a trigger of one second runs.

    Return for each the seconds from its acknowledgement until matches of it were in the sink, as Parquet files. The
    query has to be one that posts of every file match.
    """
    generator = np.random.default_rng(probes)
    acknowledged: dict[str, float] = {}
    sink = FolderSink("parquet", str(scratch / "matches"))
    with _job(spark, arrivals, store, sink, 1.0, scratch) as (job, landed):
        for number in range(probes):
            time.sleep(generator.uniform(0.1, 0.4))
            probe = store.subscribe("probe", query, id=f"probe-{number}")
            acknowledged[probe] = time.time()
        last = max(landed.times)
        wait_for(job, lambda: max(landed.times) >= last + 3)
    first = _first_batches(scratch / "matches", "probe-")
    missing = acknowledged.keys() - first.keys()
    if missing:
        raise PipelineError(f"subscription {min(missing)} was acknowledged, and three batches later had no match")
    return [landed.times[first[probe]] - acknowledged[probe] for probe in acknowledged]


def latencies(
    spark: SparkSession, arrivals: Arrivals, store: Store, rows_per_file: int, seconds: float, scratch: Path
) -> Floats:
    """Stream for so long with a trigger of half a second; return how many seconds each file's posts were on their way.

    A post is done when its batch is; the first two batches, which start the workers, are left out.
    """
    sink = HookSink(lambda matches, _: matches.write.format("noop").mode("overwrite").save())
    with _job(spark, arrivals, store, sink, 0.5, scratch) as (_, landed):
        time.sleep(seconds)
    batches = sorted(landed.times)
    # Every batch takes all files there are, so files are done in the order of their coming.
    ends = np.cumsum([landed.posts[batch] for batch in batches])
    done = [landed.times[batch] for batch in batches]
    numbers = np.arange(len(arrivals.times))
    batch_of = np.searchsorted(ends, numbers * rows_per_file, side="right")
    waited = np.array(done)[batch_of] - np.array(arrivals.times)
    return np.asarray(waited[batch_of >= _WARM_UP])


def wait_for(job: StreamingQuery, until: Callable[[], bool]) -> None:
    """Return when `until` is true; raise if the job fails first, or that takes too long."""
    give_up = time.monotonic() + _PATIENCE_S
    while not until():
        problem = job.exception()
        if problem is not None:
            raise PipelineError(failure(str(problem))) from problem
        if time.monotonic() > give_up:
            raise PipelineError(f"the timed stream has not come along in {_PATIENCE_S:.0f} s")
        time.sleep(0.02)


@contextmanager
def _job(
    spark: SparkSession, arrivals: Arrivals, store: Store, sink: Sink, trigger_s: float, scratch: Path
) -> Iterator[tuple[StreamingQuery, Landed]]:
    """Run the main job over the arrivals; yield it when the beat begins, and stop it in the end.

    Its first batches get a file each: what waits while workers start would take long to catch up with.
    """
    landed = Landed()
    posts = spark.readStream.schema(SCHEMA).parquet(str(arrivals.folder))
    settings = Settings(str(scratch / "checkpoint"), trigger_s, carry=("id",), shape=Shape(subscribers=False))
    job = start(posts, store, sink, settings, report=landed.note)
    try:
        for batches in range(1, _WARM_UP + 1):
            arrivals.drop()
            wait_for(job, lambda batches=batches: len(landed.times) >= batches)  # type: ignore[misc]
        arrivals.begin()
        yield job, landed
        arrivals.end()
        job.processAllAvailable()  # a job that is stopped in the middle of a batch complains at length
    finally:
        arrivals.end()
        job.stop()


def _first_batches(matches: Path, prefix: str) -> dict[str, int]:
    """By subscription whose id begins so: the first batch with a match of it."""
    rows = ds.dataset(matches, partitioning="hive").to_table(
        ["subscription", "batch"], filter=pc.starts_with(pc.field("subscription"), prefix)
    )
    first = rows.group_by("subscription").aggregate([("batch", "min")])
    return dict(zip(first["subscription"].to_pylist(), map(int, first["batch_min"].to_pylist()), strict=True))
