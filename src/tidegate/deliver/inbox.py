"""The inbox: every notification once, in the order in which it was taken, until it is too old.

Cursors are given out by one writer at a time, who holds the row *written* until its commit. So they rise in the order
of commits, and whoever has read up to a cursor has missed nothing before it; for all subscribers at once, too, which is
how a service follows the whole inbox. Counters per subscriber would let writers go on side by side, at the cost of a
second write for each subscriber of each batch, and would order nothing between subscribers.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
from sqlalchemy import Connection, Select, and_, func, or_, select

from tidegate.deliver.arriving import arriving
from tidegate.deliver.clock import Clock, now
from tidegate.deliver.database import Database
from tidegate.deliver.notification import Entry, Notification, entry_of, notification_of
from tidegate.deliver.schema import BATCHES, HISTORY, NOTIFICATIONS, POSTS, PROGRESS, READ_SINGLY, READ_UP_TO
from tidegate.deliver.taking import WRITTEN, is_taken, take

# As many parameters as any database takes with one statement.
_AT_ONCE: Final = 1000
_GREATEST: Final = 2**63 - 1


@dataclass(frozen=True)
class Added:
    """What became of a batch."""

    notifications: int = 0
    """New ones."""
    merged: int = 0
    """Notifications of earlier batches that got further reasons; they keep their cursors, and stay read if they are."""
    cursor: int | None = None
    """The last cursor of the batch; None if it was taken before, or brought nothing."""


@dataclass(frozen=True)
class Counts:
    """How many notifications a subscriber has."""

    total: int
    unread: int


class Inbox:
    """What subscribers were told. May be shared by threads; any number of processes may use the same database."""

    def __init__(self, database: Database, clock: Clock = now) -> None:
        """Use a database; `clock` says when a batch is taken."""
        self._database, self._clock = database, clock

    def add(self, notifications: pa.Table | Iterable[Mapping[str, Any]], run: str, batch: int) -> Added:
        """Take the matches of a batch, all or none; a batch of a run that was taken before changes nothing.

        See `arriving` for the columns. Several matches of a subscriber and a post are one notification, also if they
        come in several batches.
        """
        brought = arriving(notifications, self._clock())
        if not brought.posts.num_rows:
            return Added()
        with self._database.writing() as connection:
            taken = take(self._database, connection, brought, run, batch, self._clock)
        return Added() if taken is None else Added(*taken)

    def has(self, run: str, batch: int) -> bool:
        """Whether a batch was taken."""
        with self._database.reading() as connection:
            return is_taken(connection, run, batch)

    def since(self, subscriber: str, cursor: int = 0, limit: int = 100, *, live: bool = False) -> list[Notification]:
        """The first notifications of a subscriber after a cursor, in order; if `live`, without the offloaded ones."""
        own = _notifications().where(NOTIFICATIONS.c.subscriber == subscriber)
        return self._notifications(own.where(NOTIFICATIONS.c.offloaded == 0) if live else own, cursor, limit)

    def unread(self, subscriber: str, cursor: int = 0, limit: int = 100) -> list[Notification]:
        """The first unread notifications of a subscriber after a cursor, in order."""
        return self._notifications(_unread(_notifications(), subscriber), cursor, limit)

    def latest(self, subscriber: str, before: int | None = None, limit: int = 100) -> list[Notification]:
        """The last notifications of a subscriber, before a cursor or of all, the newest first."""
        column = NOTIFICATIONS.c.cursor
        query = _notifications().where(NOTIFICATIONS.c.subscriber == subscriber)
        if before is not None:
            query = query.where(column < _bounded(before))
        with self._database.reading() as connection:
            return [notification_of(row) for row in connection.execute(query.order_by(column.desc()).limit(limit))]

    def tail(self, cursor: int, limit: int = 1000) -> list[Notification]:
        """The first notifications of anybody after a cursor, in order: what a service delivers from."""
        return self._notifications(_notifications(), cursor, limit)

    def some(self, cursors: Iterable[int]) -> dict[int, Notification]:
        """The notifications with these cursors that are still there, in order."""
        wanted, column = sorted(set(cursors)), NOTIFICATIONS.c.cursor
        found = {}
        with self._database.reading() as connection:
            for begin in range(0, len(wanted), _AT_ONCE):
                some = _notifications().where(column.in_(wanted[begin : begin + _AT_ONCE]))
                for row in connection.execute(some.order_by(column)):
                    found[row.cursor] = notification_of(row)
        return found

    def history(self, topic: str, cursor: int = 0, limit: int = 100) -> list[Entry]:
        """The first entries of a topic after a cursor, in order, whoever followed it then."""
        entries = select(HISTORY, POSTS.c.body).join(POSTS, POSTS.c.id == HISTORY.c.post)
        query = entries.where(HISTORY.c.topic == topic, HISTORY.c.cursor > _bounded(cursor)).order_by(HISTORY.c.cursor)
        with self._database.reading() as connection:
            return [entry_of(row) for row in connection.execute(query.limit(limit))]

    def cursor_at(self, moment: int) -> int:
        """A cursor after which is everything that could not be seen yet at a moment, and a little besides.

        That is the batch that was being written then. Where several have one time, as while a clock that was turned
        back is waited for, it is all of these. Who has seen them tells by the cursors.
        """
        earlier = select(BATCHES.c.first).where(BATCHES.c.added <= moment)
        last = earlier.order_by(BATCHES.c.added.desc(), BATCHES.c.first).limit(1)
        with self._database.reading() as connection:
            first = connection.execute(last).scalar()
        return 0 if first is None else first - 1

    def newest(self) -> int:
        """The last cursor of all."""
        with self._database.reading() as connection:
            return int(connection.execute(select(PROGRESS.c.cursor).where(WRITTEN)).scalar_one())

    def counts(self, subscriber: str) -> Counts:
        """How many notifications a subscriber has, read or not."""
        total = select(func.count()).select_from(NOTIFICATIONS).where(NOTIFICATIONS.c.subscriber == subscriber)
        unread = _unread(select(func.count()).select_from(_joined()), subscriber)
        with self._database.reading() as connection:
            return Counts(connection.execute(total).scalar_one(), connection.execute(unread).scalar_one())

    def mark_read(self, subscriber: str, cursors: Iterable[int] = (), *, up_to: int | None = None) -> int:
        """Mark single notifications as read, and those up to a cursor, on all devices; return how many were not yet.

        Cursors that are not the subscriber's are passed over, and a cursor of the future marks nothing still to come.
        """
        with self._database.writing() as connection:
            marked = 0 if up_to is None else self._read_up_to(connection, subscriber, up_to)
            wanted = sorted(set(cursors))
            for begin in range(0, len(wanted), _AT_ONCE):
                marked += self._read_singly(connection, subscriber, wanted[begin : begin + _AT_ONCE])
        return marked

    def _read_up_to(self, connection: Connection, subscriber: str, up_to: int) -> int:
        column = NOTIFICATIONS.c.cursor
        unread = _unread(select(func.count(), func.max(column)).select_from(_joined()), subscriber)
        count, last = connection.execute(unread.where(column <= _bounded(up_to))).one()
        if count:
            made = self._database.insert(READ_UP_TO).values(subscriber=subscriber, cursor=last)
            further = {"set_": {"cursor": last}, "where": READ_UP_TO.c.cursor < last}
            connection.execute(made.on_conflict_do_update(index_elements=["subscriber"], **further))
            mine = (READ_SINGLY.c.subscriber == subscriber, READ_SINGLY.c.cursor <= last)
            connection.execute(READ_SINGLY.delete().where(*mine))
        return int(count)

    def _read_singly(self, connection: Connection, subscriber: str, cursors: list[int]) -> int:
        mine = _unread(select(NOTIFICATIONS.c.subscriber, NOTIFICATIONS.c.cursor).select_from(_joined()), subscriber)
        named = mine.where(NOTIFICATIONS.c.cursor.in_([_bounded(cursor) for cursor in cursors]))
        made = self._database.insert(READ_SINGLY).from_select(["subscriber", "cursor"], named)
        return connection.execute(made.on_conflict_do_nothing()).rowcount

    def _notifications(self, query: Select[*tuple[Any, ...]], cursor: int, limit: int) -> list[Notification]:
        column = NOTIFICATIONS.c.cursor
        with self._database.reading() as connection:
            rows = connection.execute(query.where(column > _bounded(cursor)).order_by(column).limit(limit))
            return [notification_of(row) for row in rows]


def _joined() -> Any:
    """Notifications beside what was read of them."""
    mine = READ_UP_TO.c.subscriber == NOTIFICATIONS.c.subscriber
    singly = and_(
        READ_SINGLY.c.subscriber == NOTIFICATIONS.c.subscriber, READ_SINGLY.c.cursor == NOTIFICATIONS.c.cursor
    )
    return NOTIFICATIONS.outerjoin(READ_UP_TO, mine).outerjoin(READ_SINGLY, singly)


def _notifications() -> Select[*tuple[Any, ...]]:
    read = or_(NOTIFICATIONS.c.cursor <= func.coalesce(READ_UP_TO.c.cursor, 0), READ_SINGLY.c.cursor.is_not(None))
    whole = _joined().join(POSTS, POSTS.c.id == NOTIFICATIONS.c.post)
    return select(NOTIFICATIONS, POSTS.c.body, read.label("is_read")).select_from(whole)


def _unread(query: Select[*tuple[Any, ...]], subscriber: str) -> Select[*tuple[Any, ...]]:
    """Only what a subscriber has not read; found by the index, from the cursor on up to which all was."""
    up_to = select(READ_UP_TO.c.cursor).where(READ_UP_TO.c.subscriber == subscriber).scalar_subquery()
    return query.where(
        NOTIFICATIONS.c.subscriber == subscriber,
        NOTIFICATIONS.c.cursor > func.coalesce(up_to, 0),
        READ_SINGLY.c.cursor.is_(None),
    )


def _bounded(cursor: int) -> int:
    """A cursor that the database can compare, whatever a client has sent."""
    return max(0, min(cursor, _GREATEST))
