"""The synthetic microblog as a Spark source: `spark.readStream.format("tidegate-microblog")`, or `spark.read`.

The posts are `tidegate.workload.microblog`'s, a function of seed and number; this module only says how many of
them have been written by now. An offset is the number of posts so far, with the two times that a restarted query
must agree on: `start`, when post 0 was written, and `began`, when the query first ran and the clock of
`rowsPerSecond` started.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any, Final

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from tidegate.errors import ConfigError
from tidegate.spark.sources.options import Options
from tidegate.workload.microblog import BLOCK, Microblog

NAME: Final = "tidegate-microblog"

Offset = dict[str, Any]
Clock = Callable[[], datetime]


def now() -> datetime:
    """The time, in UTC."""
    return datetime.now(UTC)


@dataclass(frozen=True)
class Settings:
    """What the options of the source say."""

    seed: int
    rows_per_second: float
    rows_per_batch: int | None
    most_rows_per_batch: int
    limit: int | None
    partitions: int
    start: datetime | None

    @classmethod
    def of(cls, options: Mapping[str, str]) -> "Settings":
        """Read and check the options; what is not given has a default."""
        given = Options(NAME, options)
        return cls(
            seed=given.integer("seed", least=0) or 0,
            rows_per_second=given.positive("rowsPerSecond") or 1000.0,
            rows_per_batch=given.integer("rowsPerBatch", least=1),
            most_rows_per_batch=given.integer("maxRowsPerBatch", least=1) or 1_000_000,
            limit=given.integer("limit", least=0),
            partitions=given.integer("partitions", least=1) or 2,
            start=given.moment("start"),
        )

    def ranges(self, first: int, stop: int, start: datetime) -> list[InputPartition]:
        """Posts `first` to `stop` as partitions of like size, cut between blocks so that none is drawn twice."""
        if first == stop:
            return []
        blocks = range(first // BLOCK, -(-stop // BLOCK))
        pieces = min(self.partitions, len(blocks))
        cuts = [blocks[len(blocks) * i // pieces] * BLOCK for i in range(1, pieces)]
        blog = Microblog(self.seed, start, self.rows_per_second)
        return [Range(blog, *ends) for ends in pairwise([first, *cuts, stop])]


@dataclass
class Range(InputPartition):
    """Posts `first` to `stop` of a microblog."""

    blog: Microblog
    first: int
    stop: int

    def posts(self) -> Iterator[pa.RecordBatch]:
        """The posts themselves."""
        return self.blog.posts(self.first, self.stop)


class MicroblogSource(DataSource):
    """Seeded posts: id, ts, author, text, lang, lat, lon; the same options and offsets always give the same rows.

    Options: `seed` (0), `rowsPerSecond` (1,000; counted from the first start of the query, through restarts),
    `rowsPerBatch` (so many in every micro-batch, whatever the time), `maxRowsPerBatch` (1,000,000), `limit` (posts
    in all; a batch read needs it), `partitions` (2), `start` (the time of post 0; by default when the query began).
    """

    @classmethod
    def name(cls) -> str:
        """The name for `format`."""
        return NAME

    def schema(self) -> str:
        """The columns; wrong options are refused here, where `load` shows it."""
        Settings.of(self.options)
        return "id string, ts timestamp, author string, text string, lang string, lat double, lon double"

    def reader(self, schema: StructType) -> "MicroblogReader":
        """A reader of the first `limit` posts."""
        return MicroblogReader(Settings.of(self.options))

    def streamReader(self, schema: StructType) -> "MicroblogStreamReader":  # noqa: N802
        """A reader of the posts as time passes."""
        return MicroblogStreamReader(Settings.of(self.options))


class MicroblogReader(DataSourceReader):
    """All posts up to `limit`, at once."""

    def __init__(self, settings: Settings) -> None:
        """Refuse a microblog without an end."""
        if settings.limit is None:
            raise ConfigError(f"{NAME}: a batch read of an endless microblog; give the option limit")
        self._settings = settings
        self._limit = settings.limit

    def partitions(self) -> list[InputPartition]:
        """The posts, in like parts."""
        return self._settings.ranges(0, self._limit, self._settings.start or now())

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The posts of one part."""
        # Where there is no part at all, Spark makes up an empty one.
        return partition.posts() if isinstance(partition, Range) else iter(())


class MicroblogStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Posts as they fall due; it never runs ahead of the clock, and catches up after a pause."""

    def __init__(self, settings: Settings, clock: Clock = now) -> None:
        """Read by these settings, at the pace of `clock`."""
        self._settings = settings
        self._clock = clock
        self._seen: Offset | None = None

    def initialOffset(self) -> Offset:  # noqa: N802
        """No post yet, and the times that all later offsets keep."""
        began = self._clock()
        return {"posts": 0, "start": (self._settings.start or began).isoformat(), "began": began.isoformat()}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """The rows of one micro-batch at most."""
        return ReadMaxRows(self._settings.rows_per_batch or self._settings.most_rows_per_batch)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Stop the clock: what is due now is all there is."""
        if self._settings.rows_per_batch is not None and self._settings.limit is None:
            raise ConfigError(f"{NAME}: rowsPerBatch never runs out, and so the trigger never ends; give limit too")
        stopped = self._clock()
        self._clock = lambda: stopped

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802
        """Where the next micro-batch ends: what is due, within the limits."""
        self._seen = start
        most = limit.max_rows if isinstance(limit, ReadMaxRows) else self._due(start)
        return start | {"posts": min(self._due(start), start["posts"] + most)}

    def reportLatestOffset(self) -> Offset | None:  # noqa: N802
        """What is due by now, from which the query's progress shows how far it lags."""
        return self._seen and self._seen | {"posts": self._due(self._seen)}

    def _due(self, offset: Offset) -> int:
        """How many posts there are by now, never fewer than the offset has."""
        posts: int = offset["posts"]
        limit = self._settings.limit
        if self._settings.rows_per_batch is not None:
            due = posts + self._settings.rows_per_batch if limit is None else limit
        else:
            passed = self._clock() - datetime.fromisoformat(offset["began"])
            due = int(passed.total_seconds() * self._settings.rows_per_second)
        return max(posts, due if limit is None else min(due, limit))

    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        """The posts from one offset to the other, in like parts."""
        # A query that died in its first batch comes back with a new first offset, but with the end it had noted.
        return self._settings.ranges(start["posts"], end["posts"], datetime.fromisoformat(end["start"]))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The posts of one part."""
        assert isinstance(partition, Range)
        return partition.posts()
