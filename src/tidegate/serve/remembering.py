"""Presence over restarts: the last events of topics, written down now and then, and told to a site that begins."""

from typing import Final

from anyio import to_thread

from tidegate.deliver.database import UnreachableError
from tidegate.deliver.event import Event
from tidegate.deliver.last_events import LastEvents
from tidegate.deliver.site import Site
from tidegate.errors import StoreError

EVERY_S: Final = 1.0
"""How often they are written down: what comes later when a process is killed is lost."""


class Remembering:
    """Belongs to the event loop, as its site does."""

    def __init__(self, site: Site, events: LastEvents, most: int) -> None:
        """Remember the last events of so many topics; written down are twice as many at most."""
        self._site, self._events, self._most = site, events, most
        self._written = 0
        self._waiting: dict[str, Event] = {}

    async def begin(self) -> None:
        """Give the site what it had."""
        await to_thread.run_sync(self._events.tidy, self._most)
        self._site.restore(await to_thread.run_sync(self._events.read, self._most))

    async def round(self) -> None:
        """Write down what is new; what cannot be written while the database is away waits for the next time."""
        for event in self._site.news():
            self._waiting.pop(event.topic, None)
            self._waiting[event.topic] = event
        # The newest are last, and what the site knows no more of need not be known later.
        self._waiting = written = dict(list(self._waiting.items())[-self._most :])
        try:
            await to_thread.run_sync(self._events.keep, tuple(written.values()))
        except StoreError as error:
            # What is refused for what it is would be again, and keep all that comes later from being written.
            if not isinstance(error, UnreachableError):
                self._waiting = {}
            raise
        self._waiting = {}
        self._written += len(written)
        if self._written >= self._most:
            await to_thread.run_sync(self._events.tidy, self._most)
            self._written = 0
