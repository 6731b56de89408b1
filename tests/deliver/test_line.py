"""Who has not got the key is not listened to, cannot cut a link that is up, and is counted."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.deliver.far_site import BROKERS
from tests.deliver.test_link import follows, until
from tidegate.deliver.event import Event
from tidegate.deliver.frames import frame, read_frame
from tidegate.deliver.line import Line, opened
from tidegate.deliver.link import Link, keep_dialling, listening
from tidegate.deliver.seal import MAC_BYTES, Seal
from tidegate.deliver.site import Aggregator, Site

KEY = b"a key that two sites share"


@asynccontextmanager
async def calling(link: Link, port: int) -> AsyncIterator[None]:
    task = asyncio.create_task(keep_dialling(link, "127.0.0.1", port, lambda: 0.0))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await link.hang_up()


async def stranger(port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_connection("127.0.0.1", port)


async def keyed(port: int) -> Line:
    """The far end, by hand."""
    line = await opened(*await stranger(port), KEY, calls=True)
    await line.say([b'["hello","far",["A","B","C"]]'])
    assert (await line.hear())[0] == "hello"
    return line


def test_two_sites_with_one_key_hear_each_other() -> None:
    async def scene() -> None:
        near, other = Link(Site("near", BROKERS), KEY), Link(Site("other", BROKERS), KEY)
        heard: list[int] = []
        Aggregator(other.site).join(lambda event: heard.append(event.at), "t")
        async with listening(near) as port, calling(other, port):
            await until(lambda: follows(near, "t"), "the other site asks for t")
            for number in range(100):
                near.site.publish(Event("t", "match", number))
            await until(lambda: heard == list(range(100)), "all is heard")
        assert (near.traffic.refused, other.traffic.refused) == (0, 0)

    asyncio.run(scene())


@pytest.mark.parametrize("key", [None, b"another key that is as long"])
def test_sites_whose_keys_differ_do_not_hear_each_other(key: bytes | None) -> None:
    async def scene() -> None:
        near, other = Link(Site("near", BROKERS), KEY), Link(Site("other", BROKERS), key)
        Aggregator(other.site).join(lambda _: None, "t")
        async with listening(near) as port, calling(other, port):
            await until(lambda: min(near.traffic.refused, other.traffic.refused) >= 2, "both have tried again")
            assert not follows(near, "t")
        assert (near.is_up, other.is_up, near.traffic.connections) == (False, False, 0)

    asyncio.run(scene())


@pytest.mark.parametrize(
    "said",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"\x00\x00\x00\xc9" + b"x" * 201,
        frame(["hello", "far", list(BROKERS)]),
        frame(["challenge", "zz" * 32]),
        frame(["challenge", "00" * 31]),
        frame(["challenge", "00" * 32]) + frame(["hello", "far", list(BROKERS)]) + bytes(MAC_BYTES),
        frame(["challenge", "00" * 32]) + frame(["proof"], Seal(KEY, b"0" * 32, b"0" * 32)),
    ],
)
def test_a_stranger_is_hung_up_on_and_cuts_no_link(said: bytes) -> None:
    async def scene() -> None:
        link = Link(Site("near", BROKERS), KEY, beat_s=30)
        async with listening(link) as port:
            line = await keyed(port)
            await until(lambda: link.is_up, "the link is up")
            reader, writer = await stranger(port)
            writer.write(said)
            async with asyncio.timeout(30):
                while await reader.read(1000):
                    pass
            writer.close()
            assert (link.is_up, link.traffic.refused, link.traffic.connections) == (True, 1, 1)
            line.writer.close()

    asyncio.run(scene())


def test_who_says_back_what_it_hears_is_no_twin() -> None:
    async def scene() -> None:
        link = Link(Site("near", BROKERS), KEY, beat_s=30)
        async with listening(link) as port:
            reader, writer = await stranger(port)
            async with asyncio.timeout(30):
                while heard := await reader.read(1000):
                    writer.write(heard)
            writer.close()
            assert (link.traffic.refused, link.has_connection) == (1, False)

    asyncio.run(scene())


def test_who_carries_the_proof_of_one_connection_to_another_cuts_no_link() -> None:
    async def scene() -> None:
        link = Link(Site("near", BROKERS), KEY, beat_s=30)
        async with listening(link) as port:
            line = await keyed(port)
            await until(lambda: link.is_up, "the link is up")
            ends = [await stranger(port) for _ in range(2)]
            async with asyncio.timeout(30):
                await asyncio.gather(carry(ends[0][0], ends[1][1]), carry(ends[1][0], ends[0][1]))
            assert (link.is_up, link.traffic.refused, link.traffic.connections) == (True, 2, 1)
            line.writer.close()

    async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Say at one end what is heard at the other, until that is hung up."""
        while heard := await reader.read(1000):
            writer.write(heard)
        writer.close()

    asyncio.run(scene())


