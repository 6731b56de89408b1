"""The end of the inbox, followed by one task for all live feeds of the process."""

import asyncio
import logging
from collections.abc import Callable, Collection, Sequence
from typing import Final, NamedTuple

from anyio import CapacityLimiter, to_thread
from sqlalchemy import literal, select

from tidegate.deliver.database import Database
from tidegate.deliver.notification import Notification, notification_of
from tidegate.deliver.schema import NOTIFICATIONS, POSTS, PROGRESS
from tidegate.errors import StoreError
from tidegate.serve.events import Event, notification_event
from tidegate.serve.live import Hub

# Cursors that are looked at in one go, most of them of subscribers who are not here.
_AT_ONCE: Final = 20_000
# As many parameters as any database takes with one statement.
_PARAMETERS: Final = 500
_PATIENCE_S: Final = 1.0
_log = logging.getLogger(__name__)

Heard = Callable[[Sequence[Notification]], list[Notification]]
"""Those of some notifications that are to be told live."""


class Round(NamedTuple):
    """What came after a cursor: up to which one was looked, and the events of those who are online."""

    cursor: int
    events: list[tuple[str, Event]]
    missed_by: frozenset[str] | None = frozenset()
    """Who else there was something for; None: that was not looked at."""


class Tail:
    """What is new in the inbox of a database."""

    def __init__(self, database: Database, heard: Heard = list) -> None:
        """Read from a database; of what is new, `heard` tells what is to be told."""
        self._database, self._heard = database, heard

    def newest(self) -> int:
        """The last cursor that was given out."""
        query = select(PROGRESS.c.cursor).where(PROGRESS.c.name == "written")
        with self._database.reading() as connection:
            return int(connection.execute(query).scalar_one())

    def after(self, cursor: int, online: Collection[str]) -> Round:
        """What is new after a cursor. Only what somebody is waiting for is read whole."""
        newest = self.newest()
        if newest <= cursor:
            return Round(cursor, [])
        if not online:
            return Round(newest, [], None)
        column = NOTIFICATIONS.c.cursor
        query = select(column, NOTIFICATIONS.c.subscriber).where(column > cursor, column <= newest).order_by(column)
        # What is offloaded costs the feeds nothing: it is for who looks into the inbox.
        query = query.where(NOTIFICATIONS.c.offloaded == 0)
        with self._database.reading() as connection:
            rows = connection.execute(query.limit(_AT_ONCE)).all()
            wanted = [row.cursor for row in rows if row.subscriber in online]
            missed_by = frozenset(row.subscriber for row in rows).difference(online)
            new: list[Notification] = []
            for begin in range(0, len(wanted), _PARAMETERS):
                some = column.in_(wanted[begin : begin + _PARAMETERS])
                whole = select(NOTIFICATIONS, POSTS.c.body, literal(0).label("is_read"))
                found = whole.join(POSTS, POSTS.c.id == NOTIFICATIONS.c.post).where(some).order_by(column)
                new += map(notification_of, connection.execute(found))
        events = [(each.subscriber, notification_event(each)) for each in self._heard(new)]
        return Round(rows[-1].cursor if len(rows) == _AT_ONCE else newest, events, missed_by)


class Follower:
    """Asks again and again what is new, and tells the hub."""

    def __init__(self, tail: Tail, hub: Hub, poll_s: float) -> None:
        """Ask every `poll_s` seconds."""
        self._tail, self._hub, self._poll_s = tail, hub, poll_s
        self.cursor = 0
        """Up to here everything was told."""
        # A thread of its own: requests that wait for the database must not hold up the feeds.
        self._limiter = CapacityLimiter(1)

    async def start(self) -> None:
        """Begin at the end of the inbox; what is older is for feeds that catch up."""
        self.cursor = await to_thread.run_sync(self._tail.newest)

    async def run(self) -> None:
        """Go on until cancelled, whatever happens: feeds would be silent, and nobody would know why."""
        while True:
            try:
                told = await self.round()
            except StoreError as error:
                _log.warning("live feeds wait for the database: %s", error)
                await asyncio.sleep(_PATIENCE_S)
            except Exception:
                _log.exception("live feeds cannot go on; trying again")
                await asyncio.sleep(_PATIENCE_S)
            else:
                await asyncio.sleep(0 if told >= _AT_ONCE else self._poll_s)

    async def round(self) -> int:
        """Ask once; return how far the cursor has moved."""
        before, hub = self.cursor, self._hub
        hub.begin_round()
        found = await to_thread.run_sync(self._tail.after, before, hub.online(), limiter=self._limiter)
        for subscriber, event in found.events:
            hub.tell(subscriber, event)
        self.cursor = found.cursor
        hub.end_round(found.missed_by)
        return self.cursor - before
