"""What is measured while streams run, and where it can be read."""

import json
import time
import urllib.request
from collections import Counter
from pathlib import Path
from threading import Timer

import pytest
from prometheus_client.parser import text_string_to_metric_families
from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import SourceProgress

from tidegate.errors import ConfigError
from tidegate.spark import run
from tidegate.spark.address import Address
from tidegate.spark.backlog import FileBacklog
from tidegate.spark.columns import Columns
from tidegate.spark.counts import Counts
from tidegate.spark.failure import failure
from tidegate.spark.listener import MetricsListener, lag_of
from tidegate.spark.metrics import Lag, Metrics, Progress
from tidegate.spark.pipeline import match
from tidegate.spark.prometheus import serving
from tidegate.spark.sinks import HookSink
from tidegate.spark.sources.posts import POST, read_posts
from tidegate.store.store import Store

TEXTS = ["a storm at sea", "rain", "a quiet harbour", "storm and rain", "nothing", "the storm again"]


class Recorder(Metrics):
    """Metrics that remember everything they were told."""

    def __init__(self) -> None:
        super().__init__()
        self.lags: list[Lag | None] = []

    def progressed(self, query: str, progress: Progress, trigger_s: float | None = None) -> None:
        self.lags.append(progress.lag)
        super().progressed(query, progress, trigger_s)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store.open(tmp_path / "store")
    store.subscribe("ana", "storm")
    store.subscribe("ben", "storm rain")
    return store


def write_posts(folder: Path, texts: list[str]) -> None:
    folder.mkdir(exist_ok=True)
    for number, text in enumerate(texts):
        (folder / f"posts {number}.json").write_text(json.dumps({"id": str(number), "text": text}) + "\n")


def source(end: object, latest: object) -> SourceProgress:
    return SourceProgress("a source", "null", json.dumps(end), json.dumps(latest), 0, 0.0, 0.0, {})


def test_counts_of_batches_add_up_and_the_last_batch_is_kept() -> None:
    metrics = Metrics()
    metrics.counted("q", 0, Counts(posts=10, candidates=30, matches=4, loads=Counter({0: 40})))
    metrics.counted("q", 1, Counts(posts=5, candidates=5, dead=1, loads=Counter({0: 4, 2: 6})))
    figures = metrics.of("q")
    assert (figures.batch, figures.batches) == (1, 2)
    assert (figures.total.posts, figures.total.matches, figures.total.dead) == (15, 4, 1)
    assert figures.total.loads == {0: 44, 2: 6}
    assert figures.last.posts == 5
    assert figures.candidates_per_post == 1.0


def test_who_waits_for_the_end_of_a_query_has_all_that_was_told_of_it() -> None:
    metrics = Metrics()

    def tell() -> None:
        metrics.counted("job", 0, Counts(posts=3))
        metrics.ended("job")

    assert not metrics.wait_for_end("job", 0)
    Timer(0.05, tell).start()
    assert metrics.wait_for_end("job", 60)
    assert metrics.of("job").total.posts == 3


def test_figures_that_were_read_do_not_change_any_more() -> None:
    metrics = Metrics()
    metrics.counted("q", 0, Counts(posts=10))
    before = metrics.of("q")
    metrics.counted("q", 1, Counts(posts=10))
    assert before.total.posts == 10


@pytest.mark.parametrize(
    ("gap_s", "trigger_s", "latency_s"),
    [
        pytest.param(1.0, 1.0, 1.4, id="in step: a trigger and the batch"),
        pytest.param(60.0, 1.0, 1.4, id="after a lull: the source was asked at every trigger"),
        pytest.param(0.7, 0.0, 1.1, id="without a pause: the batch before and the batch"),
    ],
)
def test_latency_is_the_wait_of_a_post_that_just_missed_a_batch(
    gap_s: float, trigger_s: float, latency_s: float
) -> None:
    metrics = Metrics()
    metrics.progressed("q", Progress(began=100.0, seconds=0.7), trigger_s)
    assert metrics.of("q").latency_s is None
    metrics.progressed("q", Progress(began=100.0 + gap_s, seconds=0.4), trigger_s)
    assert metrics.of("q").latency_s == pytest.approx(latency_s)


