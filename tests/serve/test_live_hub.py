"""The hub and the feeds of one process, step by step, with moments that a real server meets by chance."""

import asyncio
import sys
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from tests.serve.scene import matches
from tidegate.deliver.database import Database
from tidegate.deliver.event import PRESENCE
from tidegate.deliver.event import Event as Fleeting
from tidegate.deliver.inbox import Inbox
from tidegate.deliver.site import Site
from tidegate.errors import StoreError
from tidegate.serve import tail
from tidegate.serve.events import Event
from tidegate.serve.feed import Feeds
from tidegate.serve.live import Hub
from tidegate.serve.settings import LiveSettings
from tidegate.serve.tail import Follower, Round, Tail

Told = AsyncIterator[Event | None]


class House:
    """An inbox, a hub, and who follows."""

    def __init__(self, database: Database, queue: int = 8) -> None:
        self.inbox, self.tail, self.hub = Inbox(database), Tail(database), Hub(queue, Site("s", "AB"))
        self.follower = Follower(self.tail, self.hub, poll_s=0.001)
        self.feeds = Feeds(self.inbox, LiveSettings(heartbeat_s=0.05, longest_s=30))
        self.batch = 0

    def bring(self, subscriber: str, *posts: str) -> None:
        self.inbox.add(matches(subscriber, posts), "run", self.batch)
        self.batch += 1

    def follow(self, subscriber: str) -> Told:
        """A feed that begins now."""
        return self.feeds.feed(self.hub.join(subscriber, "", "desktop"), self.follower.cursor)


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(Database.open(f"sqlite:///{tmp_path}/tidegate.db"))


