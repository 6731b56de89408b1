"""Demand on disk: a folder with pairs (`subscriber`, `topic`) and topics (`topic`, `events`) in Parquet.

Pairs may be one file or a folder of files, read in the order of their names, batch by batch. Subscribers whom other
numbers of events satisfy than everybody else may be in a third file, `thresholds.parquet` (`subscriber`, `threshold`).
Topics may have a `cost` each, for whoever does not pay by events and subscribers.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tidegate.capacity.demand import MOST_EVENTS, Demand, Mended, without_rate
from tidegate.csr import Int32, Int64
from tidegate.errors import ConfigError

_TOPICS: Final = "topics.parquet"
_BATCH: Final = 1 << 20
_MOST: Final = np.iinfo(np.int32).max - 1


@dataclass(frozen=True)
class PairFiles:
    """Where demand is read from; `ConfigError` names what cannot be read, or is none."""

    folder: Path

    @cached_property
    def events(self) -> Int64:
        """By topic: its events. A topic that is not in the file, or has none there, has none."""
        events = self._by_topic("events")
        if len(events) and events.max() >= MOST_EVENTS:
            path = self.folder / _TOPICS
            raise ConfigError(f"{path}: {events.max():,} events of a topic: fewer than {MOST_EVENTS:,} can be counted")
        return events

    @cached_property
    def costs(self) -> Int64:
        """By topic: what it costs to serve, by the column `cost`; 0 for those that are not in the file."""
        costs, path = self._by_topic("cost"), self.folder / _TOPICS
        if len(costs) and costs.max() > _MOST:
            raise ConfigError(f"{path}: a topic costs {costs.max():,}: {_MOST:,} at most; tell costs in a larger unit")
        if free := np.count_nonzero((costs == 0) & (self.events > 0)):
            raise ConfigError(f"{path}: {free:,} topics with events cost 0: a cost is a whole number above 0")
        return costs

    def _by_topic(self, column: str) -> Int64:
        path = self.folder / _TOPICS
        table = self._table(path, ("topic", column))
        topics, values = (_numbers(path, name, table[name].combine_chunks()) for name in ("topic", column))
        if len(np.unique(topics)) < len(topics):
            raise ConfigError(f"{path}: {len(topics) - len(np.unique(topics)):,} topics are there twice")
        if len(topics) and topics.max() > _MOST:
            raise ConfigError(f"{path}: topic {topics.max():,} is above {_MOST:,}")
        by_topic = np.zeros(int(topics.max()) + 1 if len(topics) else 0, np.int64)
        by_topic[topics] = values
        return by_topic

    @cached_property
    def own_thresholds(self) -> Int64:
        """By subscriber: how many events satisfy it, 0 if that is not said; those beyond the last have none either."""
        path = self.folder / "thresholds.parquet"
        if not path.exists():
            return np.zeros(0, np.int64)
        table = self._table(path, ("subscriber", "threshold"))
        who, own = (_numbers(path, name, table[name].combine_chunks()) for name in ("subscriber", "threshold"))
        if repeated := len(who) - len(np.unique(who)):
            raise ConfigError(f"{path}: {repeated:,} subscribers are there twice")
        if len(who) and who.max() > _MOST:
            raise ConfigError(f"{path}: subscriber {who.max():,} is above {_MOST:,}")
        if wrong := np.count_nonzero((own < 1) | (own >= MOST_EVENTS)):
            raise ConfigError(f"{path}: {wrong:,} thresholds are none: each is from 1 to {MOST_EVENTS - 1:,} events")
        by_subscriber = np.zeros(int(who.max()) + 1 if len(who) else 0, np.int64)
        by_subscriber[who] = own
        return by_subscriber

    def thresholds_of(self, subscribers: Int64, satisfied_by: int) -> Int64:
        """Return how many events satisfy these subscribers: `satisfied_by`, unless it is said otherwise."""
        own, thresholds = self.own_thresholds, np.full(len(subscribers), satisfied_by, np.int64)
        known = subscribers < len(own)
        told = own[subscribers[known]]
        thresholds[known] = np.where(told > 0, told, satisfied_by)
        return thresholds

    def batches(self) -> Iterator[tuple[Int32, Int32]]:
        """Yield subscribers and topics of pairs, as they are on disk."""
        for path in self._pairs():
            with self._opened(path, ("subscriber", "topic")) as file:
                for batch in file.iter_batches(_BATCH, columns=["subscriber", "topic"]):
                    who, what = (_numbers(path, name, batch.column(name)) for name in ("subscriber", "topic"))
                    for name, numbers in (("subscriber", who), ("topic", what)):
                        if len(numbers) and numbers.max() > _MOST:
                            raise ConfigError(f"{path}: {name} {numbers.max():,} is above {_MOST:,}")
                    yield who.astype(np.int32, copy=False), what.astype(np.int32, copy=False)

    def without_rate(self) -> ConfigError:
        """Return what is wrong with pairs of topics beyond those that have rates, all of them gone over and counted."""
        rates = len(self.events)
        return without_rate(np.concatenate([what[what >= rates] for _, what in self.batches()]), rates)

    def demand(self) -> tuple[Demand, Mended]:
        """Read all of it into memory."""
        batches = list(self.batches())
        if not batches:
            return Demand.of(self.events, [], [])
        return Demand.of(self.events, *(np.concatenate(column) for column in zip(*batches, strict=True)))

    def _pairs(self) -> list[Path]:
        folder = self.folder / "pairs"
        found = sorted(folder.glob("*.parquet")) if folder.is_dir() else [folder.with_suffix(".parquet")]
        if not found:
            raise ConfigError(f"{folder} has no Parquet files: pairs of a subscriber and a topic are expected there")
        return found

    def _table(self, path: Path, columns: tuple[str, ...]) -> Any:
        with self._opened(path, columns) as file:
            return file.read(list(columns))

    def _opened(self, path: Path, columns: tuple[str, ...]) -> Any:
        try:
            file = pq.ParquetFile(path)
        except (OSError, pa.ArrowInvalid) as error:
            raise ConfigError(f"{path} cannot be read: {error}") from error
        missing = [name for name in columns if name not in file.schema_arrow.names]
        if missing:
            raise ConfigError(f"{path} has no column {missing[0]}: it has {', '.join(file.schema_arrow.names)}")
        return file


def _numbers(path: Path, name: str, column: Any) -> Any:
    if not pa.types.is_integer(column.type):
        raise ConfigError(f"{path}: {name} is {column.type}: whole numbers are expected")
    if column.null_count:
        raise ConfigError(f"{path}: {column.null_count:,} rows have no {name}")
    numbers = column.to_numpy(zero_copy_only=False)
    if len(numbers) and numbers.min() < 0:
        raise ConfigError(
            f"{path}: {name} {numbers.min():,} is below 0, one of {np.count_nonzero(numbers < 0):,} that are"
        )
    return numbers
