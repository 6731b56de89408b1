"""Whoever is not one of the peers, or lies to them, does no harm, and is counted."""

import asyncio
from contextlib import suppress

import pytest

from tests.overlay.node.peers import KEY, PATIENCE_S, is_complete, overlay, say, settings, until
from tidegate.deliver.ends import Address
from tidegate.overlay.node import carrier
from tidegate.overlay.node.allowance import Allowance
from tidegate.overlay.node.carrier import DATAGRAM
from tidegate.overlay.node.channels import MOST_CONNECTIONS
from tidegate.overlay.node.correspondence import LEAST_WELCOME
from tidegate.overlay.node.directory import Directory
from tidegate.overlay.node.messages import LARGEST, Event, Kind, Letter
from tidegate.overlay.node.node import Node
from tidegate.overlay.node.profile import Profile
from tidegate.overlay.node.sealing import ANYBODY, Seal
from tidegate.overlay.poldercast.settings import Settings


def test_hostile_messages_are_dropped_and_counted_by_kind() -> None:
    async def run() -> None:
        async with overlay({"nasa"}, {"nasa"}) as nodes:
            await until(lambda: is_complete(nodes), "rings are complete")
            victim, other = nodes
            member, stranger = Seal(77, KEY), Seal(77, b"not the key of the peers")
            _, once = member.sealed(Kind.EVENT, victim.id, Event(b"i" * 16, "cats", b"").to_bytes(other.address))
            in_another_name = Letter(0, other._letters.directory.own).to_bytes()
            say(
                victim.address,
                b"",
                b"GET / HTTP/1.0\r\n\r\n" * 4,
                stranger.sealed(Kind.JOIN, victim.id, in_another_name)[1],
                member.sealed(Kind.EVENT, other.id, b"")[1],
                member.sealed(Kind.EVENT, victim.id, b"not an event")[1],
                member.sealed(Kind.OPEN, victim.id, in_another_name)[1],
                member.sealed(Kind.RECEIPT, victim.id, (7).to_bytes(8) + b"\1")[1],
                once,
                once,
            )
            wanted = dict.fromkeys(("version", "key", "receiver", "sender", "late", "topic", "again"), 1)
            wanted |= {"size": 1, "meaning": 1}
            await until(lambda: wanted.items() <= victim.counters.refused.items(), "all are counted")
            assert 77 not in (one.id for one in victim._letters.gossiping.everybody())
            assert await other.publish("nasa", "unharmed")

    asyncio.run(run())


def test_one_false_letter_does_not_cut_a_peer_out() -> None:
    async def run() -> None:
        async with overlay(*[{"nasa"}] * 3) as nodes:
            await until(lambda: is_complete(nodes), "rings are complete")
            liar, victim = Directory(77, nodes[0].address, Settings()).own, nodes[1]._letters.directory.own
            for version in ((1 << 64) - 1, victim.version + 30_000_000):
                none = Directory(victim.id, nodes[0].address, Settings()).own
                false = Profile.of(none.id, version, none.address, none.topics, none.held, none.steps)
                for node in (nodes[0], nodes[2]):
                    say(
                        node.address,
                        Seal(77, KEY).sealed(Kind.OPEN, node.id, Letter(0, liar, [(0, false)]).to_bytes())[1],
                    )
                    say(node.address, Seal(victim.id, KEY).sealed(Kind.OPEN, node.id, Letter(0, false).to_bytes())[1])
            await until(
                lambda: all(node.counters.refused["time"] for node in (nodes[0], nodes[2])), "it is not believed"
            )
            await until(lambda: is_complete(nodes), "rings are complete again")

    asyncio.run(run())


def test_connections_that_say_too_much_or_nothing_are_ended_and_counted() -> None:
    async def run() -> None:
        async with overlay({"nasa"}) as (victim,):
            for said in ((LARGEST + 1).to_bytes(4), b"\0\0", (2 * DATAGRAM).to_bytes(4) + b"half"):
                reader, writer = await asyncio.open_connection(*victim.address)
                writer.write(said)
                writer.write_eof()
                assert await reader.read() == b""
                writer.close()
            await until(lambda: victim.counters.refused == {"size": 1, "connection": 2}, "all are counted")

    asyncio.run(run())


@pytest.mark.parametrize(
    ("said", "why"), [(bytes(4), "size"), ((2 * DATAGRAM).to_bytes(4) + bytes(2 * DATAGRAM), "version")]
)
def test_a_connection_ends_with_the_first_message_that_is_none(said: bytes, why: str) -> None:
    async def run() -> None:
        async with overlay({"nasa"}) as (victim,):
            reader, writer = await asyncio.open_connection(*victim.address)
            writer.write(said * 1000)
            with suppress(ConnectionError):
                assert await reader.read() == b""
            writer.close()
            assert victim.counters.refused == {why: 1}

    asyncio.run(run())


def test_strangers_that_hold_connections_do_not_keep_peers_from_theirs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(carrier, "CONNECTION_S", 2 * PATIENCE_S)

    async def run() -> None:
        async with overlay({"nasa"}, {"nasa"}) as nodes:
            await until(lambda: is_complete(nodes), "rings are complete")
            strangers = [await asyncio.open_connection(*nodes[0].address) for _ in range(MOST_CONNECTIONS + 6)]
            await until(lambda: nodes[0].counters.refused["busy"] >= 6, "those that wait longest are ended")
            assert await nodes[1].publish("nasa", "wide news " * DATAGRAM)
            assert nodes[1].counters.silent == 0
            assert len(nodes[0]._voice.carrier._coming) <= MOST_CONNECTIONS
            for _, writer in strangers:
                writer.close()

    asyncio.run(run())


def test_who_asks_to_join_often_is_not_welcomed_as_often(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        async with overlay({"nasa"}) as (node,):
            # No time goes by between these.
            monkeypatch.setattr(node._letters, "_welcome_room", Allowance(3 * LEAST_WELCOME, lambda: 0.0))
            asking = Node(settings())
            async with asking:
                letter, seal = asking._letters.gossiping.joining().to_bytes(), Seal(asking.id, KEY)
                say(node.address, *(seal.sealed(Kind.JOIN, ANYBODY, letter)[1] for _ in range(20)))
                await until(lambda: node.counters.heard["join"] == 20, "all are heard")
            assert node.counters.sent["welcome"] == 3
            assert node.counters.refused["busy"] == 17

    asyncio.run(run())


def test_a_welcome_that_nobody_asked_for_is_not_heeded() -> None:
    async def run() -> None:
        async with overlay({"nasa"}) as (node,), Node(settings()) as other:
            welcome = other._letters.gossiping.joining().to_bytes()
            say(node.address, Seal(other.id, KEY).sealed(Kind.WELCOME, node.id, welcome)[1])
            await until(lambda: node.counters.refused == {"late": 1}, "it is counted")
            assert len(node._letters.directory) == 0

    asyncio.run(run())


def test_without_a_key_nobody_is_believed_to_be_beyond_this_machine() -> None:
    async def run() -> None:
        async with Node(settings(key=None)) as victim:
            far = Node(settings(key=None))
            async with far:
                far._letters.directory.address = Address("10.1.0.7", 9)
                far.subscribe("nasa")
                letter = far._letters.gossiping.joining().to_bytes()
                say(victim.address, Seal(far.id, None).sealed(Kind.JOIN, victim.id, letter)[1])
                await until(lambda: victim.counters.refused == {"place": 1}, "it is counted")

    asyncio.run(run())
