"""What was read, told to the live feeds of this process, whichever process it was marked by."""

from collections.abc import Collection
from typing import Final

from anyio import to_thread

from tidegate.deliver.database import Database
from tidegate.deliver.inbox import Inbox
from tidegate.deliver.marks import Mark, Marks
from tidegate.serve.events import Event, as_json
from tidegate.serve.live import Hub

EVERY_S: Final = 0.1
"""How often it is looked whether something was marked."""


class Reading:
    """Looks for marks, and tells the hub."""

    def __init__(self, database: Database, inbox: Inbox, hub: Hub) -> None:
        """Begin with what is marked from the first look on."""
        self._marks, self._inbox, self._hub = Marks(database), inbox, hub
        self._told: int | None = None

    async def round(self) -> None:
        """Look once."""
        newest = await to_thread.run_sync(self._marks.newest)
        if self._told is not None and newest > self._told:
            for subscriber, event in await to_thread.run_sync(self._events, self._told, newest, self._hub.online()):
                self._hub.tell(subscriber, event)
        self._told = newest

    def _events(self, told: int, newest: int, online: Collection[str]) -> list[tuple[str, Event]]:
        marks = self._marks.between(told, newest, online)
        unread = {name: self._inbox.counts(name).unread for name in {mark.subscriber for mark in marks}}
        return [(mark.subscriber, _event(mark, unread[mark.subscriber])) for mark in marks]


def _event(mark: Mark, unread: int) -> Event:
    return Event("read", as_json({"cursors": mark.cursors, "up_to": mark.up_to, "unread": unread}))
