"""The hub: who is connected, and what waits for each of them.

Of topics it is an access point of its site: what its connections follow is one subscription at the topic's broker. It
belongs to the event loop. A connection holds a bounded number of events; with more, it forgets them all and its feed
reads them in the inbox, where nothing is lost. So a reader that is slow costs no more memory than any other.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Collection, Iterable
from functools import partial
from typing import Any

from tidegate.deliver.event import Event as Fleeting
from tidegate.deliver.site import Aggregator, Client, Site
from tidegate.serve.events import Event, presence_event


class Connection:
    """One live feed of a subscriber, on one device."""

    def __init__(self, subscriber: str, device: str, kind: str, topics: frozenset[str], most: int, key: str) -> None:
        """Begin with nothing that waits; at most `most` events ever will. `key` is the hash of the one it shows."""
        self.subscriber, self.device, self.kind, self.topics = subscriber, device, kind, topics
        self.is_behind = False
        """Whether the inbox may hold what neither was sent nor waits here."""
        self.is_closed = False
        self.key = key
        self.is_vouched_for = False
        """Whether the key was found to be valid since the connection joined."""
        self._waiting: deque[Event] = deque()
        self._most = most
        self._woken = asyncio.Event()

    def offer(self, event: Event) -> None:
        """Let an event wait; if too many do, fall behind."""
        if len(self._waiting) >= self._most:
            self.fall_behind()
        else:
            self._waiting.append(event)
            self._woken.set()

    def fall_behind(self) -> None:
        """Forget what waits: the inbox has it, but for what is best effort."""
        self._waiting.clear()
        self.look_back()

    def look_back(self) -> None:
        """Look into the inbox before what waits is taken."""
        self.is_behind = True
        self._woken.set()

    def close(self) -> None:
        """End the feed."""
        self.is_closed = True
        self._woken.set()

    def taken(self) -> Iterable[Event]:
        """Take what waits, one by one."""
        while self._waiting and not self.is_behind and not self.is_closed:
            yield self._waiting.popleft()

    async def wait(self, seconds: float) -> bool:
        """Wait until there is something to do; say whether there is, or only time has passed."""
        try:
            async with asyncio.timeout(seconds):
                await self._woken.wait()
        except TimeoutError:
            return False
        self._woken.clear()
        return True


class Hub:
    """All connections of this process."""

    def __init__(self, queue: int, site: Site) -> None:
        """Begin with none; at most `queue` events wait for each. Topics are those of a site."""
        self._queue, self.site = queue, site
        self._point = Aggregator(site)
        self._clients: dict[Connection, Client] = {}
        self._encoded: tuple[Fleeting, Event] | None = None
        self._all: set[Connection] = set()
        self._by_subscriber: dict[str, set[Connection]] = {}
        self._kinds: dict[str, frozenset[str]] = {}
        self._joined: set[Connection] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_closed = False
        self.delivered = 0
        self.fallen_behind = 0

    def start(self) -> None:
        """Belong to the running event loop."""
        self._loop = asyncio.get_running_loop()

    def soon(self, call: Callable[..., None], *arguments: Any) -> None:
        """Call a method of the hub from any thread."""
        assert self._loop is not None
        self._loop.call_soon_threadsafe(call, *arguments)

    def join(self, subscriber: str, device: str, kind: str, topics: Iterable[str] = (), key: str = "") -> Connection:
        """Open a connection; the last events of its topics wait for it."""
        connection = Connection(subscriber, device, kind, frozenset(topics), self._queue, key)
        self._all.add(connection)
        self._by_subscriber.setdefault(subscriber, set()).add(connection)
        self._note_kinds(subscriber)
        self._joined.add(connection)
        if connection.topics:
            self._clients[connection] = client = partial(self._hear, connection)
            for topic in connection.topics:
                self._point.join(client, topic)
        if self._is_closed:
            connection.close()
        return connection

    def leave(self, connection: Connection) -> None:
        """Forget a connection."""
        self._all.discard(connection)
        self._joined.discard(connection)
        group = self._by_subscriber.get(connection.subscriber, set())
        group.discard(connection)
        if not group:
            self._by_subscriber.pop(connection.subscriber, None)
        self._note_kinds(connection.subscriber)
        client = self._clients.pop(connection, None)
        if client is not None:
            self._point.leave_all(client)

    def tell(self, subscriber: str, event: Event) -> None:
        """Let a subscriber know, on all devices."""
        self._offer(self._by_subscriber.get(subscriber, ()), event)

    def publish(self, event: Fleeting) -> None:
        """Let those know who follow its topic, here and at other sites; it is kept for those who come next."""
        self.site.publish(event)

    def close(self) -> None:
        """End all connections, and those to come."""
        self._is_closed = True
        for connection in self.connections():
            connection.close()

    def connections(self) -> list[Connection]:
        """All there are; may be asked by any thread, since a set is copied in one go."""
        return list(self._all)

    def online(self) -> frozenset[str]:
        """Who is connected."""
        return frozenset(self._by_subscriber)

    def feeds_of(self, subscriber: str) -> int:
        """How many connections a subscriber has."""
        return len(self._by_subscriber.get(subscriber, ()))

    def is_online(self, subscriber: str) -> bool:
        """Whether a subscriber is connected."""
        return subscriber in self._by_subscriber

    def kinds_of(self, subscriber: str) -> frozenset[str]:
        """On what kinds of devices a subscriber is connected; may be asked by any thread."""
        return self._kinds.get(subscriber, frozenset())

    def begin_round(self) -> None:
        """Note who joins from now on: what is being looked for may not have been looked for on their behalf."""
        self._joined.clear()

    def end_round(self, missed_by: Collection[str] | None) -> None:
        """Let those who have joined since look into the inbox, if they missed something; None: anyone may have."""
        for connection in self._joined:
            if missed_by is None or connection.subscriber in missed_by:
                connection.look_back()

    def _note_kinds(self, subscriber: str) -> None:
        """Replaced as a whole, and never changed: threads may be looking at it."""
        kinds = frozenset(connection.kind for connection in self._by_subscriber.get(subscriber, ()))
        if kinds:
            self._kinds[subscriber] = kinds
        else:
            self._kinds.pop(subscriber, None)

    def _hear(self, connection: Connection, event: Fleeting) -> None:
        """Take an event of a topic; those who follow it share one that is encoded once."""
        if self._encoded is None or self._encoded[0] is not event:
            self._encoded = (event, presence_event(event))
        self._offer((connection,), self._encoded[1])

    def _offer(self, connections: Iterable[Connection], event: Event) -> None:
        for connection in connections:
            was_behind = connection.is_behind
            connection.offer(event)
            self.delivered += 1
            self.fallen_behind += connection.is_behind and not was_behind