def test_lag_is_what_the_sources_say_and_otherwise_unknown() -> None:
    blog = source({"posts": 70, "start": "2026-01-01"}, {"posts": 100, "start": "2026-01-01"})
    kafka = source({"posts-topic": {"0": 5, "1": 7}}, {"posts-topic": {"0": 9, "1": 7, "2": 50}})
    files = source({"logOffset": 3}, None)
    assert lag_of([blog]) == Lag(30, "posts")
    assert lag_of([kafka]) == Lag(4, "messages")
    assert lag_of([blog, blog]) == Lag(60, "posts")
    assert lag_of([files]) is None
    assert lag_of([blog, files]) is None
    assert lag_of([blog, kafka]) is None
    assert lag_of([]) is None


def test_prometheus_is_served_what_is_known_and_nothing_else() -> None:
    metrics = Metrics()
    metrics.counted("q", 0, Counts(posts=10, candidates=30, matches=4, dead=2, loads=Counter({0: 40, 3: 1})))
    metrics.progressed("q", Progress(began=0.0, seconds=0.5, lag=Lag(7, "files")))
    with serving(metrics, 0) as address:
        assert address.startswith("http://127.0.0.1:")
        text = urllib.request.urlopen(address, timeout=10).read().decode()
    samples = {
        (sample.name, *sorted(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
    assert samples["tidegate_posts_total", "q"] == 10
    assert samples["tidegate_matches_total", "q"] == 4
    assert samples["tidegate_dead_letters_total", "q"] == 2
    assert samples["tidegate_shed_total", "q"] == 0
    assert samples["tidegate_candidates_per_post", "q"] == 3
    assert samples["tidegate_matcher_load_total", "3", "q"] == 1
    assert samples["tidegate_lag", "files", "q"] == 7
    assert samples["tidegate_batch_seconds", "q"] == 0.5
    assert ("tidegate_latency_seconds", "q") not in samples


def test_a_port_that_is_taken_is_refused_by_name() -> None:
    with serving(Metrics(), 0) as address:
        port = int(address.split(":")[2].split("/")[0])
        with pytest.raises(ConfigError, match=f"127.0.0.1:{port}.*choose another port"), serving(Metrics(), port):
            pass


WORKER = """[STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception: [FOREACH_BATCH_USER_FUNCTION_ERROR] \
An error occurred. Return Message: Traceback (most recent call last):
  File "/lib/tidegate/spark/run.py", line 90, in __call__
  File "/lib/tidegate/spark/sinks.py", line 57, in write
pyspark.errors.exceptions.captured.PythonException: An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "/lib/tidegate/spark/worker.py", line 91, in match
    standing = store_at(task.location)
               ^^^^^^^^^^^^^^^^^^^^^^^
tidegate.errors.StoreError: /tmp/s: there is no subscription table here
 SQLSTATE: 39000 SQLSTATE: XXKST
=== Streaming Query ==="""


@pytest.mark.parametrize(
    ("account", "told"),
    [
        (WORKER, "stage match failed: /tmp/s: there is no subscription table here"),
        (WORKER.replace("tidegate.errors.StoreError: /tmp/s: ", "ValueError: "), "stage match failed: ValueError: "),
        (
            'Traceback (most recent call last):\n  File "/lib/tidegate/spark/sinks.py", line 1, in write\n'
            "py4j.protocol.Py4JJavaError: An error occurred while calling o1.parquet.\n: org.apache.spark.X: Job\n"
            "\tat a.b\nCaused by: java.io.IOException: No space left on device\n\tat c.d",
            "stage sink failed: No space left on device",
        ),
        (
            "[STREAM_FAILED] Query [id = 1] terminated with exception: [PATH_NOT_FOUND] There is no x.\n=== ",
            "the stream failed: [PATH_NOT_FOUND] There is no x.",
        ),
    ],
)
def test_a_failure_is_told_on_one_line_with_its_stage(account: str, told: str) -> None:
    assert failure(account).startswith(told)
    assert "\n" not in failure(account)


def test_a_plain_stream_is_counted_through_its_progress(spark: SparkSession, store: Store, tmp_path: Path) -> None:
    write_posts(tmp_path / "posts", TEXTS)
    posts = read_posts(spark, f"json:{tmp_path}/posts?maxFilesPerTrigger=2")
    metrics = Recorder()
    listener = MetricsListener(metrics)
    spark.streams.addListener(listener)
    try:
        writer = match(posts, store).writeStream.queryName("plain").format("noop").trigger(availableNow=True)
        writer.option("checkpointLocation", f"{tmp_path}/checkpoint").start().awaitTermination()
        _settled(metrics, batches=3)
    finally:
        spark.streams.removeListener(listener)
    figures = metrics.of("plain")
    assert (figures.batches, figures.total.posts, figures.total.matches) == (3, 6, 4)
    assert figures.progress is not None
    assert figures.progress.seconds > 0
    assert metrics.lags == [None] * 3


def test_a_job_is_counted_once_and_tells_how_many_files_wait(spark: SparkSession, store: Store, tmp_path: Path) -> None:
    write_posts(tmp_path / "posts", TEXTS)
    address = f"json:{tmp_path}/posts?maxFilesPerTrigger=1"
    checkpoint = f"{tmp_path}/checkpoint"
    metrics = Recorder()
    name = run.query_name(run.run_id(checkpoint))
    backlog = FileBacklog.at(Address.parse(address, ("json",)), checkpoint)
    listener = MetricsListener(metrics, backlog=backlog)
    spark.streams.addListener(listener)
    try:
        run.start(
            read_posts(spark, address),
            store,
            HookSink(lambda matches, _: matches.write.format("noop").mode("overwrite").save()),
            run.Settings(checkpoint, once=True),
            report=lambda batch, counts: metrics.counted(name, batch, counts),
        ).awaitTermination()
        _settled(metrics, batches=6)
    finally:
        spark.streams.removeListener(listener)
    total = metrics.of(name).total
    assert (total.posts, total.matches) == (6, 4)
    assert metrics.of(name).batches == 6
    waiting = [lag.waiting for lag in metrics.lags if lag is not None]
    # Events come after their batches, and may find that the next has begun; at the end nothing waits.
    assert waiting == sorted(waiting, reverse=True)
    assert waiting[0] >= 3
    assert waiting[-1] == 0


def test_files_that_wait_are_those_not_in_the_log_of_the_source(tmp_path: Path) -> None:
    write_posts(tmp_path / "posts", TEXTS[:4])
    log = tmp_path / "checkpoint" / "sources" / "0"
    backlog = FileBacklog.at(Address("json", f"{tmp_path}/posts"), f"{tmp_path}/checkpoint")
    assert backlog is not None
    assert backlog() == Lag(4, "files")

    def entries(*numbers: int) -> str:
        paths = [f"file://{tmp_path}/posts/posts%20{number}.json" for number in numbers]
        return "\n".join(["v1", *(json.dumps({"path": path, "batchId": 0}) for path in paths)])

    log.mkdir(parents=True)
    (log / "0").write_text(entries(2))
    assert backlog() == Lag(3, "files")
    (log / "1.compact").write_text(entries(2, 0, 3))
    (tmp_path / "posts" / "_SUCCESS").write_text("")
    assert backlog() == Lag(1, "files")
    (tmp_path / "posts" / "deeper").mkdir()
    assert backlog() is None


@pytest.mark.parametrize("address", ["json:absent", "json:.?recursiveFileLookup=true", "microblog:"])
def test_what_spark_alone_can_tell_has_no_file_backlog(address: str, tmp_path: Path) -> None:
    assert FileBacklog.at(Address.parse(address, ("json", "microblog")), str(tmp_path)) is None


def test_a_job_whose_columns_are_not_there_does_not_start(spark: SparkSession, store: Store, tmp_path: Path) -> None:
    (tmp_path / "posts").mkdir()
    posts = spark.readStream.schema(POST).json(f"{tmp_path}/posts")
    sink = HookSink(lambda matches, batch: None)
    checkpoint = f"{tmp_path}/checkpoint"
    with pytest.raises(ConfigError, match="no column 'body'"):
        run.start(posts, store, sink, run.Settings(checkpoint, columns=Columns(text="body")))
    with pytest.raises(ConfigError, match="carry names 'likes'"):
        run.start(posts, store, sink, run.Settings(checkpoint, carry=("likes",)))


def _settled(metrics: Recorder, batches: int) -> None:
    """Wait for Spark's events, which come a little after a query has ended."""
    deadline = time.monotonic() + 30
    while len(metrics.lags) < batches and time.monotonic() < deadline:
        time.sleep(0.05)


def test_what_ranking_holds_is_a_level_and_what_it_did_adds_up() -> None:
    metrics = Metrics()
    metrics.ranked("q", {"matches": 10, "sent": 4, "feeds": 3, "held": 5, "held_bytes": 500})
    metrics.ranked("q", {"matches": 20, "sent": 6, "feeds": 2, "held": 1, "held_bytes": 100})
    figures = metrics.of("q")
    assert figures.ranked_total == Counter(matches=30, sent=10)
    assert figures.ranked["held"] == 1
