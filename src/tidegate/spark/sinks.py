"""Where matches go. Writing a micro-batch again, after a crash, leaves the sink as if it had been written once.

Kafka and the console cannot take anything back: there a match may come twice, and its key (a match's is its post and
its subscription) says that it is the same one.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlencode

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tidegate.deliver.database import Database, UnreachableError
from tidegate.deliver.inbox import Inbox
from tidegate.errors import ConfigError
from tidegate.spark.address import Address
from tidegate.spark.offload import Offload
from tidegate.spark.reach import check_reach
from tidegate.spark.told import told
from tidegate.store.location import Location
from tidegate.store.match_table import MatchTable

KINDS = ("delta", "parquet", "json", "kafka", "inbox", "console")
_FIRST_INTERFACE = "spark.sql.sources.useV1SourceList"
# A database that is started again is back within so long.
_PATIENCE_S = 60.0
_PAUSE_S = 0.5
Result = TypeVar("Result")

# A topic that is made by being written to is known to clients a moment before it takes records. Were two requests under
# way then, the second might be taken and the first be refused for good, as out of order. Larger ones make up for it.
IN_ORDER = {"kafka.max.in.flight.requests.per.connection": "1", "kafka.batch.size": str(1 << 18)}


class Sink(ABC):
    """Takes the matches of micro-batches."""

    @abstractmethod
    def write(self, matches: DataFrame, query: str, batch: int, version: int | None = None) -> None:
        """Take the matches of a batch of a streaming query, with exactly one Spark action.

        `version` is that of the store they were found in, where there is one for all of them.
        """

    def check(self, spark: SparkSession) -> None:
        """Refuse, before the first batch, what Spark could not write to."""
        return

    def has(self, query: str, batch: int) -> bool:
        """Whether the batch is known to be written already, and need not be computed again."""
        return False


class FolderSink(Sink):
    """Parquet or JSON lines, a folder per batch: `run=…/batch=…`. A folder with `_SUCCESS` in it is whole."""

    def __init__(self, kind: str, folder: str, options: Mapping[str, str] | None = None) -> None:
        """Write files of a kind below a folder, with options of Spark's writer."""
        self._kind, self._folder, self._options = kind, folder, options or {}

    def check(self, spark: SparkSession) -> None:
        """Refuse an address that Spark has no file system for."""
        check_reach(spark, self._folder)

    def write(self, matches: DataFrame, query: str, batch: int, version: int | None = None) -> None:
        """Write the batch in place of what an earlier attempt at it has left."""
        path = f"{self._folder}/run={query}/batch={batch:012}"
        matches.write.mode("overwrite").format(self._kind).options(**self._options).save(path)


class DeltaSink(Sink):
    """A Delta table: a batch appears in it whole, once, for every reader."""

    def __init__(self, folder: str, options: Mapping[str, str] | None = None) -> None:
        """Write to the table in a folder, with options of Spark's Parquet writer; the first batch makes it."""
        self._table, self._options = MatchTable(Location.of(folder)), options or {}

    def check(self, spark: SparkSession) -> None:
        """Refuse an address that Spark has no file system for, whether or not Delta has one."""
        check_reach(spark, self._table.location.url)

    def has(self, query: str, batch: int) -> bool:
        """Whether the table knows the batch."""
        return self._table.has(query, batch)

    def write(self, matches: DataFrame, query: str, batch: int, version: int | None = None) -> None:
        """Write files beside the table's own, in place of an earlier attempt's, and commit them."""
        folder = f"run-{query}/batch-{batch:012}"
        matches.write.mode("overwrite").options(**self._options).parquet(f"{self._table.location.url}/{folder}")
        self._table.commit(folder, query, batch)


class KafkaSink(Sink):
    """A topic: JSON values, keyed by what tells rows apart. At least once."""

    def __init__(self, address: Address, key: Sequence[str]) -> None:
        """Write to the topic of an address; `key` names the columns that tell rows apart."""
        self._servers, self._topic = address.topic
        self._options, self._key = address.options, key

    def write(self, matches: DataFrame, query: str, batch: int, version: int | None = None) -> None:
        """Produce one message per match."""
        key = F.concat_ws("/", *(F.col(name).cast("string") for name in self._key))
        messages = matches.select(key.alias("key"), F.to_json(F.struct("*")).alias("value"))
        _observe_kafka(messages.sparkSession)
        writer = messages.write.format("kafka").mode("append").option("kafka.bootstrap.servers", self._servers)
        writer.option("topic", self._topic).options(**{**IN_ORDER, **self._options}).save()