def run(scene: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(asyncio.wait_for(scene(), 20))


async def cursors(told: Told, number: int) -> list[int]:
    found: list[int] = []
    while len(found) < number:
        event = await anext(told)
        if event is not None and event.kind == "notification":
            assert event.cursor is not None
            found.append(event.cursor)
    return found


def test_who_joins_while_it_is_asked_what_is_new_misses_nothing(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """The question was put before ana came, so its answer has nothing for her, and she has seen nothing yet."""

    async def scene() -> None:
        house.hub.start()
        await house.follower.start()
        loop = asyncio.get_running_loop()
        after = house.tail.after

        async def joining() -> Told:
            return house.follow("ana")

        feeds: list[Told] = []

        def late(cursor: int, online: frozenset[str]) -> Round:
            assert online == frozenset()
            feeds.append(asyncio.run_coroutine_threadsafe(joining(), loop).result())
            house.bring("ana", "p1")
            return after(cursor, online)

        monkeypatch.setattr(house.tail, "after", late)
        await house.follower.round()
        monkeypatch.setattr(house.tail, "after", after)
        house.bring("ana", "p2")
        await house.follower.round()
        assert await cursors(feeds[0], 2) == [1, 2]

    run(scene)


def test_what_waits_and_is_in_the_inbox_too_comes_once(house: House) -> None:
    async def scene() -> None:
        house.hub.start()
        await house.follower.start()
        feed = house.follow("ana")
        await house.follower.round()
        house.bring("ana", "p1", "p2")
        await house.follower.round()
        for connection in house.hub.connections():
            connection.look_back()
        assert await cursors(feed, 2) == [1, 2]
        house.bring("ana", "p3")
        await house.follower.round()
        assert await cursors(feed, 1) == [3]

    run(scene)


def test_more_than_may_wait_is_read_in_the_inbox(house: House) -> None:
    async def scene() -> None:
        house.hub.start()
        await house.follower.start()
        feed = house.follow("ana")
        await house.follower.round()
        for number in range(30):
            house.bring("ana", f"p{number}")
            await house.follower.round()
        assert house.hub.fallen_behind == 1
        assert max(len(each._waiting) for each in house.hub.connections()) <= 8
        assert await cursors(feed, 30) == list(range(1, 31))

    run(scene)


def test_a_quiet_feed_has_heartbeats_and_ends_when_it_is_closed(house: House) -> None:
    async def scene() -> None:
        house.hub.start()
        feed = house.follow("ana")
        first, second = await anext(feed), await anext(feed)
        assert first is not None
        assert (first.kind, second) == ("ready", None)
        house.hub.close()
        assert [event async for event in feed] == []
        assert [event.kind async for event in house.follow("ben") if event] == ["ready"]

    run(scene)


@pytest.mark.parametrize("error", [StoreError("away"), ValueError("a post that is no JSON")])
def test_the_follower_goes_on_whatever_happens(house: House, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    monkeypatch.setattr(tail, "_PATIENCE_S", 0.01)

    async def scene() -> None:
        house.hub.start()
        await house.follower.start()
        after, failures = house.tail.after, [error, error]

        def failing(cursor: int, online: frozenset[str]) -> Round:
            if failures:
                raise failures.pop()
            return after(cursor, online)

        monkeypatch.setattr(house.tail, "after", failing)
        feed = house.follow("ana")
        house.bring("ana", "p1")
        following = asyncio.create_task(house.follower.run())
        assert await cursors(feed, 1) == [1]
        following.cancel()

    run(scene)


def test_only_what_somebody_waits_for_is_read_whole(house: House) -> None:
    house.bring("ana", "p1", "p2")
    house.bring("ben", "p3")
    assert house.tail.after(0, frozenset()) == Round(3, [], None)
    found = house.tail.after(0, frozenset(["ben"]))
    assert (found.cursor, [(who, event.cursor) for who, event in found.events]) == (3, [("ben", 3)])
    assert found.missed_by == frozenset(["ana"])
    assert house.tail.after(3, frozenset(["ben"])) == Round(3, [])


def test_more_than_is_looked_at_in_one_go_is_told_by_and_by(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tail, "_AT_ONCE", 2)
    house.bring("ana", *[f"p{number}" for number in range(5)])
    cursor, told = 0, list[int | None]()
    for end in (2, 4, 5):
        found = house.tail.after(cursor, frozenset(["ana"]))
        cursor, told = found.cursor, told + [event.cursor for _, event in found.events]
        assert cursor == end
    assert told == [1, 2, 3, 4, 5]


def test_of_those_who_join_meanwhile_only_who_missed_something_looks_into_the_inbox(house: House) -> None:
    """Thousands may join within one round, and each look would be a query."""

    async def scene() -> None:
        house.hub.begin_round()
        ana, ben = (house.hub.join(name, "", "desktop") for name in ("ana", "ben"))
        house.hub.end_round(frozenset(["ana", "eve"]))
        assert (ana.is_behind, ben.is_behind) == (True, False)
        house.hub.end_round(None)
        assert ben.is_behind

    run(scene)


def test_of_a_topic_the_last_event_is_kept_and_of_others_nothing(house: House) -> None:
    async def scene() -> None:
        house.hub.start()
        for at, text in enumerate(("opened", "closed")):
            house.hub.publish(Fleeting("door", PRESENCE, at, {"text": text}))
        feed = house.feeds.feed(house.hub.join("ana", "", "desktop", ["door", "window"]), 0)
        await anext(feed)
        event = await anext(feed)
        assert event is not None
        assert event.sse == b'event: presence\ndata: {"text":"closed"}\n\n'
        assert await anext(feed) is None

    run(scene)


def test_who_has_left_is_offline_and_holds_nothing(house: House) -> None:
    async def scene() -> None:
        connections = [house.hub.join("ana", "", "desktop", ["door"]) for _ in range(2)]
        house.hub.leave(connections[0])
        assert house.hub.is_online("ana")
        house.hub.leave(connections[1])
        assert (house.hub.online(), house.hub.connections(), list(house.hub.site.broker("door").topics)) == (
            frozenset(),
            [],
            [],
        )

    run(scene)


@pytest.mark.parametrize("is_behind", [False, True])
def test_a_feed_that_is_closed_hands_out_nothing_of_what_waits(house: House, is_behind: bool) -> None:
    """Its key may have been revoked: what it has not been given by then is not for whoever holds it."""

    async def scene() -> None:
        house.hub.start()
        await house.follower.start()
        feed = house.follow("ana")
        await house.follower.round()
        house.bring("ana", "p1", "p2", "p3")
        await house.follower.round()
        (connection,) = house.hub.connections()
        if is_behind:
            connection.fall_behind()
        assert await cursors(feed, 1) == [1]
        connection.close()
        assert [event async for event in feed] == []

    run(scene)


def test_connections_can_be_counted_by_any_thread_while_they_come_and_go(house: House) -> None:
    """Metrics and the operator's status are asked for by threads, and the hub is the event loop's."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    errors: list[RuntimeError] = []
    ended = threading.Event()

    def count() -> None:
        while not ended.is_set():
            try:
                house.hub.connections()
            except RuntimeError as error:
                errors.append(error)

    async def scene() -> None:
        joined = [house.hub.join(f"s{number}", "", "desktop") for number in range(500)]
        counting = threading.Thread(target=count)
        counting.start()
        for number in range(5_000):
            house.hub.leave(joined[number % 500])
            joined[number % 500] = house.hub.join(f"t{number}", "", "desktop")
        ended.set()
        counting.join()

    try:
        run(scene)
    finally:
        sys.setswitchinterval(before)
    assert errors == []
