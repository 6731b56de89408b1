"""Events reach all who follow their topic, once, and nobody else; who publishes knows what became of them."""

import asyncio

import pytest

from tests.overlay.node.peers import is_complete, overlay, read, settings, until
from tidegate.errors import ConfigError
from tidegate.overlay.node import interests
from tidegate.overlay.node.carrier import DATAGRAM
from tidegate.overlay.node.messages import LARGEST_EVENT, Taken
from tidegate.overlay.node.node import Node


def test_events_small_and_large_reach_all_who_follow_once_and_nobody_else() -> None:
    large = "wide news " * (LARGEST_EVENT // 10)

    async def run() -> None:
        async with overlay({"nasa", "esa"}, {"nasa"}, {"esa"}, {"nasa", "esa"}, {"nasa"}) as nodes:
            await until(lambda: is_complete(nodes), "rings are complete")
            assert await nodes[0].publish("nasa", "lift-off")
            assert await nodes[0].publish("esa", large)
            assert await read(nodes[3], 2) == [f"esa: {large}", "nasa: lift-off"]
            assert await read(nodes[1], 1) == await read(nodes[4], 1) == ["nasa: lift-off"]
            assert await read(nodes[2], 1) == [f"esa: {large}"]
            assert nodes[0].counters.delivered == 0
            await until(lambda: not any(node.status()["spreading"] for node in nodes), "all is acknowledged")
            assert [node.counters.delivered for node in nodes] == [0, 1, 1, 2, 1]

    asyncio.run(run())


def test_letters_that_are_larger_than_a_datagram_go_by_connections() -> None:
    many = {f"topic {number}" for number in range(2 * DATAGRAM // 9)}

    async def run() -> None:
        async with overlay(many, many, many) as nodes:
            await until(lambda: is_complete(nodes), "rings are complete")

    asyncio.run(run())


def test_topics_come_and_go_and_a_publisher_need_not_be_told() -> None:
    async def run() -> None:
        async with overlay({"nasa"}, {"nasa"}, set()) as nodes:
            await until(lambda: is_complete(nodes), "rings are complete")
            assert await nodes[2].publish("nasa", "one", within_s=60)
            assert await read(nodes[0], 1) == await read(nodes[1], 1) == ["nasa: one"]
            nodes[0].unsubscribe("nasa")
            assert await nodes[2].publish("nasa", "two", within_s=60)
            assert await read(nodes[1], 1) == ["nasa: two"]
            await until(lambda: not any(node.status()["spreading"] for node in nodes), "nothing is under way")
            nodes[0].subscribe("nasa")
            await until(lambda: any(nodes[0].neighbours("nasa")), "the ring is known again")
            assert await nodes[1].publish("nasa", "three", within_s=60)
            assert await read(nodes[0], 1) == ["nasa: three"]
            assert nodes[2].topics == []
            assert nodes[2].counters.delivered == 0

    asyncio.run(run())


def test_what_nobody_follows_is_taken_by_nobody() -> None:
    async def run() -> None:
        async with overlay({"nasa"}, {"esa"}) as nodes:
            await until(lambda: all(node.status()["known"] for node in nodes), "they know each other")
            assert not await nodes[0].publish("nasa", "alone")

    asyncio.run(run())


def test_who_publishes_knows_whether_a_reader_is_told_or_the_event_is_merely_carried() -> None:
    async def run() -> None:
        async with overlay(set(), set()) as (first, second):
            second.carry("nasa")
            assert await first.publish("nasa", "one", within_s=60) is Taken.CARRIED
            second.subscribe("nasa")
            assert await first.publish("nasa", "two", within_s=60) is Taken.DELIVERED
            assert await read(second, 1) == ["nasa: two"]

    asyncio.run(run())


def test_who_has_not_begun_or_has_left_publishes_nothing_and_says_so() -> None:
    async def run() -> None:
        node = Node(settings())
        with pytest.raises(ConfigError, match="after it has begun and before it leaves"):
            await node.publish("nasa", "too early")
        async with node:
            assert not await node.publish("nasa", "alone")
            waiting = asyncio.create_task(node.publish("nasa", "alone", within_s=3600))
        with pytest.raises(ConfigError, match="after it has begun and before it leaves"):
            await node.publish("nasa", "too late")
        await asyncio.wait([waiting], timeout=60)
        assert waiting.done()

    asyncio.run(run())


def test_topics_are_published_in_without_end_and_those_that_were_asked_for_are_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(interests, "MOST_TOPICS", 4)

    async def run() -> None:
        async with overlay({"nasa"}) as (node,):
            node.carry("esa")
            for topic in ("a", "b", "a", "c", "nasa", "d", "c"):
                await node.publish(topic, "news")
            assert set(node._interests) == {"nasa", "esa", "c", "d"}
            node.subscribe("c")
            await node.publish("e", "news")
            assert set(node._interests) == {"nasa", "esa", "c", "e"}
            node.carry("e")
            with pytest.raises(ConfigError, match="5 topics: a peer follows 4 at most: unsubscribe from some"):
                await node.publish("f", "news")

    asyncio.run(run())


def test_the_same_id_is_the_same_event() -> None:
    async def run() -> None:
        async with overlay({"nasa"}, {"nasa"}, {"nasa"}) as nodes:
            await until(lambda: is_complete(nodes), "rings are complete")
            for _ in range(3):
                assert await nodes[0].publish("nasa", "again", b"0123456789abcdef")
            assert await nodes[0].publish("nasa", "other")
            assert await read(nodes[1], 2) == await read(nodes[2], 2) == ["nasa: again", "nasa: other"]
            assert nodes[1].counters.repeated >= 2

    asyncio.run(run())
