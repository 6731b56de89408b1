"""RSS and Atom feeds as a Spark source: `spark.readStream.format("tidegate-feeds")`, or `spark.read` for one look.

The driver alone visits the feeds and keeps their state; that is a few megabytes an hour. An offset is the number of
batches recorded in the state folder, whose module says why no entry is lost or given twice. Entries travel to the
tasks within their partitions, so workers need neither the folder nor the network. A broken feed is logged, counted
in `feed_status`, and asked again later and later; it never stops the others.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from tidegate.errors import ConfigError
from tidegate.spark.sources.feed_entries import Entry, record_batch
from tidegate.spark.sources.feed_fetch import Fetcher
from tidegate.spark.sources.feed_list import checked, listed
from tidegate.spark.sources.feed_poll import Feed, visit
from tidegate.spark.sources.feed_state import FeedState
from tidegate.spark.sources.options import Options

NAME: Final = "tidegate-feeds"

# A round ends when its slowest feed has answered or timed out, so it is kept small.
_FEEDS_PER_ROUND: Final = 32
_THREADS: Final = 16
_ENTRIES_PER_PARTITION: Final = 1_000

Offset = dict[str, Any]


@dataclass(frozen=True)
class Settings:
    """What the options of the source say."""

    urls: list[str]
    state: Path | None
    interval: float
    fetcher: Fetcher

    @classmethod
    def of(cls, options: Mapping[str, str]) -> "Settings":
        """Read and check the options, and the list of feeds; what is not given has a default."""
        given = Options(NAME, options)
        state = given.text("state")
        fetcher = Fetcher(
            timeout=given.positive("timeout") or 10.0,
            most_bytes=given.integer("maxBytes", least=1) or 10_000_000,
            user_agent=given.text("userAgent") or "tidegate",
        )
        return cls(_urls(given), Path(state) if state else None, given.positive("interval") or 300.0, fetcher)


def _urls(given: Options) -> list[str]:
    path, urls = given.text("path"), given.text("urls")
    if path and not urls:
        return listed(Path(path))
    if urls and not path:
        return checked([url.strip() for url in urls.split(",") if url.strip()], f"{NAME}: the option urls")
    raise ConfigError(f"{NAME}: give either path (a file of addresses, or OPML) or urls (addresses with commas)")


class FeedsSource(DataSource):
    """Entries of feeds: id, ts, author, text (title and summary, without tags), title, link, feed, lang.

    Each entry comes once from each feed that has it; one that is edited later does not come again. Options: `path`
    (OPML, or one address a line) or `urls` (with commas), `state` (a folder on the driver, needed to stream),
    `interval` (300 s between visits to a feed), `timeout` (10 s), `maxBytes` (10,000,000 a document), `userAgent`.
    """

    @classmethod
    def name(cls) -> str:
        """The name for `format`."""
        return NAME

    def schema(self) -> str:
        """The columns; wrong options are refused here, where `load` shows it."""
        Settings.of(self.options)
        return (
            "id string, ts timestamp, author string, text string, title string, link string, feed string, lang string"
        )

    def reader(self, schema: StructType) -> "FeedsReader":
        """A reader of what the feeds have now."""
        return FeedsReader(Settings.of(self.options))

    def streamReader(self, schema: StructType) -> "FeedsStreamReader":  # noqa: N802
        """A reader of what is new in the feeds."""
        return FeedsStreamReader(Settings.of(self.options))


@dataclass
class _Address(InputPartition):
    url: str


@dataclass
class _Entries(InputPartition):
    entries: list[Entry]


class FeedsReader(DataSourceReader):
    """What each feed has now, without memory; a feed that cannot be read is logged and has no rows."""

    def __init__(self, settings: Settings) -> None:
        """Read the feeds of these settings."""
        self._settings = settings

    def partitions(self) -> list[InputPartition]:
        """A part for each feed, so that they are fetched side by side."""
        return [_Address(url) for url in self._settings.urls]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Fetch one feed."""
        assert isinstance(partition, _Address)
        entries = visit(Feed(partition.url), self._settings.fetcher, self._settings.interval, time.time()).entries
        if entries:
            yield record_batch(entries)


class FeedsStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """What is new in the feeds, from the first document on."""

    def __init__(self, settings: Settings, clock: Callable[[], float] = time.time) -> None:
        """Read by these settings; `clock` gives seconds and decides which feeds are due."""
        if settings.state is None:
            raise ConfigError(f"{NAME}: a stream needs the option state, a folder to remember what it has read")
        self._settings = settings
        self._folder = settings.state
        self._clock = clock
        # Spark also makes readers that only ever `read`, in other processes: those must not open the folder.
        self._opened: FeedState | None = None

    @property
    def _state(self) -> FeedState:
        self._opened = self._opened or FeedState(self._folder)
        return self._opened

    def initialOffset(self) -> Offset:  # noqa: N802
        """What no query has committed: a first batch may have been recorded before the driver died."""
        return {"batches": self._state.committed}

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Stop the clock: each feed that is due now is visited once."""
        stopped = self._clock()
        self._clock = lambda: stopped

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802
        """Visit the feeds that are due, a round at a time, until one has something new or none is left."""
        first, state = start["batches"], self._state
        state.require(first, first)
        # A batch recorded but unknown to Spark goes first: its entries are seen, and would be lost.
        while state.recorded == first and (due := self._due()):
            self._visit(due)
        return {"batches": state.recorded}

    def _due(self) -> list[Feed]:
        return self._state.due(self._settings.urls, self._clock(), _FEEDS_PER_ROUND)

    def _visit(self, feeds: list[Feed]) -> None:
        poll = partial(visit, fetcher=self._settings.fetcher, interval=self._settings.interval, now=self._clock())
        with ThreadPoolExecutor(_THREADS) as threads:
            self._state.record(list(threads.map(poll, feeds)))

    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        """The entries of the batches between two offsets."""
        entries = self._state.entries(start["batches"], end["batches"])
        return [
            _Entries(entries[i : i + _ENTRIES_PER_PARTITION]) for i in range(0, len(entries), _ENTRIES_PER_PARTITION)
        ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The entries that the partition brought along."""
        assert isinstance(partition, _Entries)
        yield record_batch(partition.entries)

    def commit(self, end: Offset) -> None:
        """Forget the batches that are done with."""
        self._state.commit(end["batches"])

    def stop(self) -> None:
        """Leave the state folder."""
        if self._opened:
            self._opened.close()
            self._opened = None