class InboxSink(Sink):
    """The inbox of a database: a match is a reason of a notification, and a batch is taken once.

    A batch is collected, in Arrow: the inbox takes it in one transaction, by one writer, so executors would only wait
    for each other. What is collected does not grow with the stream.
    """

    def __init__(self, address: Address, key: Sequence[str], offload: Offload | None = None) -> None:
        """Write to the database of an address such as inbox:sqlite:///inbox.db; `key` begins with a post's id.

        The option `at` names the column that says when a post was written. `offload` decides what is not to be told in
        real time.
        """
        self._address, self._key, self._offload = address, tuple(key), offload
        self._inbox: Inbox | None = None

    def __reduce__(self) -> tuple[type["InboxSink"], tuple[Address, tuple[str, ...], Offload | None]]:
        """Travel without connections."""
        return InboxSink, (self._address, self._key, self._offload)

    def check(self, spark: SparkSession) -> None:
        """Refuse a database that cannot be opened, and whom nothing can be offloaded to."""
        self._opened()
        if self._offload is not None:
            self._offload.open()

    def has(self, query: str, batch: int) -> bool:
        """Whether the inbox has taken the batch; wait for a database that is being started again."""
        return _patiently(lambda: self._opened().has(query, batch))

    def write(self, matches: DataFrame, query: str, batch: int, version: int | None = None) -> None:
        """Collect the batch and have it taken; wait for a database that is being started again."""
        served_by = None if self._offload is None else self._offload.settings.by
        rows = told(matches, self._key, self._address.options.get("at"), served_by).toArrow()
        if self._offload is not None:
            rows = self._offload.marked(rows, query, batch)
        # Had it been committed and nobody been told, it would be known by its number.
        _patiently(lambda: self._opened().add(rows, query, batch, version))

    def _opened(self) -> Inbox:
        if self._inbox is None:
            options = {name: value for name, value in self._address.options.items() if name != "at"}
            url = f"{self._address.target}?{urlencode(options)}" if options else self._address.target
            self._inbox = Inbox(Database.open(url))
        return self._inbox


class ConsoleSink(Sink):
    """The terminal: the first matches of every batch."""

    def __init__(self, rows: int = 20, order: Sequence[str] = ("subscription",)) -> None:
        """Show so many, in the order of some columns."""
        self._rows, self._order = rows, order

    def write(self, matches: DataFrame, query: str, batch: int, version: int | None = None) -> None:
        """Print a table."""
        print(f"batch {batch}")
        # In an order, since for the first rows of none Spark would leave the other posts alone.
        matches.orderBy(*self._order).show(self._rows, truncate=80)


class HookSink(Sink):
    """A function of yours, called with the matches and the number of every batch."""

    def __init__(self, hook: Callable[[DataFrame, int], None]) -> None:
        """Call `hook`, which is to run one Spark action on the matches.

        A batch may come again after a crash, with the same number and the same matches.
        """
        self._hook = hook

    def write(self, matches: DataFrame, query: str, batch: int, version: int | None = None) -> None:
        """Call the hook."""
        self._hook(matches, batch)


def sink_at(address: str, *, key: Sequence[str] = ("id", "subscription"), offload: Offload | None = None) -> Sink:
    """Return the sink of an address, such as delta:matches/ or kafka://127.0.0.1:9092/matches.

    `key` names the columns that tell rows apart, the last of them the ones to read them by. To `offload` is for inboxes
    alone, from where live feeds are told.
    """
    place = Address.parse(address, KINDS)
    if offload is not None and place.kind != "inbox":
        raise ConfigError(
            f"{address}: only an inbox is told in real time, so nothing else can offload: write inbox:URL"
        )
    if place.kind == "kafka":
        return KafkaSink(place, key)
    if place.kind == "inbox":
        return InboxSink(place, key, offload)
    if place.kind == "console":
        return ConsoleSink(_rows(place), key[1:])
    folder = place.folder()
    if place.kind == "delta":
        return DeltaSink(folder, place.options)
    return FolderSink(place.kind, folder if "://" in folder else str(Path(folder).absolute()), place.options)


def _patiently(do: Callable[[], Result]) -> Result:
    """Do something with a database, again and again while it is away, for as long as one takes to be started."""
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        try:
            return do()
        except UnreachableError:
            if time.monotonic() > deadline:
                raise
            time.sleep(_PAUSE_S)


def _observe_kafka(spark: SparkSession) -> None:
    """Have Kafka written by Spark's second interface for data sources, in this session, which is the batch's own.

    By the first, rows are computed apart from the query that writes them, and who waits for what it observed of them
    waits forever.
    """
    first = spark.conf.get(_FIRST_INTERFACE) or ""
    spark.conf.set(_FIRST_INTERFACE, ",".join(name for name in first.split(",") if name != "kafka"))


def _rows(place: Address) -> int:
    text = place.options.get("rows", "20")
    if not text.isdigit() or int(text) < 1:
        raise ConfigError(f"console: rows is {text!r}: give a number of rows to show, as in console:?rows=20")
    return int(text)
