"""Peers on loopback: events reach who follows, once; who leaves or is not one of them does no harm."""

import asyncio
import random
import socket
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.overlay.node.peers import KEY, PATIENCE_S, is_complete, overlay, say, settings, until
from tests.serve.process import free_port
from tidegate.deliver.ends import Address
from tidegate.deliver.seal import MAC_BYTES
from tidegate.errors import ConfigError
from tidegate.overlay.node import carrier, correspondence, interests, spreading, unread
from tidegate.overlay.node import node as nodes_module
from tidegate.overlay.node.allowance import Allowance
from tidegate.overlay.node.carrier import DATAGRAM, Carrier
from tidegate.overlay.node.counters import Counters
from tidegate.overlay.node.directory import Directory
from tidegate.overlay.node.messages import LARGEST, LARGEST_EVENT, Event, Kind, Letter, Taken
from tidegate.overlay.node.node import Node
from tidegate.overlay.node.profile import Profile
from tidegate.overlay.node.sealing import ANYBODY, Seal
from tidegate.overlay.node.settings import NodeSettings
from tidegate.overlay.poldercast.settings import Settings


async def read(node: Node, many: int) -> list[str]:
    """The texts of the next events of a peer, topic by topic."""
    await until(lambda: node.counters.delivered >= many, f"{many} events come to a peer")
    texts = []
    async for event in node.events():
        texts.append(f"{event.topic}: {event.text}")
        if len(texts) == many:
            break
    return sorted(texts)


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
                    node._voice.carrier._take = lambda _: None
                publishing = asyncio.create_task(leaving.publish("nasa", "last words"))
                await asyncio.sleep(0)
                for node, take in zip(nodes, ears, strict=True):
                    asyncio.get_running_loop().call_later(0.2, setattr, node._voice.carrier, "_take", take)
            assert await publishing
            for node in nodes:
                assert await read(node, 1) == ["nasa: last words"]
            assert [event async for event in leaving.events()] == [event async for event in leaving.events()] == []

    asyncio.run(run())


def test_whoever_does_not_acknowledge_is_stood_in_for(monkeypatch: pytest.MonkeyPatch) -> None:
    # What is under way to the deaf is not waited for at the end.
    monkeypatch.setattr(nodes_module, "_LONGEST_FAREWELL_S", 0.0)

    async def run() -> None:
        async with overlay(*[{"nasa"}] * 6) as nodes:
            await until(lambda: is_complete(nodes), "rings are complete")
            ring = sorted(nodes, key=lambda node: node.id)
            # Of a sudden both neighbours are deaf, and nobody has noticed when the event goes out.
            for deaf in (ring[1], ring[5]):
                deaf._voice.carrier._take = lambda _: None
            assert await ring[0].publish("nasa", "storm")
            await until(lambda: [node.counters.delivered for node in ring[2:5]] == [1, 1, 1], "all others have it")

    asyncio.run(run())


def test_where_a_third_of_all_events_and_receipts_is_lost_everybody_is_told_once_all_the_same() -> None:
    draw, lost = random.Random(3), Counter[tuple[int, bytes]]()

    def deafened(node: Node) -> None:
        take, text = node._voice.carrier._take, slice(-MAC_BYTES - 1, -MAC_BYTES)

        def hear(message: bytes) -> None:
            # Of an event, the first three copies may be lost, and so the fourth comes whatever is drawn.
            copies = node.id, message[4:12] + message[text]
            if message[3] in (Kind.EVENT, Kind.RECEIPT) and draw.random() < 1 / 3 and lost[copies] < 3:
                lost[copies] += message[3] == Kind.EVENT
            else:
                take(message)

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
        node._voice.carrier._take = lambda message: None if message[4:12] in far else take(message)
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
            others = [node for node in nodes if node is not early]
            await until(
                lambda: any(node.counters.refused["time"] for node in others), "what it says is of another time"
            )
            early._voice.seal._clock = time.time
            await until(lambda: early.id != before and is_complete(nodes), "it is one of them again")
            assert await early.publish("nasa", "back")
            assert await read(other, 1) == ["nasa: back"]

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
            for said in ((LARGEST + 1).to_bytes(4), b"\0\0", (100).to_bytes(4) + b"half"):
                reader, writer = await asyncio.open_connection(*victim.address)
                writer.write(said)
                writer.write_eof()
                assert await reader.read() == b""
                writer.close()
            await until(lambda: victim.counters.refused == {"size": 1, "connection": 2}, "all are counted")

    asyncio.run(run())


def test_strangers_that_hold_connections_do_not_keep_peers_from_theirs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(carrier, "_CONNECTION_S", 2 * PATIENCE_S)

    async def run() -> None:
        async with overlay({"nasa"}, {"nasa"}) as nodes:
            await until(lambda: is_complete(nodes), "rings are complete")
            strangers = [await asyncio.open_connection(*nodes[0].address) for _ in range(carrier._MOST_CONNECTIONS + 6)]
            await until(lambda: nodes[0].counters.refused["busy"] >= 6, "those that wait longest are ended")
            assert await nodes[1].publish("nasa", "wide news " * DATAGRAM)
            assert nodes[1].counters.silent == 0
            assert len(nodes[0]._voice.carrier._coming) <= carrier._MOST_CONNECTIONS
            for _, writer in strangers:
                writer.close()

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

            def answer(message: bytes) -> None:
                heard.append(message)
                ending.send(message, there)

            ending = Carrier(answer, Counters())
            place = await ending.open(Address("127.0.0.1", 0))
            _, writer = await asyncio.open_connection(*place)
            message = b"L" * 2 * DATAGRAM
            writer.write(len(message).to_bytes(4) + message)
            await until(lambda: len(heard) == 1, "it answers")
            assert ending._channels
            closing = asyncio.create_task(ending.close())
            await asyncio.sleep(0)
            writer.write(len(message).to_bytes(4) + message)
            await closing
            assert len(heard) == 1
            assert not ending.send(message, there)
            assert not ending._going
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
                node._voice.carrier._take = lambda _: None
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


def test_who_asks_to_join_often_is_not_welcomed_as_often(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        async with overlay({"nasa"}) as (node,):
            size = len(Letter(0, node._letters.directory.own).to_bytes())
            # No time goes by between these.
            monkeypatch.setattr(node._letters, "_welcome_room", Allowance(3 * size, lambda: 0.0))
            asking = Node(settings())
            async with asking:
                letter, seal = asking._letters.gossiping.joining().to_bytes(), Seal(asking.id, KEY)
                say(node.address, *(seal.sealed(Kind.JOIN, ANYBODY, letter)[1] for _ in range(20)))
                await until(lambda: node.counters.heard["join"] == 20, "all are heard")
            assert 0 < node.counters.sent["welcome"] <= 3
            assert node.counters.refused["busy"] == 20 - node.counters.sent["welcome"]

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
        ({"period_s": 0}, "all are above 0"),
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
