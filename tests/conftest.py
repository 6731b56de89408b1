"""Settings of all tests: Hypothesis draws the same examples on every run, and prints how to repeat a failure."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from pyspark.sql import SparkSession

from tidegate.bench.delivery.server import Server, postgres_server
from tidegate.spark.session import local_session

settings.register_profile("fixed", derandomize=True, deadline=None, print_blob=True)
settings.load_profile("fixed")

# JVMs of tests live for seconds: what they compile has to pay off soon, and classes come laid out in advance if they
# are (`make test`). An archive of other classes is left alone, without a word.
_QUICKLY = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_ARCHIVE = Path(__file__).parents[1] / ".services" / "spark.jsa"
_LAID_OUT = f'{_QUICKLY} -XX:SharedArchiveFile="{_ARCHIVE}" -Xlog:disable'
os.environ.setdefault("SPARK_SUBMIT_OPTS", _LAID_OUT if _ARCHIVE.exists() else _QUICKLY)
os.environ.setdefault("SPARK_LAUNCHER_OPTS", _QUICKLY)
os.environ.setdefault("SPARK_DAEMON_JAVA_OPTS", _QUICKLY)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes longest comes first: begun last, it would keep one worker busy and leave the other idle."""
    items.sort(key=lambda item: item.path.parent.name != "survival")


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """One session for all tests of a process; small, and with a warehouse of its own."""
    warehouse: Path = tmp_path_factory.mktemp("warehouse")
    session = local_session(
        "tidegate-tests", cores=2, settings={"spark.sql.warehouse.dir": str(warehouse), "spark.driver.memory": "1g"}
    )
    yield session
    session.stop()


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """One server for all tests of a process."""
    with postgres_server() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a database is that nobody else uses: a test that asks for it runs on SQLite and on a real PostgreSQL."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/inbox.db"
    server: Server = request.getfixturevalue("postgres")
    return server.database()
