"""Peers find each other, at first and again, wherever they listen that others can reach."""

import asyncio
import socket
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.overlay.node.peers import KEY, is_complete, overlay, read, settings, until
from tests.serve.process import free_port
from tidegate.deliver.ends import Address
from tidegate.errors import ConfigError
from tidegate.overlay.node import correspondence
from tidegate.overlay.node.messages import Kind
from tidegate.overlay.node.node import Node
from tidegate.overlay.node.settings import NodeSettings


def test_who_comes_before_the_peer_it_joins_by_asks_until_that_is_there() -> None:
    async def run() -> None:
        place = Address("127.0.0.1", free_port())
        async with Node(settings(place)) as early:
            await until(lambda: early.counters.sent["join"] > 2, "it asks")
            async with Node(replace(settings(), listen=place)) as late:
                await until(lambda: len(early._letters.directory) == len(late._letters.directory) == 1, "they meet")

    asyncio.run(run())


def test_parts_of_a_network_that_was_cut_find_each_other_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(correspondence, "_ASK_AGAIN", 10)

    def cut(node: Node, off: list[Node]) -> Callable[[], None]:
        """Let a peer hear nothing of some others; return what ends that."""
        take, far = node._voice.carrier._take, {one.id.to_bytes(8) for one in off}
        node._voice.carrier._take = lambda message: message[4:12] in far or take(message)
        return lambda: setattr(node._voice.carrier, "_take", take)

    def knows(node: Node, others: list[Node]) -> bool:
        return not {one.id for one in node._letters.gossiping.everybody()}.isdisjoint(one.id for one in others)

    async def run() -> None:
        async with overlay(*[{"nasa"}] * 4) as nodes:
            await until(lambda: is_complete(nodes), "rings are complete")
            here, there = nodes[:2], nodes[2:]
            mends = [cut(node, there) for node in here] + [cut(node, here) for node in there]
            parts = [*((node, there) for node in here), *((node, here) for node in there)]
            await until(lambda: not any(knows(*part) for part in parts), "the parts have forgotten each other")
            for mend in mends:
                mend()
            await until(lambda: is_complete(nodes), "they are one ring again")

    asyncio.run(run())


@pytest.mark.parametrize("which", [0, 1], ids=["joined by", "joins"])
def test_a_peer_whose_clock_was_ahead_is_heard_again_once_it_is_put_right(which: int) -> None:
    async def run() -> None:
        async with overlay(*[{"nasa"}] * 3) as nodes:
            await until(lambda: is_complete(nodes), "rings are complete")
            early, other = nodes[which], nodes[2]
            before = early.id
            early._voice.seal._clock = lambda: time.time() + 7200
            # It may wait for answers that it does not heed, forget everybody, and say nothing more by itself.
            early._voice.say(Kind.LEAVE, other.id, other.address, b"")
            await until(lambda: other.counters.refused["time"] > 0, "what it says is of another time")
            early._voice.seal._clock = time.time
            await until(lambda: early.id != before and is_complete(nodes), "it is one of them again")
            assert await early.publish("nasa", "back")
            assert await read(other, 1) == ["nasa: back"]

    asyncio.run(run())


