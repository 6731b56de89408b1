"""Posts from wherever they are, as a stream: files, Kafka, feeds, the synthetic microblog; the kept ones as a batch."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.readwriter import DataStreamReader
from pyspark.sql.types import DoubleType, StringType, StructField, StructType, TimestampType

from tidegate.errors import ConfigError, PipelineError
from tidegate.spark.address import Address
from tidegate.spark.columns import CORRUPT
from tidegate.spark.reach import check_reach
from tidegate.spark.sources.feeds import FeedsSource
from tidegate.spark.sources.microblog import MicroblogSource

POST = StructType(
    [
        StructField("id", StringType()),
        StructField("ts", TimestampType()),
        StructField("author", StringType()),
        StructField("text", StringType()),
        StructField("lang", StringType()),
        StructField("lat", DoubleType()),
        StructField("lon", DoubleType()),
    ]
)
"""The columns of a post where nothing else says what they are."""

FILES = ("parquet", "json", "csv")
HISTORIES = (*FILES, "kafka")
"""Where posts are kept, so that they can be read again."""
KINDS = (*HISTORIES, "feeds", "microblog")

_Reader: TypeAlias = DataFrameReader | DataStreamReader


def read_posts(spark: SparkSession, address: str, *, schema: str | StructType | None = None) -> DataFrame:
    """Return the posts at an address as a stream.

    Columns are those of `schema`, else those that a file `_columns` in their folder names, else those that the files
    there already have, else those of `POST`. What cannot be decoded comes as a row with the payload in
    `_corrupt_record`, and ends among the dead letters.
    """
    place = Address.parse(address, KINDS)
    if place.kind in HISTORIES:
        return _kept(spark, spark.readStream, place, _struct(schema))
    readers: dict[str, Callable[[], DataFrame]] = {
        "feeds": lambda: _registered(spark, FeedsSource, place, "path"),
        "microblog": lambda: _registered(spark, MicroblogSource, place, None),
    }
    return readers[place.kind]()


def read_history(spark: SparkSession, address: str, *, schema: str | StructType | None = None) -> DataFrame:
    """Return the posts that are at an address now, as a batch with the columns of `read_posts`."""
    return _kept(spark, spark.read, Address.parse(address, HISTORIES), _struct(schema))


def _kept(spark: SparkSession, reader: _Reader, place: Address, wanted: StructType | None) -> DataFrame:
    """Posts from where they are kept."""
    if place.kind == "kafka":
        return _kafka(reader, place, _with_corrupt(wanted or POST))
    check_reach(spark, place.folder())
    named = _named(place)
    if named is not None:
        # Whoever has named them looks after the folder, and may have removed by now what was found a while ago.
        reader = reader.option("ignoreMissingFiles", "true")
    columns = wanted or named or _found(spark, place)
    return _files(reader, place, columns if place.kind == "parquet" else _with_corrupt(columns))


def _files(source: _Reader, place: Address, schema: StructType) -> DataFrame:
    reader = source.format(place.kind).schema(schema)
    if place.kind != "parquet":
        reader = reader.option("mode", "PERMISSIVE").option("columnNameOfCorruptRecord", CORRUPT)
    if place.kind == "csv":
        reader = reader.option("header", "true").option("escape", '"').option("multiLine", "true")
    return reader.options(**place.options).load(place.folder())


def _named(place: Address) -> StructType | None:
    """The columns that whoever fills a local folder has named, for files that have only some of them."""
    try:
        return _struct((Path(place.target) / "_columns").read_text(encoding="utf-8"))
    except (OSError, UnicodeError):
        return None


def _found(spark: SparkSession, place: Address) -> StructType:
    """The columns of the files that are there; those of a post where there are none yet."""
    reader = spark.read.format(place.kind)
    if place.kind == "csv":
        reader = reader.option("header", "true")
    try:
        names = reader.load(place.folder()).schema
    except AnalysisException as error:
        if error.getCondition() in {"UNABLE_TO_INFER_SCHEMA", "PATH_NOT_FOUND"}:
            return POST
        raise PipelineError(f"{place.kind}:{place.target}: its columns cannot be read: {error}") from error
    if place.kind == "parquet":
        return names
    # A text file does not know types: what is called as a column of a post is one.
    known = {field.name: field for field in POST.fields}
    fields = [known.get(field.name, field) for field in names.fields if field.name != CORRUPT]
    missing = [field for field in POST.fields if field.name in ("id", "text") and field.name not in names.names]
    return StructType([*fields, *missing])


def _kafka(source: _Reader, place: Address, schema: StructType) -> DataFrame:
    servers, topic = place.topic
    reader = source.format("kafka").option("kafka.bootstrap.servers", servers).option("subscribe", topic)
    try:
        messages = reader.options(**{"startingOffsets": "earliest", **place.options}).load()
    except AnalysisException as error:
        raise PipelineError(
            f"kafka://{place.target.removeprefix('//')}: Spark has no Kafka connector: start it with the jars that "
            "scripts/kafka jars names"
        ) from error
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT}
    payload = F.col("value").cast("string")
    read = messages.select(payload.alias("payload"), F.from_json(payload, schema, options).alias("post"))
    post = read.select("payload", "post.*")
    # A message that is no JSON object at all leaves no trace but null columns.
    undecodable = F.col(CORRUPT).isNotNull() | (F.col("payload").isNull() | ~F.trim("payload").startswith("{"))
    return post.withColumn(CORRUPT, F.when(undecodable, F.coalesce("payload", F.lit("")))).drop("payload")


def _registered(
    spark: SparkSession, source: type[FeedsSource | MicroblogSource], place: Address, target: str | None
) -> DataFrame:
    spark.dataSource.register(source)
    reader = spark.readStream.format(source.name()).options(**place.options)
    if place.target and target is None:
        raise ConfigError(f"{place.kind}:{place.target}: it takes options only: write {place.kind}:?name=value&…")
    return (reader if target is None or not place.target else reader.option(target, place.target)).load()


def _struct(schema: str | StructType | None) -> StructType | None:
    if schema is None or isinstance(schema, StructType):
        return schema
    parsed = StructType.fromDDL(schema)
    if not isinstance(parsed, StructType):
        raise ConfigError(f"schema is {schema!r}: name columns and types, as in: id string, text string")
    return parsed


def _with_corrupt(schema: StructType) -> StructType:
    if CORRUPT in schema.names:
        return schema
    return StructType([*schema.fields, StructField(CORRUPT, StringType())])
