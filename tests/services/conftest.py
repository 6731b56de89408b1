"""The services that these tests run against, each started when first asked for and ended with the test session."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tests.services.broker import Kafka, script


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kafka]:
    broker = Kafka.started(tmp_path_factory.mktemp("kafka"))
    yield broker
    broker.stop()


@pytest.fixture(scope="session")
def spark_kafka(spark: SparkSession) -> SparkSession:
    """The session of all tests, taught Kafka while it runs: `spark.jars` would have to be set before it starts."""
    for jar in script("jars").split(","):
        spark.sql(f"ADD JAR '{jar}'")
    return spark
