"""Where matches go. Writing a micro-batch again, after a crash, leaves the sink as if it had been written once.

Kafka and the console cannot take anything back: there a match may come twice, and its key, post and subscription, says
that it is the same one.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tidegate.errors import ConfigError
from tidegate.spark.address import Address
from tidegate.spark.reach import check_reach
from tidegate.store.location import Location
from tidegate.store.match_table import MatchTable

KINDS = ("delta", "parquet", "json", "kafka", "console")
_FIRST_INTERFACE = "spark.sql.sources.useV1SourceList"

# A topic that is made by being written to is known to clients a moment before it takes records. Were two requests under
# way then, the second might be taken and the first be refused for good, as out of order. Larger ones make up for it.
IN_ORDER = {"kafka.max.in.flight.requests.per.connection": "1", "kafka.batch.size": str(1 << 18)}


class Sink(ABC):
    """Takes the matches of micro-batches."""

    @abstractmethod
    def write(self, matches: DataFrame, query: str, batch: int) -> None:
        """Take the matches of a batch of a streaming query, with exactly one Spark action."""

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

    def write(self, matches: DataFrame, query: str, batch: int) -> None:
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

    def write(self, matches: DataFrame, query: str, batch: int) -> None:
        """Write files beside the table's own, in place of an earlier attempt's, and commit them."""
        folder = f"run-{query}/batch-{batch:012}"
        matches.write.mode("overwrite").options(**self._options).parquet(f"{self._table.location.url}/{folder}")
        self._table.commit(folder, query, batch)


class KafkaSink(Sink):
    """A topic: JSON values, keyed by post and subscription. At least once."""

    def __init__(self, address: Address, key: str) -> None:
        """Write to the topic of an address; `key` is the column with a post's id."""
        self._servers, self._topic = address.topic
        self._options, self._key = address.options, key

    def write(self, matches: DataFrame, query: str, batch: int) -> None:
        """Produce one message per match."""
        key = F.concat_ws("/", F.col(self._key).cast("string"), F.col("subscription"))
        messages = matches.select(key.alias("key"), F.to_json(F.struct("*")).alias("value"))
        _observe_kafka(messages.sparkSession)
        writer = messages.write.format("kafka").mode("append").option("kafka.bootstrap.servers", self._servers)
        writer.option("topic", self._topic).options(**{**IN_ORDER, **self._options}).save()


class ConsoleSink(Sink):
    """The terminal: the first matches of every batch."""

    def __init__(self, rows: int = 20) -> None:
        """Show so many."""
        self._rows = rows

    def write(self, matches: DataFrame, query: str, batch: int) -> None:
        """Print a table."""
        print(f"batch {batch}")
        # In an order, since for the first rows of none Spark would leave the other posts alone.
        matches.orderBy("subscription").show(self._rows, truncate=80)


class HookSink(Sink):
    """A function of yours, called with the matches and the number of every batch."""

    def __init__(self, hook: Callable[[DataFrame, int], None]) -> None:
        """Call `hook`, which is to run one Spark action on the matches.

        A batch may come again after a crash, with the same number and the same matches.
        """
        self._hook = hook

    def write(self, matches: DataFrame, query: str, batch: int) -> None:
        """Call the hook."""
        self._hook(matches, batch)


def sink_at(address: str, *, key: str = "id") -> Sink:
    """Return the sink of an address, such as delta:matches/ or kafka://127.0.0.1:9092/matches."""
    place = Address.parse(address, KINDS)
    if place.kind == "kafka":
        return KafkaSink(place, key)
    if place.kind == "console":
        return ConsoleSink(_rows(place))
    folder = place.folder()
    if place.kind == "delta":
        return DeltaSink(folder, place.options)
    return FolderSink(place.kind, folder if "://" in folder else str(Path(folder).absolute()), place.options)


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
