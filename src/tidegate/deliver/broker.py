"""A broker: which aggregators of its site, and which other sites, want a topic; and the last event of presence topics.

Nothing else is kept: this is the path of real time, best effort. What must not be lost is in the inbox. Whoever wants
to keep the last events elsewhere, too, asks for `news`.
"""

import json
from collections import OrderedDict
from collections.abc import Iterable
from typing import Protocol

from tidegate.deliver.event import PRESENCE, Event

MOST_KEPT = 1_000_000
"""Topics of presence, of which the last event is kept."""


MOST_FOLLOWED = 1_000_000
"""Topics that another site may want of a broker."""


class Downstream(Protocol):
    """Whoever subscribes at a broker: an aggregator."""

    def deliver(self, event: Event) -> None:
        """Take an event of a topic that was subscribed to."""


class Wire(Protocol):
    """The way to the twin of a broker at another site; twins have the same name."""

    def follow(self, broker: str, topic: str) -> None:
        """Tell the twin that this site wants a topic."""

    def unfollow(self, broker: str, topic: str) -> None:
        """Tell the twin that it does so no longer."""

    def forward(self, broker: str, event: Event) -> None:
        """Give the twin an event."""


class Broker:
    """The topics that hashing has given to it, of one site. To be used from one thread."""

    def __init__(self, name: str, most_kept: int = MOST_KEPT) -> None:
        """Of so many presence topics the last event is kept; those that were silent longest are forgotten first."""
        self.name = name
        self._most_kept = most_kept
        self._local: dict[str, dict[Downstream, None]] = {}
        self._afar: dict[Wire, set[str]] = {}
        self._last: OrderedDict[str, Event] = OrderedDict()
        self._news: dict[str, Event] = {}

    @property
    def topics(self) -> Iterable[str]:
        """What this site wants of it."""
        return self._local.keys()

    def subscribe(self, aggregator: Downstream, topic: str) -> Event | None:
        """Send the topic's events to an aggregator from now on; return the last one, if the topic is of presence."""
        if topic not in self._local:
            for wire in self._afar:
                wire.follow(self.name, topic)
        self._local.setdefault(topic, {})[aggregator] = None
        return self._last.get(topic)

    def unsubscribe(self, aggregator: Downstream, topic: str) -> None:
        """Send them no longer; when nobody of this site wants the topic, other sites are told."""
        wanting = self._local.get(topic, {})
        wanting.pop(aggregator, None)
        if topic in self._local and not wanting:
            del self._local[topic]
            for wire in self._afar:
                wire.unfollow(self.name, topic)

    def publish(self, event: Event) -> None:
        """Deliver at this site, and cross each link at most once, to sites where somebody wants it."""
        if not self._deliver(event):
            return
        for wire, topics in self._afar.items():
            if event.topic in topics:
                wire.forward(self.name, event)

    def connect(self, wire: Wire) -> None:
        """There is a way to a twin, which is told what this site wants."""
        self._afar[wire] = set()
        for topic in self._local:
            wire.follow(self.name, topic)

    def disconnect(self, wire: Wire) -> None:
        """There is that way no longer."""
        self._afar.pop(wire, None)

    def twin_follows(self, wire: Wire, topic: str) -> bool:
        """The twin wants a topic; of presence it is given the last event, which it may have missed.

        False if it wants more than any site would, and does not get it.
        """
        if len(self._afar[wire]) >= MOST_FOLLOWED and topic not in self._afar[wire]:
            return False
        self._afar[wire].add(topic)
        if topic in self._last:
            wire.forward(self.name, self._last[topic])
        return True

    def twin_unfollows(self, wire: Wire, topic: str) -> None:
        """The twin wants a topic no longer."""
        self._afar[wire].discard(topic)

    def twin_published(self, event: Event) -> None:
        """An event from the twin: for this site only, since every two sites have a link of their own."""
        self._deliver(event)

    def news(self) -> list[Event]:
        """The last events of topics that have another one since this was asked."""
        news, self._news = list(self._news.values()), {}
        return news

    def restore(self, event: Event) -> None:
        """Know an event again that was the last of its topic, unless there is a later one."""
        if self._keep(event):
            self._news.pop(event.topic, None)

    def forget(self, owner: str) -> None:
        """Know no more of the topics of a subscriber: the one called so, and those that begin with that and a slash."""
        for topic in [topic for topic in self._last if topic == owner or topic.startswith(f"{owner}/")]:
            del self._last[topic]
            self._news.pop(topic, None)

    def _deliver(self, event: Event) -> bool:
        """False if it is of presence, and no news."""
        if event.topic_type == PRESENCE and not self._keep(event):
            return False
        for aggregator in tuple(self._local.get(event.topic, ())):
            aggregator.deliver(event)
        return True

    def _keep(self, event: Event) -> bool:
        last = self._last.get(event.topic)
        if last is not None and _order(event) <= _order(last):
            return False
        self._last[event.topic] = self._news[event.topic] = event
        self._last.move_to_end(event.topic)
        if len(self._last) > self._most_kept:
            forgotten, _ = self._last.popitem(last=False)
            self._news.pop(forgotten, None)
        return True


def _order(event: Event) -> tuple[int, str]:
    """By which of two events of presence is the last: the same at all sites, also where both were at one moment."""
    return event.at, json.dumps(event.post, sort_keys=True, default=str)
