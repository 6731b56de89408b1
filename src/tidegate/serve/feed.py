"""One live feed from its beginning to its end: what was missed comes first, then what happens, each thing once."""

import logging
import time
from collections.abc import AsyncIterator
from typing import Final

from anyio import CapacityLimiter, to_thread

from tidegate.deliver.inbox import Inbox
from tidegate.deliver.notification import Notification
from tidegate.errors import StoreError
from tidegate.serve.events import Event, notification_event, ready_event
from tidegate.serve.live import Connection
from tidegate.serve.settings import LiveSettings
from tidegate.serve.tail import Heard

_PAGE: Final = 200
_log = logging.getLogger(__name__)


class Feeds:
    """Makes feeds. Those that catch up share a few threads, so that a crowd that comes back leaves room for others."""

    def __init__(self, inbox: Inbox, settings: LiveSettings, heard: Heard = list, threads: int = 4) -> None:
        """Catch up from an inbox; of what is there, `heard` tells what is to be told."""
        self._inbox, self._settings, self._heard = inbox, settings, heard
        self._limiter = CapacityLimiter(threads)

    async def feed(self, connection: Connection, cursor: int) -> AsyncIterator[Event | None]:
        """What a subscriber has to be told after a cursor, in order; None when a heartbeat is due.

        A connection joins before this begins, and looks back if the cursor is of the past. Whatever was committed until
        then is found in the inbox, whatever comes later waits in the connection, and of what is in both the cursor
        tells.
        """
        until = time.monotonic() + self._settings.longest_s
        yield ready_event(cursor)
        while not connection.is_closed and time.monotonic() < until:
            while connection.is_behind:
                connection.is_behind = False
                async for event in self._missed(connection, cursor):
                    cursor = event.cursor or cursor
                    yield event
            for event in connection.taken():
                if event.cursor is None or event.cursor > cursor:
                    cursor = event.cursor or cursor
                    yield event
            if not connection.is_behind and not await connection.wait(self._settings.heartbeat_s):
                yield None

    async def _missed(self, connection: Connection, cursor: int) -> AsyncIterator[Event]:
        """What the inbox has after a cursor that is told in real time, page by page."""
        while not connection.is_closed:
            asked = (connection.subscriber, cursor)
            try:
                page, heard = await to_thread.run_sync(self._page, *asked, limiter=self._limiter)
            except StoreError as error:
                # The client comes back with its cursor when the database does.
                _log.warning("a live feed ends: %s", error)
                connection.close()
                return
            for notification in heard:
                # A key may be revoked while its reader takes its time.
                if connection.is_closed:
                    return
                yield notification_event(notification)
            if len(page) < _PAGE:
                return
            cursor = page[-1].cursor

    def _page(self, subscriber: str, cursor: int) -> tuple[list[Notification], list[Notification]]:
        """The next notifications after a cursor, and those of them that are to be told."""
        page = self._inbox.since(subscriber, cursor, _PAGE, live=True)
        return page, self._heard(page)
