"""Subscribers that were removed: what is still under way to them must not reach who is called the same later.

A job that has pinned a version of the store from before a removal may bring matches long after it, when it was stopped
meanwhile. They are told by that version; where none is known, by the subscriptions that the subscriber had.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
from sqlalchemy import Connection, select

from tidegate.deliver.schema import DEPARTED, PROGRESS

_CHANGED: Final = PROGRESS.c.name == "departed"
_BETWEEN: Final = "\0"


class StaleError(Exception):
    """Somebody was removed since it was last read who was."""


@dataclass(frozen=True)
class Departed:
    """Who was removed, as of a change of that table."""

    serial: int = -1
    versions: Mapping[str, int] = field(default_factory=dict)
    """By name: the version of the store by which all was removed."""
    subscriptions: frozenset[tuple[str, str]] = frozenset()
    """The names, and the subscriptions that they had."""

    def demand_current(self, connection: Connection) -> None:
        """Raise `StaleError` if there was a change since; who holds the inbox knows then that there will be none."""
        if _serial(connection) != self.serial:
            raise StaleError

    def has_left(self, matches: pa.Table, version: int | None) -> pa.ChunkedArray:
        """Of which matches the subscriber was removed, if that is what they were matched against."""
        subscriber = matches["subscriber"]
        if version is not None:
            names = [name for name, removed in self.versions.items() if version < removed]
            return pc.is_in(subscriber, value_set=pa.array(names, pa.large_string()))
        pairs = [_BETWEEN.join(pair) for pair in self.subscriptions]
        both = pc.binary_join_element_wise(subscriber, matches["subscription"], pa.scalar(_BETWEEN, pa.large_string()))
        return pc.is_in(both, value_set=pa.array(pairs, pa.large_string()))


def read_departed(connection: Connection, known: Departed) -> Departed:
    """Who was removed by now; `known` is what was read before, and read again only if there was a change since."""
    serial = _serial(connection)
    if serial == known.serial:
        return known
    rows = connection.execute(select(DEPARTED)).all()
    versions = {row.name: row.version for row in rows if not row.subscription}
    return Departed(serial, versions, frozenset((row.name, row.subscription) for row in rows if row.subscription))


def _serial(connection: Connection) -> int:
    return int(connection.execute(select(PROGRESS.c.cursor).where(_CHANGED)).scalar_one())


def note_departure(connection: Connection, name: str, subscriptions: Collection[str], version: int, now: int) -> None:
    """Remember that a subscriber was removed, by that version of the store, with these subscriptions."""
    connection.execute(DEPARTED.delete().where(DEPARTED.c.name == name))
    rows = [{"name": name, "subscription": each, "version": version, "at": now} for each in ("", *set(subscriptions))]
    connection.execute(DEPARTED.insert(), rows)
    _note_change(connection, now)


def note_return(connection: Connection, name: str, version: int, now: int) -> bool:
    """Say whether somebody of this name was removed before.

    If that was at a version that the store has yet to come to, it was another store, whose jobs bring nothing any more.
    """
    own = (DEPARTED.c.name == name, DEPARTED.c.subscription == "")
    removed = connection.execute(select(DEPARTED.c.version).where(*own)).scalar()
    if removed is not None and removed > version:
        connection.execute(DEPARTED.delete().where(DEPARTED.c.name == name))
        _note_change(connection, now)
    return removed is not None


def _note_change(connection: Connection, now: int) -> None:
    connection.execute(PROGRESS.update().where(_CHANGED).values(cursor=PROGRESS.c.cursor + 1, at=now))
