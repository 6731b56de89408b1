"""What was marked as read, in the order in which it was: by which services tell live feeds, whichever one marked it.

The last ones are kept, for those who look again and again. What was read is elsewhere, for good.
"""

import json
from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

from sqlalchemy import Connection, select

from tidegate.deliver.database import Database
from tidegate.deliver.schema import MARKS, PROGRESS

KEPT: Final = 10_000
_MARKED: Final = PROGRESS.c.name == "marked"


class Mark(NamedTuple):
    """Single notifications that were read, or everything up to one, or both."""

    number: int
    subscriber: str
    cursors: tuple[int, ...]
    up_to: int | None


def note_mark(connection: Connection, subscriber: str, cursors: Sequence[int], up_to: int | None, now: int) -> None:
    """Note a mark, as the last part of a transaction: others that mark wait for its end, so none is passed over."""
    advanced = PROGRESS.update().where(_MARKED).values(cursor=PROGRESS.c.cursor + 1, at=now)
    number = int(connection.execute(advanced.returning(PROGRESS.c.cursor)).scalar_one())
    body = json.dumps({"cursors": list(cursors), "up_to": up_to})
    connection.execute(MARKS.insert().values(number=number, subscriber=subscriber, body=body))
    connection.execute(MARKS.delete().where(MARKS.c.number <= number - KEPT))


class Marks:
    """The marks of a database."""

    def __init__(self, database: Database) -> None:
        """Read from a database."""
        self._database = database

    def newest(self) -> int:
        """The number of the last one."""
        with self._database.reading() as connection:
            return int(connection.execute(select(PROGRESS.c.cursor).where(_MARKED)).scalar_one())

    def between(self, after: int, newest: int, online: Collection[str]) -> list[Mark]:
        """Those after a number, up to the newest, of subscribers who are online."""
        query = select(MARKS).where(MARKS.c.number > after, MARKS.c.number <= newest).order_by(MARKS.c.number)
        with self._database.reading() as connection:
            rows = [row for row in connection.execute(query) if row.subscriber in online]
        bodies = [json.loads(row.body) for row in rows]
        return [
            Mark(row.number, row.subscriber, tuple(body["cursors"]), body["up_to"])
            for row, body in zip(rows, bodies, strict=True)
        ]
