"""An inbox for each test, on both databases."""

from collections.abc import Iterator

import pytest

from tests.deliver.scenes import Clock
from tidegate.deliver.database import Database
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
