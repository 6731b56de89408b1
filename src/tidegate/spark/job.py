"""A job from start to end, as `tidegate run` does it: session, upkeep, metrics, status, and a clean stop."""

import logging
import math
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from pathlib import Path
from threading import Event

from pyspark.errors import PySparkException
from pyspark.sql.streaming.query import StreamingQuery

from tidegate.errors import ConfigError, PipelineError, StoreError
from tidegate.route.costs import Cluster
from tidegate.route.plan import Plan
from tidegate.spark import run, sinks
from tidegate.spark.address import Address
from tidegate.spark.backlog import FileBacklog
from tidegate.spark.failure import failure
from tidegate.spark.listener import MetricsListener
from tidegate.spark.metrics import Figures, Metrics
from tidegate.spark.process import quiet_session, spark_log, stopped_by_signals
from tidegate.spark.prometheus import serving
from tidegate.spark.relearning import Relearning, Schedule
from tidegate.spark.sources import posts
from tidegate.store.background import start_background
from tidegate.store.status import Jobs, JobStatus
from tidegate.store.store import Store

KAFKA_JARS = "TIDEGATE_KAFKA_JARS"
"""The variable of the environment that names the jars of Spark's Kafka connector, separated by commas."""

_TICK_S = 0.25
# An idle job says so often enough to be told from a dead one.
_HEARTBEAT_S = 10.0
# So long a batch is given to end when the job is to stop; after that it is abandoned, and done again later.
_PATIENCE_S = 5.0
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Job:
    """What `run_job` runs."""

    posts: str
    matches: str
    """The addresses of a source and a sink."""
    store: Store
    settings: run.Settings
    schema: str | None = None
    """The columns of posts, where the source does not know them."""
    plan: Plan | None = None
    """Published first, unless the newest is like it; one that has to be learned first is preceded by `hash`."""
    schedule: Schedule = field(default_factory=Schedule)
    """When a plan is learned."""
    cluster: Cluster | None = None
    """What it is learned for; None: hosts that have the memory for anything."""
    spark: Mapping[str, str] = field(default_factory=dict)
    """Settings of the session, over those of `local_session`."""
    metrics_port: int | None = None
    """Where metrics are served on loopback: a port, 0 for any that is free, None for nowhere."""
    seconds: float | None = None
    """Stop after so long."""

    @property
    def source(self) -> Address:
        """Where posts come from."""
        return Address.parse(self.posts, posts.KINDS)

    @property
    def sink(self) -> Address:
        """Where matches go."""
        return Address.parse(self.matches, sinks.KINDS)


def usual_checkpoint(store: Store, source: str, sink: str) -> str:
    """A place beside the store for the checkpoint of a job from a source to a sink, the same at every start."""
    folder = store.beside.folder
    if folder is None:
        raise ConfigError(f"{store.location.url}: a job on a store that is no folder needs a checkpoint: name a place")
    name = " ".join((_plain(Address.parse(source, posts.KINDS)), _plain(Address.parse(sink, sinks.KINDS))))
    return str(folder / "checkpoints" / blake2b(name.encode(), digest_size=8).hexdigest())


def run_job(job: Job, show: Callable[[Figures], None], say: Callable[[str], None]) -> Figures:
    """Run until the source ends, the time is up, or SIGINT or SIGTERM comes; return the figures of it all.

    `show` is called several times a second, `say` when there is something to read. A stream that fails is a
    `PipelineError`. For the main thread of a process of its own, whose signals it takes.
    """
    settings = {**_connector(job), **job.spark}
    sink = sinks.sink_at(job.matches, key=job.settings.columns.id)
    relearning = _relearning(job, say)
    run_id = run.run_id(job.settings.checkpoint)
    name = run.query_name(run_id)
    diary = _Diary(job, run_id)
    metrics = Metrics()

    def tick() -> None:
        figures = metrics.of(name)
        diary.note(figures)
        show(figures)

    with (
        stopped_by_signals() as stop,
        spark_log(job.settings.checkpoint) as log,
        quiet_session(settings, log) as spark,
        start_background(job.store),
        _exposed(metrics, job.metrics_port, say),
    ):
        spark.streams.addListener(_listener(job, metrics))
        try:
            stream = posts.read_posts(spark, job.posts, schema=job.schema)
            query = run.start(
                stream,
                job.store,
                sink,
                job.settings,
                report=partial(metrics.counted, name),
                waiting=lambda: metrics.of(name).waiting,
                relearning=relearning,
            )
            say(f"running; Spark's own log is {log.name}")
            _watch(query, job.seconds, stop, tick)
            if relearning is not None and job.settings.once:
                relearning.wait()
        except Exception as error:
            diary.note(metrics.of(name), "failed")
            if isinstance(error, PySparkException):
                raise PipelineError(f"{failure(str(error))} (Spark's own log is {log.name})") from error
            raise
        diary.note(metrics.of(name), "stopped")
    return metrics.of(name)


