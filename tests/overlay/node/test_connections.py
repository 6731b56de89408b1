"""What is too large for a datagram goes by connections: however many places there are, and whoever ends them."""

import asyncio
import socket
from collections.abc import Iterator
from itertools import pairwise

import pytest

from tests.overlay.node.peers import until
from tidegate.deliver.ends import Address
from tidegate.overlay.node import channels
from tidegate.overlay.node.carrier import DATAGRAM, Carrier
from tidegate.overlay.node.counters import Counters

HERE = Address("127.0.0.1", 0)
MESSAGE = b"L" * 2 * DATAGRAM


def heard_by(heard: list[bytes]) -> Carrier:
    def take(message: bytes) -> bool:
        heard.append(message)
        return True

    return Carrier(take, Counters())


def framed(message: bytes) -> bytes:
    return len(message).to_bytes(4) + message


def test_connections_that_are_idle_make_room_for_other_places(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channels, "MOST_CONNECTIONS", 3)
    monkeypatch.setattr(channels, "_IDLE_S", 60.0)

    async def run() -> None:
        heard: list[bytes] = []
        others, counters = [heard_by(heard) for _ in range(12)], Counters()
        places = [await other.open(HERE) for other in others]
        mouth = Carrier(lambda _: True, counters)
        await mouth.open(HERE)
        for number, place in enumerate([*places, *places], 1):
            assert mouth.send(MESSAGE, place)
            await until(lambda number=number: len(heard) == number, "it is heard")  # type: ignore[misc]
            await asyncio.sleep(0.01)
            assert len(mouth._channels) <= 3
        assert not counters.unsent
        for one in (mouth, *others):
            await one.close()

    asyncio.run(run())


def test_connections_that_are_busy_do_not_and_that_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channels, "MOST_CONNECTIONS", 3)

    async def run() -> None:
        counters = Counters()
        mouth = Carrier(lambda _: True, counters)
        await mouth.open(HERE)
        # Nothing was said yet: the loop has not gone on.
        sent = [mouth.send(MESSAGE, Address("127.0.0.1", port)) for port in range(1, 6)]
        assert sent == [True] * 3 + [False] * 2
        assert counters.unsent == {"connection": 2}
        await mouth.close(0)

    asyncio.run(run())


def test_what_is_for_a_place_that_has_ended_a_connection_goes_by_another() -> None:
    async def run() -> None:
        heard = []

        async def once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            size = int.from_bytes(await reader.readexactly(4))
            heard.append(await reader.readexactly(size))
            writer.close()

        server = await asyncio.start_server(once, *HERE)
        place, counters = Address(*server.sockets[0].getsockname()[:2]), Counters()
        mouth = Carrier(lambda _: True, counters)
        await mouth.open(HERE)
        for number in range(1, 5):
            assert mouth.send(MESSAGE, place)
            await until(lambda number=number: len(heard) == number, "it is heard")  # type: ignore[misc]
            await asyncio.sleep(0.05)
        assert not counters.unsent
        await mouth.close()
        server.close()

    asyncio.run(run())


def test_a_message_to_a_place_where_nobody_is_counts_once() -> None:
    async def run() -> None:
        with socket.socket() as nobody:
            nobody.bind(HERE)
            counters = Counters()
            mouth = Carrier(lambda _: True, counters)
            await mouth.open(HERE)
            mouth.send(MESSAGE, Address(*nobody.getsockname()))
            await until(lambda: not len(mouth._channels), "it is given up")
            assert counters.unsent == {"connection": 1}
            await mouth.close()

    asyncio.run(run())


@pytest.mark.parametrize("steps", range(10))
def test_what_comes_by_a_connection_that_was_accepted_last_is_not_heard_after_the_end(steps: int) -> None:
    async def run() -> None:
        heard: list[bytes] = []
        carrier = heard_by(heard)
        place = await carrier.open(HERE)
        with socket.create_connection(place) as stranger:
            stranger.sendall(framed(MESSAGE))
            for _ in range(steps):
                await asyncio.sleep(0)
            await carrier.close()
            before = len(heard)
            await until(lambda: len(asyncio.all_tasks()) == 1, "nothing is left open")
            assert len(heard) == before

    asyncio.run(run())


def test_others_have_their_turn_between_messages_of_a_connection() -> None:
    async def run() -> None:
        turns = iter(range(1_000_000))
        heard_at: list[int] = []

        def take(_: bytes) -> bool:
            heard_at.append(next(turns))
            return True

        async def work(turns: Iterator[int]) -> None:
            while True:
                next(turns)
                await asyncio.sleep(0)

        carrier = Carrier(take, Counters())
        _, writer = await asyncio.open_connection(*await carrier.open(HERE))
        working = asyncio.create_task(work(turns))
        writer.write(framed(MESSAGE) * 20)
        await until(lambda: len(heard_at) == 20, "all are heard")
        assert all(later - earlier > 1 for earlier, later in pairwise(heard_at))
        working.cancel()
        writer.close()
        await carrier.close()

    asyncio.run(run())


@pytest.fixture
def deaf() -> Iterator[Address]:
    """A place that takes connections, and next to nothing of what is said by them."""
    with socket.socket() as place:
        place.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        place.bind(HERE)
        place.listen(64)
        yield Address(*place.getsockname())


async def filled(mouth: Carrier, place: Address) -> int:
    """Send as much as there is room for; return how many messages that were."""
    many = 0
    while mouth.send(b"L" * (1 << 18), place):
        many += 1
        await asyncio.sleep(0.01)
    return many


def test_the_end_waits_no_longer_than_it_is_told_for_a_place_that_takes_nothing(deaf: Address) -> None:
    async def run() -> None:
        counters = Counters()
        mouth = Carrier(lambda _: True, counters)
        await mouth.open(HERE)
        many = await filled(mouth, deaf)
        before = counters.unsent["connection"]
        async with asyncio.timeout(channels.CONNECTION_S / 2):
            await mouth.close(0)
        assert len(asyncio.all_tasks()) == 1
        # What it took, and what waits in the system, is not known to be lost.
        assert 4 <= counters.unsent["connection"] - before <= many

    asyncio.run(run())


def test_nothing_stays_open_to_a_place_that_takes_nothing(deaf: Address, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channels, "CONNECTION_S", 1.0)
    connect, writers = asyncio.open_connection, list[asyncio.StreamWriter]()

    async def noted(*to: object) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await connect(*to)  # type: ignore[arg-type]
        writers.append(writer)
        # So the first message does not leave this machine whole, however busy it is.
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        return reader, writer

    monkeypatch.setattr(asyncio, "open_connection", noted)

    async def run() -> None:
        mouth = Carrier(lambda _: True, Counters())
        await mouth.open(HERE)
        for _ in range(2):
            assert mouth.send(b"L" * (1 << 18), deaf)
            await until(lambda: not len(mouth._channels), "it is given up")
        assert writers
        await until(lambda: all(writer.get_extra_info("socket").fileno() == -1 for writer in writers), "all are closed")
        await mouth.close()

    asyncio.run(run())
