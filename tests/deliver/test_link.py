"""Two sites on loopback, one of them a process of its own: an event crosses the link once, and only if it is wanted."""

import asyncio
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from tests.deliver import far_site
from tests.deliver.far_site import BROKERS
from tidegate.deliver.event import Event
from tidegate.deliver.frames import LARGEST, FrameError, frame, read_frame
from tidegate.deliver.link import Link, keep_dialling, listening
from tidegate.deliver.site import Aggregator, Site


class Far:
    """The other site's process, as one speaks with it."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.got: list[tuple[str, str, int]] = []
        self._done = asyncio.Queue[None]()
        self._reading = asyncio.create_task(self._read())

    async def tell(self, *lines: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("".join(f"{line}\n" for line in lines).encode())
        for _ in lines:
            await asyncio.wait_for(self._done.get(), 30)

    async def _read(self) -> None:
        assert self.process.stdout is not None
        while line := (await self.process.stdout.readline()).decode().split():
            if line[0] == "done":
                self._done.put_nowait(None)
            else:
                self.got.append((line[1], line[2], int(line[3])))

    async def kill(self) -> None:
        self.process.kill()
        await self.process.wait()
        await self._reading


@asynccontextmanager
async def far(port: int) -> AsyncIterator[Far]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, far_site.__file__, str(port), stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    other = Far(process)
    try:
        yield other
    finally:
        if process.returncode is None:
            await other.kill()


async def until(holds: Callable[[], bool], what: str) -> None:
    try:
        async with asyncio.timeout(30):
            while not holds():
                await asyncio.sleep(0.01)
    except TimeoutError:
        pytest.fail(f"not within 30 s: {what}")


def follows(link: Link, topic: str) -> bool:
    return topic in link.site.broker(topic)._afar.get(link, ())


def test_an_event_crosses_the_link_once_however_many_want_it_there() -> None:
    async def scene() -> None:
        near = Site("near", BROKERS)
        link = Link(near, beat_s=30)
        async with listening(link) as port, far(port) as other:
            names = ["a" * (1 + number % 2) + str(number) for number in range(40)]
            await other.tell(*(f"join {name} t{topic}" for name in names for topic in range(5)))
            await until(lambda: all(follows(link, f"t{topic}") for topic in range(5)), "the far site asks for topics")
            for number in range(200):
                near.publish(Event(f"t{number % 10}", "match", number))
            await until(lambda: len(other.got) == 40 * 100, "everybody has heard all")
            counted = Counter(other.got)
            wanted = {(name, f"t{n % 10}", n) for name in names for n in range(200) if n % 10 < 5}
            assert counted.keys() == wanted
            assert set(counted.values()) == {1}
            assert link.traffic.events == 100, "forty clients want it, one copy crosses; what nobody wants does not"
            assert link.traffic.frames == 101, "and a greeting"
            assert link.traffic.dropped == 0

    asyncio.run(scene())


def test_the_last_to_leave_withdraws_the_topic_at_the_other_site() -> None:
    async def scene() -> None:
        near = Site("near", BROKERS)
        link = Link(near, beat_s=30)
        async with listening(link) as port, far(port) as other:
            await other.tell("join a t", "join bb t")
            await until(lambda: follows(link, "t"), "the far site asks for t")
            await other.tell("leave a t")
            near.publish(Event("t", "match", 1))
            await until(lambda: other.got == [("bb", "t", 1)], "who stayed has heard")
            await other.tell("leave bb t")
            await until(lambda: not follows(link, "t"), "the far site does so no longer")
            near.publish(Event("t", "match", 2))
            assert link.traffic.events == 1

    asyncio.run(scene())


def test_both_sites_publish_and_nothing_comes_back() -> None:
    async def scene() -> None:
        near = Site("near", BROKERS)
        link = Link(near, beat_s=30)
        heard: list[int] = []
        Aggregator(near).join(lambda event: heard.append(event.at), "t")
        async with listening(link) as port, far(port) as other:
            await other.tell("join a t")
            await until(lambda: follows(link, "t"), "the far site asks for t")
            near.publish(Event("t", "match", 1))
            await until(lambda: other.got == [("a", "t", 1)], "the far site has heard")
            await until(lambda: link.is_up, "the greeting")
            await other.tell("publish t match 2")
            await until(lambda: heard == [1, 2], "the near site has heard")
            await until(lambda: other.got == [("a", "t", 1), ("a", "t", 2)], "and the far site its own")
            assert link.traffic.events == 1

    asyncio.run(scene())


def test_presence_is_the_last_event_at_both_sites() -> None:
    async def scene() -> None:
        near = Site("near", BROKERS)
        link = Link(near, beat_s=30)
        for number in range(50):
            near.publish(Event("p", "presence", number))
        async with listening(link) as port, far(port) as other:
            await other.tell("join a p")
            await until(lambda: other.got == [("a", "p", 49)], "the newcomer sees the last one")
            await other.tell("join bb p")
            await until(lambda: other.got == [("a", "p", 49), ("bb", "p", 49)], "the second one too")
            assert link.traffic.events == 1, "and it has not crossed again for it"

    asyncio.run(scene())


def test_a_site_that_is_killed_and_comes_back_is_told_anew() -> None:
    async def scene() -> None:
        near = Site("near", BROKERS)
        link = Link(near, beat_s=0.5)
        async with listening(link) as port:
            async with far(port) as other:
                await other.tell("join a t")
                await until(lambda: follows(link, "t"), "the far site asks for t")
                await other.kill()
            await until(lambda: not link.is_up, "the link is down")
            near.publish(Event("t", "match", 1))
            near.publish(Event("p", "presence", 1))
            async with far(port) as other:
                await other.tell("join a t", "join a p")
                await until(lambda: other.got == [("a", "p", 1)], "presence is caught up with, other topics are not")
                near.publish(Event("t", "match", 2))
                await until(lambda: other.got[1:] == [("a", "t", 2)], "the link is as before")
            assert link.traffic.connections == 2

    asyncio.run(scene())


def test_a_link_that_is_cut_is_dialled_again_and_nothing_arrives_twice() -> None:
    async def scene() -> None:
        near, other = Site("near", BROKERS), Site("other", BROKERS)
        ends = Link(near), Link(other)
        heard: list[int] = []
        Aggregator(other).join(lambda event: heard.append(event.at), "t")
        async with listening(ends[0]) as port:
            dialling = asyncio.create_task(keep_dialling(ends[1], "127.0.0.1", port, lambda: 0.0))
            for number in range(5):
                await until(lambda: follows(ends[0], "t"), "the other site asks for t")
                near.publish(Event("t", "match", number))
                await until(lambda number=number: number in heard, "it is heard")  # type: ignore[misc]
                await ends[number % 2].hang_up()
                assert not ends[number % 2].is_up
                await until(lambda: not ends[0].is_up and not ends[1].is_up, "both know")
                near.publish(Event("t", "match", 100 + number))
            dialling.cancel()
        assert heard == list(range(5))

    asyncio.run(scene())


def test_of_several_connections_at_once_one_stays() -> None:
    async def scene() -> None:
        link = Link(Site("near", BROKERS), beat_s=30)
        async with listening(link) as port:
            lines = await asyncio.gather(*(asyncio.open_connection("127.0.0.1", port) for _ in range(5)))
            ended = [asyncio.create_task(reader.read()) for reader, _ in lines]
            await until(lambda: sum(task.done() for task in ended) == 4, "all but one were ended")
            assert link.has_connection
            assert sum(len(broker._afar) for broker in link.site.brokers.values()) == len(BROKERS)
        await asyncio.gather(*ended)
        for _, writer in lines:
            writer.close()

    asyncio.run(scene())


def test_a_line_that_says_nothing_is_given_up() -> None:
    async def scene() -> None:
        link = Link(Site("near", BROKERS), beat_s=0.1)
        async with listening(link) as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(frame(["hello", "far", list(BROKERS)]))
            await until(lambda: link.is_up, "the greeting")
            await until(lambda: not link.is_up, "the silence is noticed")
            assert await read_frame(reader) == ["hello", "near", list(BROKERS)]
            beats = (await reader.read()).count(frame(["beat"]))
            assert 1 <= beats <= 4, "one in each tenth of a second, until three were not answered"
            writer.close()

    asyncio.run(scene())


@pytest.mark.parametrize(
    "said",
    [
        frame(["hello", "far", ["A", "B"]]),
        frame(["hello", "near", list(BROKERS)]),
        frame(["follow", "A", "t"]),
        frame(["hello", "far", list(BROKERS)]) + frame(["follow", "Z", "t"]),
        frame(["challenge", "00" * 32]),
        frame(["hello", "far", list(BROKERS)]) + frame(["dance"]),
        frame(["hello", "far", list(BROKERS)]) + b"\x00\x00\x00\x03{}}",
        b"GET / HTTP/1.1\r\n\r\n",
    ],
)
def test_who_is_no_twin_is_hung_up_on(said: bytes) -> None:
    async def scene() -> None:
        link = Link(Site("near", BROKERS), beat_s=30)
        async with listening(link) as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(said)
            async with asyncio.timeout(30):
                assert (await read_frame(reader))[0] == "hello"
                assert await reader.read() == b""
            await until(lambda: not link.has_connection, "it is over")
            assert (link.is_up, link.traffic.refused) == (False, 1)
            writer.close()

    asyncio.run(scene())


def test_events_that_a_slow_line_cannot_take_are_dropped_and_counted() -> None:
    async def scene() -> None:
        near = Site("near", BROKERS)
        link = Link(near, beat_s=30, most_waiting=10)
        async with listening(link) as port:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(frame(["hello", "far", list(BROKERS)]) + frame(["follow", near.broker("t").name, "t"]))
            await until(lambda: follows(link, "t"), "the other site asks for t")
            for number in range(25):  # without a pause in which any could be written
                near.publish(Event("t", "match", number))
            near.publish(Event("t", "match", 99, {"text": "x" * LARGEST}))
            await until(lambda: link.traffic.events == 10, "what could wait is sent")
            assert link.traffic.dropped == 16
            writer.close()

    asyncio.run(scene())


def test_frames_have_a_largest_size() -> None:
    with pytest.raises(FrameError, match="1,048,576 are the most"):
        frame(["x" * LARGEST])
