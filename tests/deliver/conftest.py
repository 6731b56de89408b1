"""An inbox for each test, on both databases."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from tests.deliver.delivery import Delivery
from tests.deliver.scenes import Clock
from tidegate.deliver.database import Database
from tidegate.deliver.fields import as_microseconds
from tidegate.deliver.inbox import Inbox


@pytest.fixture
def database(url: str) -> Iterator[Database]:
    opened = Database.open(url)
    yield opened
    opened.close()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def inbox(database: Database, clock: Clock) -> Inbox:
    return Inbox(database, clock)


@pytest.fixture
def delivery(database: Database, clock: Clock) -> Delivery:
    clock.now = as_microseconds(datetime(2026, 6, 10, 12, tzinfo=UTC))
    return Delivery(database, clock)
