"""Two at once, on PostgreSQL, each stopped where it hurts: SQLite lets one write at a time, and has no such moments."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import pytest
from sqlalchemy import Connection, text

from tests.deliver.scenes import DAY, Clock, match, posts
from tidegate.bench.delivery.server import Server
from tidegate.deliver.arriving import arriving
from tidegate.deliver.database import Database
from tidegate.deliver.departed import Departed, read_departed
from tidegate.deliver.inbox import Counts, Inbox
from tidegate.deliver.retention import Retention
from tidegate.deliver.schema import POSTS, READ_UP_TO
from tidegate.deliver.subscribers import Subscribers
from tidegate.deliver.taking import take

Result = TypeVar("Result")


@pytest.fixture
def url(postgres: Server) -> str:
    """PostgreSQL alone."""
    return postgres.database()


def _waits(database: Database) -> bool:
    """Whether somebody waits for a lock in this database."""
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    with database.reading() as connection:
        return bool(connection.execute(text(waiting)).scalar_one())


def meanwhile(
    database: Database, first: Callable[[Connection], object], second: Callable[[], Result], seconds: float = 30
) -> Result:
    """Do the first and, before that is committed, the second, until it waits or is done; return what came of that."""
    with ThreadPoolExecutor(1) as threads:
        with database.writing() as connection:
            first(connection)
            done = threads.submit(second)
            deadline = time.monotonic() + seconds
            while not (done.done() or _waits(database)):
                assert time.monotonic() < deadline
                time.sleep(0.01)
        return done.result(seconds)


def bringing(database: Database, clock: Clock, subscriber: str, post: str) -> Callable[[Connection], object]:
    """Takes a batch within a transaction that goes on."""
    brought = arriving([match(subscriber, post)], clock.now)
    with database.reading() as connection:
        departed = read_departed(connection, Departed())
    return lambda connection: take(database, connection, brought, departed, "another run", 0, clock)


def test_who_has_read_further_is_not_set_back_by_who_has_read_less(database: Database, inbox: Inbox) -> None:
    """Two devices at once: the one with the lower cursor comes to write when the other has written."""
    inbox.add([match("ana", f"p{number}") for number in range(5)], "run", 0)
    first, *_, last = (each.cursor for each in inbox.since("ana"))
    meanwhile(
        database,
        lambda connection: connection.execute(READ_UP_TO.insert().values(subscriber="ana", cursor=last)),
        lambda: inbox.mark_read("ana", up_to=first),
    )
    assert inbox.counts("ana") == Counts(5, 0)


def test_a_post_that_is_told_of_again_while_it_is_being_forgotten_stays(
    database: Database, inbox: Inbox, clock: Clock
) -> None:
    inbox.add([match("ana", "p"), match("ana", "q")], "run", 0)
    horizon = inbox.newest()
    clock.now += 100 * DAY
    forget = Retention(database, clock, pause_s=0)._forget
    gone = meanwhile(
        database,
        bringing(database, clock, "ben", "p"),
        lambda: sum(forget(POSTS, POSTS.c.cursor <= horizon, "id")),
    )
    assert gone == 1
    assert posts(inbox.since("ben")) == ["p"]


def test_what_comes_for_a_subscriber_while_it_is_removed_goes_with_it(
    database: Database, inbox: Inbox, clock: Clock
) -> None:
    subscribers = Subscribers(database, clock)
    subscribers.put("ana")
    assert meanwhile(database, bringing(database, clock, "ana", "p"), lambda: subscribers.remove("ana"))
    assert inbox.since("ana") == []
