"""The services that these tests run against, each started when first asked for and ended with the test session."""

import logging
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import boto3
import pytest
from moto.server import ThreadedMotoServer
from pyspark.sql import SparkSession

from tests.services.broker import Kafka, script
from tidegate.store.store import Store

SECRET = "hush-hush"
"""The key to the object store."""

_numbers = count()


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


@pytest.fixture(scope="session")
def endpoint() -> Iterator[str]:
    """An object store: moto's S3 server."""
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def options(endpoint: str) -> dict[str, str]:
    """What a client of the object store has to know."""
    return {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ACCESS_KEY_ID": "someone",
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_REGION": "us-east-1",
        "AWS_ALLOW_HTTP": "true",
    }


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where this host keeps its copies."""
    monkeypatch.setenv("TIDEGATE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def store(options: dict[str, str], cache: Path) -> Store:
    """A store in a bucket of its own."""
    bucket = f"bucket-{next(_numbers)}"
    client = boto3.client(
        "s3",
        endpoint_url=options["AWS_ENDPOINT_URL"],
        aws_access_key_id="someone",
        aws_secret_access_key=SECRET,
        region_name="us-east-1",
    )
    client.create_bucket(Bucket=bucket)
    return Store.open(f"s3://{bucket}/feeds/subscriptions", options)
