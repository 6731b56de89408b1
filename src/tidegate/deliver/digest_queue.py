"""Notifications that wait to be told of together."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import groupby
from typing import NamedTuple

import pyarrow as pa
from sqlalchemy import Connection, select, true

from tidegate.deliver.bulk import staged
from tidegate.deliver.database import Database
from tidegate.deliver.schema import DIGEST_QUEUE


class Waiting(NamedTuple):
    """A notification that waits for the digest that is due then."""

    subscriber: str
    cursor: int
    due: int


@dataclass(frozen=True)
class Due:
    """A digest that is due."""

    subscriber: str
    due: int
    cursors: tuple[int, ...]
    """Of the notifications in it, in order."""

    @property
    def key(self) -> str:
        """Names the digest among all that the subscriber gets; a very long one comes in several."""
        return f"digest:{self.due}:{self.cursors[0]}"


class DigestQueue:
    """What goes into the next digest of each subscriber."""

    def __init__(self, database: Database) -> None:
        """Use a database."""
        self._database = database

    def add(self, waiting: Iterable[Waiting]) -> None:
        """Put notifications into digests; one that waits already stays where it is."""
        with self._database.writing() as connection:
            self.add_within(connection, waiting)

    def add_within(self, connection: Connection, waiting: Iterable[Waiting]) -> None:
        """Do as `add`, as a part of a transaction."""
        rows = list(waiting)
        if not rows:
            return
        columns = zip(Waiting._fields, zip(*rows, strict=True), strict=True)
        new = staged(connection, "new_in_digests", pa.table({name: pa.array(column) for name, column in columns}))
        query = select(*(new.c[name] for name in Waiting._fields)).where(true())
        made = self._database.insert(DIGEST_QUEUE).from_select(list(Waiting._fields), query)
        connection.execute(made.on_conflict_do_nothing())

    def due(self, moment: int, limit: int = 10_000) -> list[Due]:
        """The digests that are due at a moment, the longest due first; `limit` counts notifications.

        A digest that the limit cuts is left for the next call, unless it is the only one.
        """
        table = DIGEST_QUEUE.c
        query = select(table.due, table.subscriber, table.cursor).where(table.due <= moment)
        ordered = query.order_by(table.due, table.subscriber, table.cursor).limit(limit + 1)
        with self._database.reading() as connection:
            rows = connection.execute(ordered).all()
        found = [
            Due(subscriber, due, tuple(row.cursor for row in group))
            for (due, subscriber), group in groupby(rows[:limit], key=lambda row: (row.due, row.subscriber))
        ]
        return found[:-1] if len(rows) > limit and len(found) > 1 else found

    def take_within(self, connection: Connection, digest: Due) -> Due | None:
        """Take a digest from the queue, as a part of a transaction; return what of it nobody else has taken."""
        own = (
            DIGEST_QUEUE.c.subscriber == digest.subscriber,
            DIGEST_QUEUE.c.due == digest.due,
            DIGEST_QUEUE.c.cursor.in_(digest.cursors),
        )
        taken = connection.execute(DIGEST_QUEUE.delete().where(*own).returning(DIGEST_QUEUE.c.cursor)).scalars()
        cursors = tuple(sorted(taken))
        return replace(digest, cursors=cursors) if cursors else None
