"""What is too old is forgotten now and then, by one of all processes, without being asked."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from tests.deliver.delivery import engine_of
from tests.deliver.scenes import DAY, Clock, match
from tidegate.deliver.clock import SECOND
from tidegate.deliver.database import Database
from tidegate.deliver.inbox import Inbox
from tidegate.deliver.retention import Forgotten, Retention
from tidegate.deliver.upkeep import Upkeep

HOUR = 3600 * SECOND


@pytest.fixture
def old(inbox: Inbox, clock: Clock) -> Inbox:
    """An inbox with ten notifications that are too old."""
    inbox.add([match("ana", str(number)) for number in range(10)], "run", 0)
    clock.now += 91 * DAY
    return inbox


def upkeep(database: Database, clock: Clock) -> Upkeep:
    return Upkeep(database, Retention(database, clock, rows=2, pause_s=0), clock)


def test_one_of_several_takes_the_turn_and_the_next_is_an_hour_later(
    database: Database, old: Inbox, clock: Clock
) -> None:
    several = [upkeep(database, clock) for _ in range(4)]
    with ThreadPoolExecutor(4) as threads:
        gone = list(threads.map(lambda one: one.round(), several))
    assert sorted(one.notifications for one in gone) == [0, 0, 0, 10]
    assert [one.finished for one in several].count(clock.now) == 1
    old.add([match("ana", "more")], "run", 1)
    clock.now += 91 * DAY
    for one in several[1:]:
        one.round()
    old.add([match("ana", "later")], "run", 2)
    clock.now += 91 * DAY
    assert sum(one.round().notifications for one in several) == 1


def test_nobody_begins_while_another_is_at_work(database: Database, old: Inbox, clock: Clock) -> None:
    working, waiting = upkeep(database, clock), upkeep(database, clock)
    found: list[Forgotten] = []

    def step() -> bool:
        assert working.is_running
        clock.now += 40 * 60 * SECOND  # all of it takes many hours
        found.append(waiting.round())
        return True

    assert working.round(step).notifications == 10
    assert not working.is_running
    assert len(found) > 5
    assert set(found) == {Forgotten()}


def test_what_one_has_left_is_done_by_the_next(database: Database, old: Inbox, clock: Clock) -> None:
    stopped, broken, last = (upkeep(database, clock) for _ in range(3))
    assert stopped.round(lambda: False) == stopped.forgotten == Forgotten(notifications=2)
    assert stopped.finished is None

    def dies() -> bool:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        broken.round(dies)
    assert last.round() == Forgotten()
    clock.now += HOUR
    assert last.round() == Forgotten(notifications=6, posts=10)
    assert old.counts("ana").total == 0


def test_an_engine_forgets_beside_its_work(database: Database, old: Inbox, clock: Clock) -> None:
    engine = replace(engine_of(database, {}, clock), upkeep=upkeep(database, clock))
    asyncio.run(engine.once())
    assert engine.tally.forgotten == 10

    async def run() -> None:
        stop = asyncio.Event()
        running = asyncio.create_task(engine.run(stop))
        await asyncio.to_thread(old.add, [match("ana", "more")], "run", 1)
        clock.now += 91 * DAY
        while engine.tally.forgotten < 11:
            await asyncio.sleep(0.01)
        stop.set()
        await running

    asyncio.run(asyncio.wait_for(run(), 30))