def _watch(query: StreamingQuery, seconds: float | None, stop: Event, tick: Callable[[], None]) -> None:
    """Wait for the end of a query, or bring it about; raise what it failed of."""
    deadline = math.inf if seconds is None else time.monotonic() + seconds
    try:
        while query.isActive and not stop.wait(_TICK_S) and time.monotonic() < deadline:
            tick()
        if query.isActive:
            _wind_down(query)
        else:
            query.awaitTermination()
    except Exception:
        # Whoever ends a service may end Spark along with it, and sooner.
        if not stop.is_set():
            raise


def _wind_down(query: StreamingQuery) -> None:
    patience = time.monotonic() + _PATIENCE_S
    while query.status["isTriggerActive"] and time.monotonic() < patience:
        time.sleep(0.02)
    query.stop()


class _Diary:
    """Writes down how a job fares, after every batch and now and then."""

    def __init__(self, job: Job, run_id: str) -> None:
        self._store, self._run = job.store, run_id
        self._source, self._sink = _plain(job.source), _plain(job.sink)
        self._jobs = Jobs(job.store.beside)
        self._started = time.time()
        self._written, self._batch = 0.0, -1

    def note(self, figures: Figures, state: str = "running") -> None:
        now = time.time()
        if state == "running" and figures.batch == self._batch and now - self._written < _HEARTBEAT_S:
            return
        self._written, self._batch = now, figures.batch
        try:
            pin = self._store.pins.at(self._run, figures.batch) if figures.batch >= 0 else None
            self._jobs.write(
                JobStatus(
                    run=self._run,
                    posts=self._source,
                    matches=self._sink,
                    state=state,
                    batch=figures.batch,
                    store=pin and pin.store,
                    plan=pin and pin.plan,
                    started=self._started,
                    seen=now,
                    figures=figures.summary(),
                )
            )
        except StoreError as error:
            # It is only said how the stream fares: that is no reason to stop it.
            _log.warning("the status of the job cannot be written: %s", error)


def _listener(job: Job, metrics: Metrics) -> MetricsListener:
    trigger_s = None if job.settings.once else job.settings.trigger_s
    return MetricsListener(metrics, trigger_s=trigger_s, backlog=FileBacklog.at(job.source, job.settings.checkpoint))


@contextmanager
def _exposed(metrics: Metrics, port: int | None, say: Callable[[str], None]) -> Iterator[None]:
    if port is None:
        yield
        return
    with serving(metrics, port) as address:
        say(f"metrics at {address}")
        yield


def _connector(job: Job) -> dict[str, str]:
    """The setting by which Spark learns to speak Kafka, if it has to."""
    if "kafka" not in (job.source.kind, job.sink.kind) or {"spark.jars", "spark.jars.packages"} & job.spark.keys():
        return {}
    jars = os.environ.get(KAFKA_JARS)
    if not jars:
        raise ConfigError(
            f"Spark needs its Kafka connector: set {KAFKA_JARS} to what `scripts/kafka jars` prints, "
            "or name the jars by --conf spark.jars=…"
        )
    return {"spark.jars": jars}


def _relearning(job: Job, say: Callable[[str], None]) -> Relearning | None:
    """Publish the plan that was asked for; one that has to be learned first is learned while the job runs on hash."""
    if job.plan is None:
        return None
    newest = str(job.store.plans.newest())
    first = Plan.hash(job.plan.matchers) if job.plan.learned else job.plan
    if newest not in (str(job.plan), str(first)):
        job.store.publish(first)
    if not job.plan.learned:
        return None
    if newest != str(job.plan):
        say(f"words are shared out by hash until {job.plan} is learned, from {job.schedule.training:,} posts")
    cluster = job.cluster or Cluster(job.plan.matchers)
    return Relearning(job.store, job.settings.columns, job.plan, cluster, job.schedule, say)


def _plain(place: Address) -> str:
    """An address without its options; a folder by its full name."""
    is_path = place.target and "://" not in place.target and not place.target.startswith("//")
    return f"{place.kind}:{Path(place.target).absolute() if is_path else place.target}"
