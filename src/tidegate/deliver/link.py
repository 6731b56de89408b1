"""The link between two sites: one TCP connection on which twins tell each other what they want, and what was published.

Best effort: what is published while it is down does not cross. When it is up again twins tell anew what they want, and
are given the last event of presence topics. Meant for a private network: there is neither encryption nor a password.
"""

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

from tidegate.deliver.backoff import Backoff
from tidegate.deliver.event import Event
from tidegate.deliver.frames import FrameError, frame, read_frame
from tidegate.deliver.site import Site
from tidegate.errors import TidegateError

_LOG = logging.getLogger(__name__)
_BEAT_S = 5.0
_MOST_WAITING = 10_000


@dataclass
class Traffic:
    """What has crossed from this side, all connections together; `dropped` events did not."""

    frames: int = 0
    bytes: int = 0
    events: int = 0
    dropped: int = 0
    connections: int = 0


class Link:
    """This side's end, for one pair of sites; outlives connections. It is a `Wire` to brokers while one is up."""

    def __init__(self, site: Site, *, beat_s: float = _BEAT_S, most_waiting: int = _MOST_WAITING) -> None:
        """A peer that is silent for three beats is believed gone. So many events may wait for a slow line."""
        self.site = site
        self.traffic = Traffic()
        self.peer: str | None = None
        self._beat_s = beat_s
        self._most_waiting = most_waiting
        self._waiting: deque[tuple[str, bytes]] = deque()
        self._news = asyncio.Event()
        self._up: asyncio.Task[None] | None = None

    @property
    def is_up(self) -> bool:
        """Whether the two sites hear each other."""
        return self.peer is not None

    @property
    def has_connection(self) -> bool:
        """Whether there is a connection, be it one on which nobody has said hello."""
        return self._up is not None and not self._up.done()

    def follow(self, broker: str, topic: str) -> None:
        """Tell the twin that this site wants a topic."""
        self._put(["follow", broker, topic])

    def unfollow(self, broker: str, topic: str) -> None:
        """Tell the twin that it does so no longer."""
        self._put(["unfollow", broker, topic])

    def forward(self, broker: str, event: Event) -> None:
        """Give the twin an event; it is dropped, and counted, if too many wait or it is too large."""
        if len(self._waiting) >= self._most_waiting:
            self.traffic.dropped += 1
            return
        try:
            self._put(["event", broker, event.to_json()])
        except FrameError as error:
            self.traffic.dropped += 1
            _LOG.warning("an event of %s does not cross: %s", event.topic, error)

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection until it ends; another one that was up is ended first, so that nothing arrives twice."""
        while self.has_connection:  # another one may have come while we waited
            await self.hang_up()
        self._up = serving = asyncio.create_task(self._serve(reader, writer))
        try:
            await asyncio.gather(serving, return_exceptions=True)
        finally:
            writer.close()  # here, since a task that is cancelled before it begins closes nothing

    async def hang_up(self) -> None:
        """End the connection, if one is up."""
        if self._up is not None:
            self._up.cancel()
            await asyncio.gather(self._up, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.traffic.connections += 1
        # All that is said from here on waits behind the greeting, in its order.
        self._put(["hello", self.site.name, list(self.site.ring.brokers)])
        self.site.connect(self)
        try:
            async with asyncio.TaskGroup() as both:
                both.create_task(self._write(writer))
                both.create_task(self._read(reader))
        except* (OSError, asyncio.IncompleteReadError, TimeoutError) as errors:
            _LOG.info("the link of %s to %s is down: %r", self.site.name, self.peer, errors.exceptions[0])
        except* TidegateError as errors:
            _LOG.warning("the link of %s to %s is ended: %s", self.site.name, self.peer, errors.exceptions[0])
        finally:
            self.peer = None
            self.site.disconnect(self)
            self.traffic.dropped += sum(kind == "event" for kind, _ in self._waiting)
            self._waiting.clear()

    async def _write(self, writer: asyncio.StreamWriter) -> None:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._beat_s):
                    await self._news.wait()
            if not self._waiting:
                self._put(["beat"])
            frames = tuple(self._waiting)
            self._waiting.clear()
            self._news.clear()
            self.traffic.frames += len(frames)
            self.traffic.bytes += sum(len(written) for _, written in frames)
            self.traffic.events += sum(kind == "event" for kind, _ in frames)
            writer.writelines(written for _, written in frames)
            await writer.drain()

    async def _read(self, reader: asyncio.StreamReader) -> None:
        while True:
            async with asyncio.timeout(3 * self._beat_s):
                message = await read_frame(reader)
            self._understand(message)

    def _understand(self, message: list[Any]) -> None:
        match message:
            case ["hello", str() as peer, list() as brokers]:
                if brokers != list(self.site.ring.brokers) or peer == self.site.name:
                    raise FrameError(
                        f"site {peer!r} has brokers {brokers!r:.200}, site {self.site.name!r} has "
                        f"{list(self.site.ring.brokers)}: give sites names of their own and the same brokers"
                    )
                self.peer = peer
            case ["beat"]:
                pass
            case ["follow", str() as broker, str() as topic] if self._knows(broker):
                self.site.brokers[broker].twin_follows(self, topic)
            case ["unfollow", str() as broker, str() as topic] if self._knows(broker):
                self.site.brokers[broker].twin_unfollows(self, topic)
            case ["event", str() as broker, event] if self._knows(broker):
                self.site.brokers[broker].twin_published(Event.from_json("event", event))
            case _:
                raise FrameError(f"a message that means nothing: {message!r:.200}")

    def _knows(self, broker: str) -> bool:
        return self.is_up and broker in self.site.brokers

    def _put(self, message: list[Any]) -> None:
        self._waiting.append((message[0], frame(message)))
        self._news.set()


@asynccontextmanager
async def listening(link: Link, host: str = "127.0.0.1", port: int = 0) -> AsyncIterator[int]:
    """Wait for the other site, on the port that is given; the newest connection counts."""
    server = await asyncio.start_server(link.carry, host, port)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        await link.hang_up()


async def keep_dialling(link: Link, host: str, port: int, draw: Callable[[], float]) -> None:
    """Connect to the other site, and again whenever that ends, until cancelled; `draw` is as for `Backoff`."""
    backoff = Backoff(first=100_000, factor=2, longest=10_000_000, attempts=1 << 62)
    failures = 0
    while True:
        try:
            reader, writer = await asyncio.open_connection(host, port)
        except OSError as error:
            _LOG.info("site %s cannot reach %s:%d: %s", link.site.name, host, port, error)
            failures += 1
        else:
            await link.carry(reader, writer)
            failures = 1
        await asyncio.sleep((backoff.wait(failures, draw()) or 0) / 1e6)
