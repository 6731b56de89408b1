"""Presence over restarts: the last events of topics, written down now and then, and told to a site that begins."""

from typing import Final

from anyio import to_thread

from tidegate.deliver.event import Event
from tidegate.deliver.last_events import LastEvents
from tidegate.deliver.site import Site

EVERY_S: Final = 1.0
"""How often they are written down: what comes later when a process is killed is lost."""


class Remembering:
    """Belongs to the event loop, as its site does."""

    def __init__(self, site: Site, events: LastEvents, most: int) -> None:
        """Remember the last events of so many topics."""
        self._site, self._events, self._most = site, events, most
        self._waiting: dict[str, Event] = {}

    async def begin(self) -> None:
        """Give the site what it had."""
        self._site.restore(await to_thread.run_sync(self._events.read, self._most))

    async def round(self) -> None:
        """Write down what is new; what could not be written waits for the next time."""
        self._waiting |= {event.topic: event for event in self._site.news()}
        written = dict(self._waiting)
        await to_thread.run_sync(self._events.keep, tuple(written.values()))
        self._waiting = {topic: event for topic, event in self._waiting.items() if written.get(topic) is not event}