def test_peers_with_another_key_do_not_meet() -> None:
    async def run() -> None:
        async with Node(settings()) as node, Node(settings(node.address, key=b"another key of peers")) as other:
            await until(lambda: node.counters.refused["key"] > 3, "it knocks")
            assert len(node._letters.directory) == len(other._letters.directory) == 0

    asyncio.run(run())


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"listen": Address("10.1.0.7", 1)}, "needs a key: give --key-file"),
        ({"join": (Address("example.org", 1),)}, "needs a key: give --key-file"),
        ({"listen": Address("0.0.0.0", 1), "key": KEY}, "say by --advertise"),
        ({"listen": Address("10.1.0.7", 1), "key": b""}, "a key of 0 bytes: 16 at least"),
        ({"key": KEY[:15]}, "a key of 15 bytes"),
        ({"fan_out": 1}, "a fan-out of 1"),
        ({"patience_s": 0}, "all are above 0"),
        ({"period_s": 0.009}, "a period of 0.009 s: give 0.01 or more"),
    ],
)
def test_settings_that_would_do_harm_are_refused(wrong: dict[str, object], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        NodeSettings(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"listen": Address("0", 0), "key": KEY}, "say by --advertise"),
        ({"listen": Address("127.0.0.1", 0), "advertise": Address("0", 1), "key": KEY}, "say by --advertise"),
        ({"join": (Address("::1", 1),)}, "no IPv4 address"),
        ({"listen": Address("::1", 0), "join": (Address("127.0.0.1", 1),)}, "no IPv6 address"),
        (
            {"listen": Address("::", 0), "advertise": Address("127.0.0.1", 1), "key": KEY},
            "no IPv6 address",
        ),
        ({"join": (Address("10.1.0.7", 1),), "key": KEY}, "only this machine can be reached: give --listen"),
        ({"advertise": Address("0.0.0.0", 1), "key": KEY}, "say by --advertise"),
    ],
)
def test_addresses_that_cannot_be_reached_from_where_a_peer_listens_are_refused(
    wrong: dict[str, object], said: str
) -> None:
    async def run() -> None:
        with pytest.raises(ConfigError, match=said):
            async with Node(NodeSettings(**wrong)):  # type: ignore[arg-type]
                pass

    asyncio.run(run())


@pytest.mark.skipif(not socket.has_ipv6, reason="this machine has no IPv6")
def test_a_name_with_addresses_of_both_kinds_is_taken_as_the_peer_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    look_up = socket.getaddrinfo

    def both(host: str, port: int, family: int = 0, *more: int, **named: int) -> list[tuple[object, ...]]:
        """As a machine says on which `localhost` is ::1 as well, and that first."""
        hosts = ("::1", "127.0.0.1") if host == "localhost" else (host,)
        families = {"::1": socket.AF_INET6, "127.0.0.1": socket.AF_INET}
        wanted = [one for one in hosts if family in (0, families.get(one, family))]
        return [found for one in wanted for found in look_up(one, port, family, *more, **named)]

    async def run() -> None:
        async with Node(settings()) as first:
            monkeypatch.setattr(socket, "getaddrinfo", both)
            async with Node(settings(Address("localhost", first.address.port))) as node:
                await until(lambda: len(first._letters.directory) == len(node._letters.directory) == 1, "they meet")
                assert node.counters.unsent == {}

    asyncio.run(run())


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch) -> Address:
    """A host that nobody has heard of; nobody is asked for it."""
    look_up, gone = socket.getaddrinfo, Address("nowhere.invalid", 1)

    def without(host: str, *more: Any, **named: Any) -> Any:
        if host == gone.host:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return look_up(host, *more, **named)

    monkeypatch.setattr(socket, "getaddrinfo", without)
    return gone


def test_of_peers_to_join_by_one_that_is_there_is_enough(caplog: pytest.LogCaptureFixture, nowhere: Address) -> None:
    async def run() -> None:
        async with Node(settings()) as first, Node(settings(nowhere, first.address)) as node:
            await until(lambda: len(first._letters.directory) == len(node._letters.directory) == 1, "they meet")
        assert "a peer to join by is left out: nowhere.invalid:1: there is no such host" in caplog.text

    asyncio.run(run())


def test_a_place_that_is_taken_and_a_host_that_is_not_there_are_named(nowhere: Address) -> None:
    async def run() -> None:
        async with Node() as node:
            with pytest.raises(ConfigError, match="no peer can listen here"):
                await Node(NodeSettings(listen=node.address)).__aenter__()
        with pytest.raises(ConfigError, match="there is no such host"):
            await Node(NodeSettings(join=(nowhere,), key=KEY)).__aenter__()

    asyncio.run(run())
