"""Where peers are deaf, busy or slow, and messages are lost, events go round them, and what is missed is counted."""

import asyncio
import random
from collections import Counter

import pytest

from tests.overlay.node.peers import is_complete, overlay, read, until
from tidegate.deliver.seal import MAC_BYTES
from tidegate.overlay.node import node as nodes_module
from tidegate.overlay.node import spreading, unread
from tidegate.overlay.node.messages import Kind, Taken
from tidegate.overlay.node.node import Node


def test_whoever_does_not_acknowledge_is_stood_in_for(monkeypatch: pytest.MonkeyPatch) -> None:
    # What is under way to the deaf is not waited for at the end.
    monkeypatch.setattr(nodes_module, "_LONGEST_FAREWELL_S", 0.0)

    async def run() -> None:
        async with overlay(*[{"nasa"}] * 6) as nodes:
            await until(lambda: is_complete(nodes), "rings are complete")
            ring = sorted(nodes, key=lambda node: node.id)
            # Of a sudden both neighbours are deaf, and nobody has noticed when the event goes out.
            for deaf in (ring[1], ring[5]):
                deaf._voice.carrier._take = lambda _: True
            assert await ring[0].publish("nasa", "storm")
            await until(lambda: [node.counters.delivered for node in ring[2:5]] == [1, 1, 1], "all others have it")

    asyncio.run(run())


def test_where_a_third_of_all_events_and_receipts_is_lost_everybody_is_told_once_all_the_same() -> None:
    draw, lost = random.Random(3), Counter[tuple[int, bytes]]()

    def deafened(node: Node) -> None:
        take, text = node._voice.carrier._take, slice(-MAC_BYTES - 1, -MAC_BYTES)

        def hear(message: bytes) -> bool:
            # Of an event, the first three copies may be lost, and so the fourth comes whatever is drawn.
            copies = node.id, message[4:12] + message[text]
            if message[3] in (Kind.EVENT, Kind.RECEIPT) and draw.random() < 1 / 3 and lost[copies] < 3:
                lost[copies] += message[3] == Kind.EVENT
                return True
            return take(message)

        node._voice.carrier._take = hear

    async def run() -> None:
        async with overlay(*[{"nasa"}] * 5) as nodes:
            for node in nodes:
                deafened(node)
            await until(lambda: is_complete(nodes), "rings are complete")
            texts = [f"{number}" for number in range(10)]
            for text in texts:
                assert await nodes[0].publish("nasa", text, within_s=60)
            for node in nodes[1:]:
                assert await read(node, 10) == [f"nasa: {text}" for text in texts]
            await until(
                lambda: not any(node.status()["spreading"] for node in nodes), "all is acknowledged, or given up"
            )
            assert [node.counters.delivered for node in nodes] == [0, 10, 10, 10, 10]
            assert sum(lost.values()) > 0

    asyncio.run(run())


def test_who_has_its_hands_full_takes_nothing_more_and_is_asked_again() -> None:
    async def run() -> None:
        async with overlay({"nasa"}, {"nasa"}) as nodes:
            await until(lambda: is_complete(nodes), "rings are complete")
            busy = nodes[1]
            busy._spreading._bytes = spreading.MOST_BYTES
            publishing = asyncio.create_task(nodes[0].publish("nasa", "later", within_s=60))
            await until(lambda: busy.counters.refused["busy"] > 0, "it is asked")
            assert busy.counters.delivered == 0
            busy._spreading._bytes = 0
            assert await publishing
            assert await read(busy, 1) == ["nasa: later"]

    asyncio.run(run())


def test_a_reader_that_is_too_slow_misses_events_and_that_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unread, "_MOST", 2)

    async def run() -> None:
        async with overlay({"nasa"}, {"nasa"}) as nodes:
            await until(lambda: is_complete(nodes), "rings are complete")
            ids = [bytes([number] * 16) for number in range(5)]
            taken = [await nodes[0].publish("nasa", f"{number}", id_) for number, id_ in enumerate(ids)]
            assert taken == [Taken.DELIVERED] * 2 + [Taken.CARRIED] * 3
            assert nodes[1].counters.overflowed == 3
            assert await read(nodes[1], 2) == ["nasa: 0", "nasa: 1"]
            # What there was no room for is told if it comes again, and nothing else is.
            assert await nodes[0].publish("nasa", "1", ids[1]) is Taken.DELIVERED
            assert await nodes[0].publish("nasa", "4", ids[4]) is Taken.DELIVERED
            assert await read(nodes[1], 1) == ["nasa: 4"]
            assert nodes[1].counters.delivered == nodes[1].counters.overflowed == 3

    asyncio.run(run())
