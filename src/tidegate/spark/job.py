"""A job from start to end, as `tidegate run` does it: session, upkeep, metrics, status, and a clean stop."""

import logging
import math
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from pathlib import Path
from threading import Event
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from tidegate.errors import ConfigError, PipelineError, StoreError
from tidegate.route.costs import Cluster
from tidegate.route.plan import Plan
from tidegate.route.shedding import Levels
from tidegate.spark import run, sinks
from tidegate.spark.address import Address
from tidegate.spark.backlog import FileBacklog
from tidegate.spark.failure import failure
from tidegate.spark.listener import MetricsListener
from tidegate.spark.metrics import Figures, Metrics
from tidegate.spark.offload import Offload, OffloadSettings
from tidegate.spark.process import quiet_session, spark_log, stopped_by_signals
from tidegate.spark.prometheus import serving
from tidegate.spark.ranked import RankSettings
from tidegate.spark.ranked_run import WINDOW_KEY, counted_words, start_ranked
from tidegate.spark.relearning import Relearning, Schedule
from tidegate.spark.sources import posts
from tidegate.store.background import start_background
from tidegate.store.pins import Pin
from tidegate.store.status import Jobs, JobStatus
from tidegate.store.store import Store

KAFKA_JARS = "TIDEGATE_KAFKA_JARS"
"""The variable of the environment that names the jars of Spark's Kafka connector, separated by commas."""

_TICK_S = 0.25
# An idle job says so often enough to be told from a dead one.
_HEARTBEAT_S = 10.0
# So long a batch is given to end when the job is to stop, and be told of; after that it is abandoned, and done again.
_PATIENCE_S = 5.0
_PASSWORD = re.compile(r"(://[^/@:]*):[^@]*(?=@)")
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
    from_first_posts: bool = False
    """Count them from the end of the first batch with posts, for which a session, its workers and their kernels have to
    start."""
    ranking: RankSettings | None = None
    """Rank what is ranked, and write that instead of matches; plans and shedding are left as they are then."""
    history: str | None = None
    """The address of posts whose words are counted first, to rank by how rare they are."""
    offload: OffloadSettings | None = None
    """What is told in real time of what goes into an inbox, and what becomes of the rest; None: all of it is told."""

    @property
    def key(self) -> tuple[str, ...]:
        """The columns that tell the rows apart that it writes."""
        more = ("subscription",) if self.ranking is None else WINDOW_KEY
        return (self.settings.columns.id, *more)

    @property
    def source(self) -> Address:
        """Where posts come from."""
        return Address.parse(self.posts, posts.KINDS)

    @property
    def sink(self) -> Address:
        """Where matches go."""
        return Address.parse(self.matches, sinks.KINDS)


def usual_checkpoint(store: Store, source: str, sink: str, *, ranked: bool = False) -> str:
    """A place beside the store for the checkpoint of a job from a source to a sink, the same at every start.

    One that ranks has a place of its own: both may go from one source to one sink, to the console for example.
    """
    folder = store.beside.folder
    if folder is None:
        raise ConfigError(f"{store.location.url}: a job on a store that is no folder needs a checkpoint: name a place")
    ends = (_plain(Address.parse(source, posts.KINDS)), _plain(Address.parse(sink, sinks.KINDS)))
    name = " ".join((*ends, "ranked") if ranked else ends)
    return str(folder / "checkpoints" / blake2b(name.encode(), digest_size=8).hexdigest())


def run_job(job: Job, show: Callable[[Figures], None], say: Callable[[str], None]) -> Figures:
    """Run until the source ends, the time is up, or SIGINT or SIGTERM comes; return the figures of it all.

    `show` is called several times a second, `say` when there is something to read. A stream that fails is a
    `PipelineError`. For the main thread of a process of its own, whose signals it takes.
    """
    settings = {**_connector(job), **job.spark}
    metrics = Metrics()
    offload = None if job.offload is None else Offload(job.offload)
    sink = sinks.sink_at(job.matches, key=job.key, offload=offload)
    relearning = _relearning(job, say)
    run_id = run.run_id(job.settings.checkpoint)
    name = run.query_name(run_id)
    if offload is not None:
        offload.report = partial(metrics.offloaded, name)
    diary = _Diary(job, run_id)

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
        nullcontext() if offload is None else closing(offload),
    ):
        spark.streams.addListener(_listener(job, metrics))
        try:
            stream = posts.read_posts(spark, job.posts, schema=job.schema)
            if job.ranking is not None:
                query = _start_ranked(job, job.ranking, stream, sink, say)
                diary.pinned_as = str(query.id)
            else:
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
            _watch(query, job.seconds, lambda: not job.from_first_posts or metrics.of(name).total.posts > 0, stop, tick)
            metrics.wait_for_end(name, _PATIENCE_S)
            if relearning is not None and job.settings.once:
                relearning.wait()
        except Exception as error:
            diary.note(metrics.of(name), "failed")
            if isinstance(error, PySparkException):
                raise PipelineError(f"{failure(str(error))} (Spark's own log is {log.name})") from error
            raise
        diary.note(metrics.of(name), "stopped")
    return metrics.of(name)


def _start_ranked(
    job: Job, ranking: RankSettings, stream: DataFrame, sink: sinks.Sink, say: Callable[[str], None]
) -> StreamingQuery:
    history = None
    if job.history is not None:
        history = posts.read_history(stream.sparkSession, job.history, schema=job.schema)
        say("words are counted in the history, unless they were when the job was first started")
    words = counted_words(history, job.settings.columns, job.settings.checkpoint)
    return start_ranked(stream, job.store, sink, job.settings, ranking, words=words)


def _watch(
    query: StreamingQuery, seconds: float | None, counts: Callable[[], bool], stop: Event, tick: Callable[[], None]
) -> None:
    """Wait for the end of a query, or bring it about `seconds` after their time `counts`; raise what it failed of."""
    deadline = math.inf
    try:
        while query.isActive and time.monotonic() < deadline:
            if seconds is not None and deadline == math.inf and counts():
                deadline = time.monotonic() + seconds
            if stop.wait(_TICK_S):
                break
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
        self._store, self._run, self._settings = job.store, run_id, job.settings
        self.pinned_as = run_id
        """Under which name batches are pinned."""
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
            pin = self._store.pins.at(self.pinned_as, figures.batch) if figures.batch >= 0 else None
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
                    figures={**figures.summary(), **self._shedding(pin)},
                )
            )
        except StoreError as error:
            # It is only said how the stream fares: that is no reason to stop it.
            _log.warning("the status of the job cannot be written: %s", error)

    def _shedding(self, pin: Pin | None) -> dict[str, Any]:
        """The level of shedding of a batch, where some may be shed."""
        if self._settings.shed_beyond is None or pin is None:
            return {}
        levels = Levels(self._settings.shed_from)
        return {"shedding": {"level": levels.level_of(pin.most), "of": levels.count}}


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
    """An address without its options and without a password; a folder by its full name."""
    is_path = place.target and "://" not in place.target and not place.target.startswith("//")
    target = str(Path(place.target).absolute()) if is_path else _PASSWORD.sub(r"\1", place.target)
    return f"{place.kind}:{target}"
