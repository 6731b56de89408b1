"""Who leaves passes on what it has, says so, and leaves nothing open."""

import asyncio

import pytest

from tests.overlay.node.peers import is_complete, overlay, read, settings, until
from tidegate.deliver.ends import Address
from tidegate.overlay.node.carrier import DATAGRAM, Carrier
from tidegate.overlay.node.counters import Counters
from tidegate.overlay.node.node import Node


def test_who_leaves_is_forgotten_at_once_and_events_go_round_it() -> None:
    async def run() -> None:
        async with overlay({"nasa"}, {"nasa"}, {"nasa"}) as nodes:
            passing = Node(settings(nodes[0].address))
            passing.subscribe("nasa")
            async with passing:
                await until(lambda: is_complete([*nodes, passing]), "rings are complete")
            await until(lambda: is_complete(nodes), "the ring is closed again")
            # Nobody had to find out by silence.
            assert sum(node.counters.silent for node in nodes) == 0
            assert await nodes[0].publish("nasa", "farewell")
            assert [event async for event in passing.events()] == []

    asyncio.run(run())


def test_what_a_peer_has_taken_it_passes_on_before_it_leaves() -> None:
    async def run() -> None:
        async with overlay(*[{"nasa"}] * 3) as nodes:
            await until(lambda: is_complete(nodes), "rings are complete")
            leaving = Node(settings(nodes[0].address))
            leaving.subscribe("nasa")
            async with leaving:
                await until(lambda: is_complete([*nodes, leaving]), "rings are complete")
                # Nobody else hears of it at first, and the block ends at once.
                ears = [node._voice.carrier._take for node in nodes]
                for node in nodes:
                    node._voice.carrier._take = lambda _: True
                publishing = asyncio.create_task(leaving.publish("nasa", "last words"))
                await asyncio.sleep(0)
                for node, take in zip(nodes, ears, strict=True):
                    asyncio.get_running_loop().call_later(0.2, setattr, node._voice.carrier, "_take", take)
            assert await publishing
            for node in nodes:
                assert await read(node, 1) == ["nasa: last words"]
            assert [event async for event in leaving.events()] == [event async for event in leaving.events()] == []

    asyncio.run(run())


def test_a_peer_that_leaves_ends_connections_without_a_word() -> None:
    said: list[dict[str, object]] = []

    async def run() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: said.append(context))
        async with Node(settings()) as node:
            _, writer = await asyncio.open_connection(*node.address)
            await until(lambda: len(node._voice.carrier._coming) == 1, "it is open")
        writer.close()

    asyncio.run(run())
    assert said == []


def test_a_peer_that_leaves_neither_hears_nor_answers_what_still_comes_by_connections() -> None:
    async def run() -> None:
        async with overlay({"nasa"}) as (node,):
            there = node.address
            heard: list[bytes] = []

            def answer(message: bytes) -> bool:
                heard.append(message)
                return ending.send(message, there)

            ending = Carrier(answer, Counters())
            place = await ending.open(Address("127.0.0.1", 0))
            _, writer = await asyncio.open_connection(*place)
            message = b"L" * 2 * DATAGRAM
            writer.write(len(message).to_bytes(4) + message)
            await until(lambda: len(heard) == 1, "it answers")
            assert len(ending._channels) == 1
            closing = asyncio.create_task(ending.close())
            await asyncio.sleep(0)
            writer.write(len(message).to_bytes(4) + message)
            await closing
            assert len(heard) == 1
            assert not ending.send(message, there)
            assert not ending._channels._going
            writer.close()

    asyncio.run(run())


def test_a_leave_that_is_cancelled_leaves_nothing_open() -> None:
    async def run() -> None:
        async with overlay({"nasa"}, {"nasa"}) as nodes:
            await until(lambda: is_complete(nodes), "rings are complete")
            leaving = Node(settings(nodes[0].address))
            leaving.subscribe("nasa")
            await leaving.__aenter__()
            await until(lambda: is_complete([*nodes, leaving]), "rings are complete")
            for node in nodes:
                node._voice.carrier._take = lambda _: True
            publishing = asyncio.create_task(leaving.publish("nasa", "on its way"))
            await until(lambda: len(leaving._spreading) > 0, "an event is under way")
            assert leaving._task is not None
            ending = asyncio.create_task(leaving.__aexit__())
            await until(leaving._task.done, "it waits for that")
            ending.cancel()
            with pytest.raises(asyncio.CancelledError):
                await ending
            assert leaving._voice.carrier._socket is None
            assert leaving._voice.carrier._server is not None
            assert not leaving._voice.carrier._server.is_serving()
            assert not await publishing
            assert [event async for event in leaving.events()] == []

    asyncio.run(run())
