"""Whether Spark can reach a place: what is no folder it reads and writes by a Hadoop file system, which it may lack."""

import re

from pyspark.sql import SparkSession

from tidegate.errors import ConfigError

_LACKING = re.compile(r"No FileSystem for scheme|Class \S+FileSystem not found")


def check_reach(spark: SparkSession, place: str) -> None:
    """Refuse an address for which this Spark has no file system; there need not be anything at it yet."""
    scheme, separator, _ = place.partition("://")
    if not separator:
        return
    try:
        _ = spark.read.format("binaryFile").load(place).schema
    except Exception as error:  # of Spark or of Py4J; what else is wrong with the place, its user will say
        if _LACKING.search(str(error)):
            raise ConfigError(
                f"{place}: this Spark has no file system for {scheme}:// addresses: give a folder, or start Spark with "
                "the jars of one, as in --conf spark.jars=… (for S3 that is hadoop-aws, and the address begins s3a://)"
            ) from error
