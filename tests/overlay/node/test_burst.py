"""Many events at once, small and large: nobody misses any, and nobody is taken for dead because it is busy."""

import asyncio
from collections import Counter
from dataclasses import replace

from tests.overlay.node.peers import is_complete, overlay, until
from tidegate.overlay.node.carrier import DATAGRAM
from tidegate.overlay.node.node import Node
from tidegate.overlay.node.settings import NodeSettings

SMALL, LARGE = 2000, 200


async def listen(node: Node, told: Counter[bytes]) -> None:
    async for event in node.events():
        told[event.body[:8]] += 1


def test_of_thousands_of_events_at_once_nobody_misses_any_and_nobody_is_silent() -> None:
    bodies = [b"%8d" % number + b"s" * 200 for number in range(SMALL)]
    bodies[:: SMALL // LARGE] = [body[:8] + b"L" * 4 * DATAGRAM for body in bodies[:: SMALL // LARGE]]
    wanted = dict.fromkeys((body[:8] for body in bodies), 1)

    async def run() -> None:
        async with overlay(*[{"nasa"}] * 4) as nodes:
            await until(lambda: is_complete(nodes), "rings are complete")
            told = [Counter[bytes]() for _ in nodes[1:]]
            readers = [asyncio.create_task(listen(*one)) for one in zip(nodes[1:], told, strict=True)]
            assert all(await asyncio.gather(*(nodes[0].publish("nasa", body) for body in bodies)))
            await until(lambda: not any(node.status()["spreading"] for node in nodes), "all is acknowledged")
            assert [len(wanted.keys() - one.keys()) for one in told] == [0, 0, 0]
            assert told == [wanted] * 3
            assert [node.counters.silent for node in nodes] == [0] * 4
        await asyncio.gather(*readers)

    asyncio.run(run())


def test_who_is_sent_events_is_not_forgotten_for_a_letter_that_it_is_too_busy_to_answer() -> None:
    async def run() -> None:
        settings = NodeSettings(period_s=0.02, patience_s=0.1, first_receipt_s=60)
        async with Node(settings) as node, Node(replace(settings, join=(node.address,))) as busy:
            node.subscribe("nasa")
            busy.subscribe("nasa")
            await until(lambda: is_complete([node, busy]), "rings are complete")
            task, take = busy._task, busy._voice.carrier._take
            assert task is not None
            task.cancel()
            busy._voice.carrier._take = lambda _: True
            publishing = asyncio.create_task(node.publish("nasa", "news"))
            await until(lambda: node._spreading.is_sending(busy.id), "it is sent an event")
            before = node.counters.sent["open"]
            await until(lambda: node.counters.sent["open"] > before + 10, "it has left letters without an answer")
            assert busy.id in node.neighbours("nasa")[0]
            busy._voice.carrier._take = take
            publishing.cancel()
            node._spreading.leave(busy.id)

    asyncio.run(run())
