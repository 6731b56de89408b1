"""The link between two sites: one TCP connection on which twins tell each other what they want, and what was published.

Best effort: what is published while it is down does not cross. When it is up again twins tell anew what they want, and
are given the last event of presence topics. With a key, nobody else is listened to; without one, whoever can connect is
believed to be the other site.
"""

import asyncio
import logging
import ssl
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

from tidegate.deliver.backoff import Backoff
from tidegate.deliver.event import Event
from tidegate.deliver.frames import FrameError, written
from tidegate.deliver.line import Line, opened
from tidegate.deliver.site import Site
from tidegate.errors import ConfigError, TidegateError

_LOG = logging.getLogger(__name__)
_BEAT_S = 5.0
_MOST_WAITING = 10_000
# Connections on which nobody has shown a key yet.
_MOST_OPENING = 16
# In bytes: a database has topics in its indexes.
_LONGEST_TOPIC = 1000


@dataclass
class Traffic:
    """What has crossed from this side, all connections together; `dropped` events did not.

    `refused` counts what came from the other side and was not heeded: connections without the key, messages and events
    that mean nothing.
    """

    frames: int = 0
    bytes: int = 0
    events: int = 0
    dropped: int = 0
    connections: int = 0
    refused: int = 0


class Link:
    """This side's end, for one pair of sites; outlives connections. It is a `Wire` to brokers while one is up."""

    def __init__(
        self, site: Site, key: bytes | None = None, *, beat_s: float = _BEAT_S, most_waiting: int = _MOST_WAITING
    ) -> None:
        """Share a key with the other site, if one is given.

        A peer that is silent for three beats is believed gone. So many events may wait for a slow line.
        """
        self.site, self._key = site, key
        self._opening: set[asyncio.Task[None]] = set()
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

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, calls: bool = False) -> bool:
        """Serve one connection until it ends; another one that was up is ended first, so that nothing arrives twice.

        Who does not show the key ends nothing but its own: false, then. `calls` says that this side has called.
        """
        try:
            line = await self._opened(reader, writer, calls=calls)
            if line is None:
                return False
            while self.has_connection:  # another one may have come while we waited
                await self.hang_up()
            self._up = serving = asyncio.create_task(self._serve(line))
            await asyncio.gather(serving, return_exceptions=True)
            return True
        finally:
            writer.close()  # here, since a task that is cancelled before it begins closes nothing

    async def hang_up(self) -> None:
        """End the connection, if one is up."""
        if self._up is not None:
            self._up.cancel()
            await asyncio.gather(self._up, return_exceptions=True)

    async def close(self) -> None:
        """End the connection, and those on which nobody has shown a key yet."""
        opening = tuple(self._opening)
        for task in opening:
            task.cancel()
        await asyncio.gather(*opening, return_exceptions=True)
        await self.hang_up()

    async def _opened(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, calls: bool) -> Line | None:
        """The line to who has the key, if there is one; None if it is not shown in time."""
        task = asyncio.current_task()
        assert task is not None
        try:
            if len(self._opening) >= _MOST_OPENING:
                raise FrameError(f"{_MOST_OPENING} others have yet to show the key")
            self._opening.add(task)
            async with asyncio.timeout(3 * self._beat_s):
                return await opened(reader, writer, self._key, calls=calls)
        except (OSError, asyncio.IncompleteReadError, TimeoutError, FrameError) as error:
            self.traffic.refused += 1
            _LOG.warning("the link of %s refuses a connection: %s", self.site.name, error or "nothing is heard")
            return None
        finally:
            self._opening.discard(task)

    async def _serve(self, line: Line) -> None:
        self.traffic.connections += 1
        # All that is said from here on waits behind the greeting, in its order.
        self._put(["hello", self.site.name, list(self.site.ring.brokers)])
        self.site.connect(self)
        try:
            async with asyncio.TaskGroup() as both:
                both.create_task(self._write(line))
                both.create_task(self._read(line))
        except* (OSError, asyncio.IncompleteReadError, TimeoutError) as errors:
            _LOG.info("the link of %s to %s is down: %r", self.site.name, self.peer, errors.exceptions[0])
        except* TidegateError as errors:
            self.traffic.refused += 1
            _LOG.warning("the link of %s to %s is ended: %s", self.site.name, self.peer, errors.exceptions[0])
        finally:
            self.peer = None
            self.site.disconnect(self)
            self.traffic.dropped += sum(kind == "event" for kind, _ in self._waiting)
            self._waiting.clear()

    async def _write(self, line: Line) -> None:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._beat_s):
                    await self._news.wait()
            if not self._waiting:
                self._put(["beat"])
            messages = tuple(self._waiting)
            self._waiting.clear()
            self._news.clear()
            self.traffic.frames += len(messages)
            self.traffic.events += sum(kind == "event" for kind, _ in messages)
            self.traffic.bytes += await line.say(body for _, body in messages)

    async def _read(self, line: Line) -> None:
        while True:
            async with asyncio.timeout(3 * self._beat_s):
                message = await line.hear()
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
                if not _is_topic(topic) or not self.site.brokers[broker].twin_follows(self, topic):
                    self.traffic.refused += 1
            case ["unfollow", str() as broker, str() as topic] if self._knows(broker):
                self.site.brokers[broker].twin_unfollows(self, topic)
            case ["event", str() as broker, event] if self._knows(broker):
                self._publish(broker, event)
            case ["challenge", *_]:
                raise FrameError("the other site asks for a key: give both the same one")
            case _:
                raise FrameError(f"a message that means nothing: {message!r:.200}")

    def _publish(self, broker: str, event: object) -> None:
        """Deliver what the twin has said; should it be no event, others that it says may be."""
        try:
            said = Event.from_json("event", event)
            if not _is_topic(said.topic):
                raise ConfigError(
                    f"no topic is called {said.topic!r:.80}: give a text of {_LONGEST_TOPIC} bytes at most"
                )
            self.site.brokers[broker].twin_published(said)
        except ConfigError as error:
            self.traffic.refused += 1
            _LOG.warning("the link of %s to %s brings no event: %s", self.site.name, self.peer, error)

    def _knows(self, broker: str) -> bool:
        return self.is_up and broker in self.site.brokers

    def _put(self, message: list[Any]) -> None:
        self._waiting.append((message[0], written(message)))
        self._news.set()


