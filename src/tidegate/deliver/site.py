"""A site: its brokers, and the aggregators between them and the clients of its access points."""

import logging
from collections.abc import Callable, Iterable

from tidegate.deliver.broker import MOST_KEPT, Broker, Wire
from tidegate.deliver.event import Event
from tidegate.deliver.ring import Ring

_LOG = logging.getLogger(__name__)

Client = Callable[[Event], None]
"""Takes the events of an online client; it should be quick, as by putting them into a queue."""


class Site:
    """Brokers of one place, by consistent hashing. Sites that are linked must have brokers of the same names."""

    def __init__(self, name: str, brokers: Iterable[str], most_kept: int = MOST_KEPT) -> None:
        """All in this process, for one thread. A broker keeps the last events of so many topics of presence."""
        self.name = name
        self.ring = Ring(brokers)
        self.brokers = {broker: Broker(broker, most_kept) for broker in self.ring.brokers}

    def broker(self, topic: str) -> Broker:
        """Where the topic lives."""
        return self.brokers[self.ring.owner(topic)]

    def publish(self, event: Event) -> None:
        """Deliver to who is online and wants the topic, here and at other sites; best effort."""
        self.broker(event.topic).publish(event)

    def news(self) -> list[Event]:
        """The last events of topics of presence that have another one since this was asked."""
        return [event for broker in self.brokers.values() for event in broker.news()]

    def restore(self, events: Iterable[Event]) -> None:
        """Know events again that were the last of their topics."""
        for event in events:
            self.broker(event.topic).restore(event)

    def forget(self, owner: str) -> None:
        """Know no more of what a subscriber has told of its own topics."""
        for broker in self.brokers.values():
            broker.forget(owner)

    def connect(self, wire: Wire) -> None:
        """A way to another site is there."""
        for broker in self.brokers.values():
            broker.connect(wire)

    def disconnect(self, wire: Wire) -> None:
        """It is there no longer."""
        for broker in self.brokers.values():
            broker.disconnect(wire)


class Aggregator:
    """Behind an access point: however many of its clients want a topic, its broker has one subscription for them.

    It is withdrawn when the last online client that wants it leaves.
    """

    def __init__(self, site: Site) -> None:
        """Nobody is online yet."""
        self._site = site
        self._clients: dict[str, dict[Client, None]] = {}
        self._topics: dict[Client, set[str]] = {}

    @property
    def topics(self) -> Iterable[str]:
        """What it is subscribed to."""
        return self._clients.keys()

    def join(self, client: Client, topic: str) -> None:
        """Give a client the topic's events from now on; of presence, the last one at once."""
        if topic in self._topics.setdefault(client, set()):
            return
        self._topics[client].add(topic)
        self._clients.setdefault(topic, {})[client] = None
        # Asking again for what it has costs nothing at the broker, and gives what a newcomer should see.
        last = self._site.broker(topic).subscribe(self, topic)
        if last is not None:
            self._hand(client, last)

    def leave(self, client: Client, topic: str) -> None:
        """Give a client the topic's events no longer."""
        if topic not in self._topics.get(client, ()):
            return
        self._topics[client].discard(topic)
        if not self._topics[client]:
            del self._topics[client]
        del self._clients[topic][client]
        if not self._clients[topic]:
            del self._clients[topic]
            self._site.broker(topic).unsubscribe(self, topic)

    def leave_all(self, client: Client) -> None:
        """The client has gone offline."""
        for topic in tuple(self._topics.get(client, ())):
            self.leave(client, topic)

    def deliver(self, event: Event) -> None:
        """Hand an event from a broker to every client that wants it."""
        for client in tuple(self._clients.get(event.topic, ())):
            self._hand(client, event)

    def _hand(self, client: Client, event: Event) -> None:
        try:
            client(event)
        except Exception:  # one client's trouble is not that of the others
            _LOG.warning("a client could not take an event of %s", event.topic, exc_info=True)
