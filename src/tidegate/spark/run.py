"""The main job: posts stream in, matches stream out, subscriptions change meanwhile, and nothing is lost.

Every micro-batch pins a version of the store and of the plan before it starts, so it can be replayed as it was, and a
new plan is followed from the next batch on. The sink makes a replay harmless.
"""

import logging
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from queue import Empty, Queue
from threading import Thread
from typing import Any

from pyspark.sql import DataFrame, Observation
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from tidegate.errors import ConfigError, StoreError
from tidegate.route.shedding import By, Levels
from tidegate.spark.columns import Columns, Shape, carried
from tidegate.spark.counts import Counts, counts_of, drawn_of, observed
from tidegate.spark.glimpsing import Glimpsing
from tidegate.spark.pipeline import match_rows, merged
from tidegate.spark.reach import check_reach
from tidegate.spark.relearning import Relearning
from tidegate.spark.relief import Relief
from tidegate.spark.sinks import Sink
from tidegate.store.dead_letters import DeadLetters
from tidegate.store.location import Location
from tidegate.store.store import Store

_log = logging.getLogger(__name__)

# Counts come with the end of an action, or never.
_COUNTS_S = 30.0
# In the checkpoint, beside Spark's own files.
_RUN_FILE = "tidegate-run"

Report = Callable[[int, Counts], None]
Waiting = Callable[[], int | None]


@dataclass(frozen=True)
class Settings:
    """How a job runs."""

    checkpoint: str
    """Where Spark keeps how far the job has come; a job that is started again there goes on."""
    trigger_s: float = 1.0
    """How often a micro-batch starts; 0: as soon as the last has ended."""
    once: bool = False
    """Take what is there, and end."""
    columns: Columns = field(default_factory=Columns)
    carry: tuple[str, ...] | None = None
    shape: Shape = field(default_factory=Shape)
    shed_beyond: int | None = None
    """How many posts (or files) may wait before visits are given up; None: none ever are."""
    shed_from: float = Levels().k
    """How many matchers a post may visit at the first level of shedding; at the last it is one."""
    shed_by: By = "subscriptions"
    recent: int = 5000
    """So many of the posts that came last, or of those they stand for, are left beside the store; 0: none."""

    def __post_init__(self) -> None:
        """Refuse what Spark would refuse later, and less clearly."""
        if self.trigger_s < 0:
            raise ConfigError(f"trigger is {self.trigger_s} s: give 0 or more")
        if not self.checkpoint:
            raise ConfigError("a job needs a checkpoint: name a folder of its own")
        if self.shed_beyond is not None and self.shed_beyond < 1:
            raise ConfigError(f"shed beyond is {self.shed_beyond}: give the number of posts that may wait, from 1 on")
        if self.recent < 0:
            raise ConfigError(f"recent is {self.recent}: give how many posts are left beside the store, or 0 for none")


def start(
    posts: DataFrame,
    store: Store,
    sink: Sink,
    settings: Settings,
    *,
    report: Report | None = None,
    waiting: Waiting | None = None,
    relearning: Relearning | None = None,
) -> StreamingQuery:
    """Start the job; `report` is told the number and the counts of every batch when it is written.

    `waiting` tells how many posts wait at the source, by which the level of shedding is set; `relearning` learns plans
    from what flows past.
    """
    carried(
        posts.schema, settings.columns.of(posts.schema), settings.carry, settings.shape
    )  # refuses what is not there
    run, writer = writer_to(posts, sink, settings)
    return writer.foreachBatch(_Batches(run, store, sink, settings, report, waiting, relearning)).start()


def writer_to(stream: DataFrame, sink: Sink, settings: Settings) -> tuple[str, DataStreamWriter]:
    """Return the name of a job and what starts it, its sink and its checkpoint looked at first."""
    check_reach(stream.sparkSession, settings.checkpoint)
    sink.check(stream.sparkSession)
    run = run_id(settings.checkpoint)
    writer = stream.writeStream.queryName(query_name(run)).option("checkpointLocation", settings.checkpoint)
    if settings.once:
        return run, writer.trigger(availableNow=True)
    return run, writer.trigger(processingTime=f"{round(settings.trigger_s * 1000)} milliseconds")


def run_id(checkpoint: str) -> str:
    """The name under which the batches of a job are known, kept in its checkpoint: the same after a restart."""
    place = Location.of(checkpoint)
    place.create(_RUN_FILE, uuid.uuid4().hex.encode())
    content = place.read(_RUN_FILE)
    if content is None:
        raise StoreError(f"{checkpoint}/{_RUN_FILE}: has vanished while the job started: start it again")
    return content.decode()


def query_name(run: str) -> str:
    """What Spark calls the streaming query of a job."""
    return f"tidegate-{run}"


class _Batches:
    """Does one batch after the other."""

    def __init__(
        self,
        run: str,
        store: Store,
        sink: Sink,
        settings: Settings,
        report: Report | None,
        waiting: Waiting | None,
        relearning: Relearning | None,
    ) -> None:
        self._run, self._store, self._sink = run, store, sink
        self._settings, self._report, self._relearning = settings, report, relearning
        beyond, levels = settings.shed_beyond, Levels(settings.shed_from)
        self._relief = None if beyond is None else Relief(beyond, levels, waiting)
        self._glimpsing = Glimpsing(store, run, settings.recent) if settings.recent else None
        self._may_be_replay = True
        self._is_counted = True

    def __call__(self, posts: DataFrame, batch: int) -> None:
        if self._sink.has(self._run, batch):
            _log.info("batch %d is in the sink already", batch)
            return
        settings = self._settings
        if self._relearning:
            self._relearning.before(posts)
        most = self._relief.most() if self._relief else inf
        pin = self._store.pin(self._run, batch, most=most, by=settings.shed_by)
        observation = Observation("tidegate")
        origin = f"{self._run}/{batch:012}"
        if self._may_be_replay:
            # An earlier attempt may have cut the batch into other partitions, whose letters no task would replace now.
            DeadLetters(self._store.beside).clear(origin)
            self._may_be_replay = False  # a batch that fails ends the query
        rows = match_rows(
            posts,
            self._store,
            settings.columns,
            settings.carry,
            shape=settings.shape,
            at=pin,
            origin=origin,
            draws=self._glimpsing.wanted() if self._glimpsing else 0,
        )
        matches = merged(observed(rows, settings.columns.id, settings.shape, observation), settings.shape)
        self._sink.write(matches, self._run, batch)
        seen = self._observed(observation)
        counts = counts_of(seen)
        if self._glimpsing:
            self._glimpsing.after(batch, counts.posts - counts.dead, drawn_of(seen))
        if self._relearning:
            self._relearning.after(posts, counts, self._store.plans.at(pin.plan))
        if self._relief:
            self._relief.learn(counts.wanted)
        if self._report is not None:
            self._report(batch, counts)

    def _observed(self, observation: Observation) -> dict[str, Any]:
        """What was observed of a batch: nothing if its sink runs no action of Spark's, as a function may."""
        if not self._is_counted:
            return {}
        found: Queue[dict[str, Any]] = Queue()
        Thread(target=lambda: found.put(observation.get), name="tidegate-counts", daemon=True).start()
        try:
            return found.get(timeout=_COUNTS_S)
        except Empty:
            _log.warning("the sink of %s runs no action of Spark: its batches are not counted", self._run)
            self._is_counted = False
            return {}
