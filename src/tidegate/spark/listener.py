"""From Spark's events to `Metrics`: how a batch went, what its stages counted, and how far the source is ahead."""

import json
import math
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    SourceProgress,
    StateOperatorProgress,
    StreamingQueryListener,
)

from tidegate.spark.counts import OBSERVATION, counts_of
from tidegate.spark.metrics import Lag, Metrics, Progress
from tidegate.spark.ranked import rank_counts


class MetricsListener(StreamingQueryListener):
    """Fills in the metrics of every streaming query of a session: `spark.streams.addListener(MetricsListener(m))`.

    A query is known by its name, or by its id where it has none. Works under Spark Connect.
    """

    def __init__(
        self, metrics: Metrics, *, trigger_s: float | None = None, backlog: Callable[[], Lag | None] | None = None
    ) -> None:
        """Fill in `metrics`; `trigger_s` is how often batches start, `backlog` looks where Spark does not say."""
        self._metrics, self._trigger_s, self._backlog = metrics, trigger_s, backlog
        self._names: dict[str, str] = {}

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802
        """Remember the name: the end of a query tells only its id."""
        self._names[str(event.id)] = event.name or str(event.id)

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802
        """Take the figures of a batch."""
        # By attribute throughout: under Connect the values are not to be had by key.
        progress = event.progress
        if "addBatch" not in progress.durationMs:
            return
        query = progress.name or str(progress.id)
        if OBSERVATION in progress.observedMetrics:
            counts = counts_of(progress.observedMetrics[OBSERVATION].asDict())
            # A batch without posts, as windows of time make them, has no pin, and must not hide the last that had some.
            if counts.posts:
                self._metrics.counted(query, progress.batchId, counts)
        ranked = rank_counts(progress.observedMetrics)
        if any(ranked.values()):
            self._metrics.ranked(query, ranked)
        lag = lag_of(progress.sources) or (self._backlog() if self._backlog is not None else None)
        told = Progress(
            began=datetime.fromisoformat(progress.timestamp).timestamp(),
            seconds=progress.batchDuration / 1000,
            input_per_s=_finite(progress.inputRowsPerSecond),
            processed_per_s=_finite(progress.processedRowsPerSecond),
            lag=lag,
            state_bytes=_state_bytes(progress.stateOperators),
        )
        self._metrics.progressed(query, told, self._trigger_s)

    def onQueryIdle(self, event: QueryIdleEvent) -> None:  # noqa: N802
        """Nothing has changed."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802
        """Note the end."""
        self._metrics.ended(self._names.pop(str(event.id), str(event.id)))


def lag_of(sources: Iterable[SourceProgress]) -> Lag | None:
    """What waits at the sources of a query, if all of them say so: the microblog and Kafka do."""
    lags = [_lag(source.endOffset, source.latestOffset) for source in sources]
    known = [lag for lag in lags if lag is not None]
    if not known or len(known) < len(lags) or len({lag.unit for lag in known}) > 1:
        return None
    return Lag(sum(lag.waiting for lag in known), known[0].unit)


def _lag(end: str, latest: str) -> Lag | None:
    read, there = _offset(end), _offset(latest)
    if "posts" in read and "posts" in there:
        return Lag(there["posts"] - read["posts"], "posts")
    topics = [name for name in there if isinstance(there[name], dict) and isinstance(read.get(name), dict)]
    if not topics:
        return None
    # A partition that is not in both has just been made or dropped.
    return Lag(sum(there[t][p] - read[t][p] for t in topics for p in there[t].keys() & read[t].keys()), "messages")


def _offset(text: str) -> dict[str, Any]:
    """An offset as the source wrote it; many are no objects, and some sources tell none."""
    try:
        offset = json.loads(text)
    except (TypeError, ValueError):
        return {}
    return offset if isinstance(offset, dict) else {}


def _state_bytes(operators: Iterable[StateOperatorProgress]) -> int | None:
    sizes = [one.customMetrics.get("rocksdbSstFileSize") for one in operators]
    known = [int(size) for size in sizes if size is not None]
    return sum(known) if known else None


def _finite(rate: float | None) -> float | None:
    """Spark's rate of a first batch is not a number."""
    return rate if rate is not None and math.isfinite(rate) else None
