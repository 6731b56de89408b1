"""The main job: posts stream in, matches stream out, subscriptions change meanwhile, and nothing is lost.

Every micro-batch pins a version of the store and of the plan before it starts, so it can be replayed as it was, and a
new plan is followed from the next batch on. The sink makes a replay harmless.
"""

import logging
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, Observation
from pyspark.sql.streaming.query import StreamingQuery

from tidegate.errors import ConfigError, StoreError
from tidegate.spark.columns import Columns, Shape, carried
from tidegate.spark.counts import Counts, counts_of, observed
from tidegate.spark.pipeline import match_rows, merged
from tidegate.spark.sinks import Sink
from tidegate.store.location import Location
from tidegate.store.store import Store

_log = logging.getLogger(__name__)

# In the checkpoint, beside Spark's own files.
_RUN_FILE = "tidegate-run"

Report = Callable[[int, Counts], None]


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

    def __post_init__(self) -> None:
        """Refuse what Spark would refuse later, and less clearly."""
        if self.trigger_s < 0:
            raise ConfigError(f"trigger is {self.trigger_s} s: give 0 or more")
        if not self.checkpoint:
            raise ConfigError("a job needs a checkpoint: name a folder of its own")


def start(
    posts: DataFrame, store: Store, sink: Sink, settings: Settings, *, report: Report | None = None
) -> StreamingQuery:
    """Start the job; `report` is told the number and the counts of every batch when it is written."""
    carried(
        posts.schema, settings.columns.of(posts.schema), settings.carry, settings.shape
    )  # refuses what is not there
    run = run_id(settings.checkpoint)
    writer = posts.writeStream.queryName(query_name(run)).option("checkpointLocation", settings.checkpoint)
    if settings.once:
        writer = writer.trigger(availableNow=True)
    else:
        writer = writer.trigger(processingTime=f"{round(settings.trigger_s * 1000)} milliseconds")
    return writer.foreachBatch(_Batches(run, store, sink, settings, report)).start()


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

    def __init__(self, run: str, store: Store, sink: Sink, settings: Settings, report: Report | None) -> None:
        self._run, self._store, self._sink = run, store, sink
        self._settings, self._report = settings, report

    def __call__(self, posts: DataFrame, batch: int) -> None:
        if self._sink.has(self._run, batch):
            _log.info("batch %d is in the sink already", batch)
            return
        settings = self._settings
        pin = self._store.pin(self._run, batch)
        observation = Observation("tidegate")
        origin = f"{self._run}/{batch:012}"
        rows = match_rows(
            posts, self._store, settings.columns, settings.carry, shape=settings.shape, at=pin, origin=origin
        )
        matches = merged(observed(rows, settings.columns.id, settings.shape, observation), settings.shape)
        self._sink.write(matches, self._run, batch)
        if self._report is not None:
            self._report(batch, counts_of(observation.get))