def _is_topic(text: str) -> bool:
    """Whether a site may know a topic of this name; PostgreSQL has no place for the character 0."""
    return "\0" not in text and len(text.encode(errors="surrogatepass")) <= _LONGEST_TOPIC


@asynccontextmanager
async def listening(
    link: Link, host: str = "127.0.0.1", port: int = 0, tls: ssl.SSLContext | None = None
) -> AsyncIterator[int]:
    """Wait for the other site, on the port that is given; the newest connection counts."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.CancelledError):  # of `close`: this is all that the task does
            await link.carry(reader, writer)

    server = await asyncio.start_server(answer, host, port, ssl=tls)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        await link.close()


async def keep_dialling(
    link: Link, host: str, port: int, draw: Callable[[], float], tls: ssl.SSLContext | None = None
) -> None:
    """Connect to the other site, and again whenever that ends, until cancelled; `draw` is as for `Backoff`."""
    backoff = Backoff(first=100_000, factor=2, longest=10_000_000, attempts=1 << 62)
    failures = 0
    while True:
        try:
            reader, writer = await asyncio.open_connection(host, port, ssl=tls)
        except OSError as error:
            _LOG.info("site %s cannot reach %s:%d: %s", link.site.name, host, port, error)
            failures += 1
        else:
            failures = 1 if await link.carry(reader, writer, calls=True) else failures + 1
        await asyncio.sleep((backoff.wait(failures, draw()) or 0) / 1e6)