def test_who_says_nothing_is_not_waited_for_and_leaves_room_for_few() -> None:
    async def scene() -> None:
        link = Link(Site("near", BROKERS), KEY, beat_s=30)
        async with listening(link) as port:
            silent = [await stranger(port) for _ in range(16)]
            for reader, _ in silent:
                assert (await read_frame(reader))[0] == "challenge"
            late, writer = await stranger(port)
            async with asyncio.timeout(30):
                assert await late.read() == b""
            assert link.traffic.refused == 1
            silent[0][1].close()
            await until(lambda: link.traffic.refused == 2, "one has gone")
            (await keyed(port)).writer.close()
            for _, each in (*silent, (late, writer)):
                each.close()
        impatient = Link(Site("near", BROKERS), KEY, beat_s=0.02)
        async with listening(impatient) as port:
            _, writer = await stranger(port)
            await until(lambda: impatient.traffic.refused == 1, "its time is over")
            writer.close()

    asyncio.run(scene())


@pytest.mark.parametrize("how", ["altered", "again", "out of order", "unsealed"])
def test_a_message_that_was_tampered_with_ends_the_link(how: str) -> None:
    async def scene() -> None:
        link = Link(Site("near", BROKERS), KEY, beat_s=30)
        async with listening(link) as port:
            line = await keyed(port)
            await until(lambda: link.is_up, "the link is up")
            follow, beat = (frame(message, line.ours) for message in (["follow", "A", "t"], ["beat"]))
            line.writer.writelines(
                {
                    "altered": [follow.replace(b'"t"', b'"u"')],
                    "again": [follow, follow],
                    "out of order": [beat, follow],
                    "unsealed": [frame(["follow", "A", "t"]), bytes(MAC_BYTES)],
                }[how]
            )
            await until(lambda: not link.has_connection, "it is ended")
            assert link.traffic.refused == 1
            line.writer.close()

    asyncio.run(scene())


def test_an_event_that_is_none_is_dropped_and_counted_and_the_next_one_heard() -> None:
    async def scene() -> None:
        link = Link(Site("near", BROKERS), beat_s=30)
        heard: list[int] = []
        Aggregator(link.site).join(lambda event: heard.append(event.at), "t")
        broker = link.site.broker("t").name
        async with listening(link) as port:
            _, writer = await stranger(port)
            writer.write(frame(["hello", "far", list(BROKERS)]))
            for event in ({"topic": 5}, "x", {}, {"topic": "t", "topic_type": "match", "at": 1, "post": []}):
                writer.write(frame(["event", broker, event]))
            for topic in ("x" * 1001, "€" * 400, "a\0b"):
                writer.write(frame(["event", broker, Event(topic, "presence", 1).to_json()]))
            writer.write(frame(["follow", broker, "x" * 1001]))
            writer.write(frame(["event", broker, Event("t", "match", 7).to_json()]))
            await until(lambda: heard == [7], "it is heard")
            assert link.traffic.refused == 8
            assert link.site.news() == []
            assert not follows(link, "x" * 1001)
            writer.close()

    asyncio.run(scene())


def test_a_site_wants_no_more_topics_than_any_would(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidegate.deliver.broker.MOST_FOLLOWED", 2)
    site = Site("near", ["A"])
    link = Link(site)
    site.connect(link)
    assert [site.brokers["A"].twin_follows(link, topic) for topic in "ababc"] == [True, True, True, True, False]


def test_a_seal_is_of_one_direction_one_connection_and_one_place() -> None:
    ours = Seal(KEY, b"1", b"2")
    first, second = ours.mac(b"x"), ours.mac(b"x")
    assert first != second
    assert Seal(KEY, b"1", b"2").is_genuine(first, b"x")
    for other in (Seal(KEY, b"2", b"1"), Seal(KEY, b"1", b"3"), Seal(b"another key", b"1", b"2")):
        assert not other.is_genuine(first, b"x")
    assert not Seal(KEY, b"1", b"2").is_genuine(first, b"y")
