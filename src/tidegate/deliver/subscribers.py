"""What is known of subscribers: preferences and tags, devices and when they were last seen.

Preferences are JSON that others understand; here they are kept.
"""

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, select

from tidegate.deliver.api_keys import revoke_within
from tidegate.deliver.clock import Clock, now
from tidegate.deliver.confirming import forget_letters
from tidegate.deliver.database import Database
from tidegate.deliver.departed import note_departure, note_return
from tidegate.deliver.schema import (
    API_KEYS,
    CAPS,
    DEVICES,
    DIGEST_QUEUE,
    MARKS,
    NOTIFICATIONS,
    OUTBOX,
    PAUSED,
    READ_SINGLY,
    READ_UP_TO,
    SUBSCRIBERS,
    WEBHOOK_SECRETS,
)
from tidegate.deliver.taking import hold
from tidegate.errors import ConfigError

_PERSONAL = (
    NOTIFICATIONS,
    READ_UP_TO,
    READ_SINGLY,
    MARKS,
    DIGEST_QUEUE,
    OUTBOX,
    CAPS,
    DEVICES,
    PAUSED,
    WEBHOOK_SECRETS,
)


@dataclass(frozen=True)
class Record:
    """A subscriber as stored."""

    name: str
    preferences: dict[str, Any]
    tags: frozenset[str]
    made: int
    confirmed: str | None
    """The e-mail address that was confirmed."""

    @property
    def is_confirmed(self) -> bool | None:
        """Whether the e-mail address that the preferences name is confirmed; None if they name none."""
        named = (self.preferences.get("addresses") or {}).get("email")
        return None if named is None else named == self.confirmed


@dataclass(frozen=True)
class Device:
    """A device of a subscriber: its kind (desktop, mobile, …), and when it was last seen."""

    name: str
    kind: str
    seen: int


class Subscribers:
    """The records of all subscribers."""

    def __init__(self, database: Database, clock: Clock = now) -> None:
        """Use a database; `clock` says when something is made or seen."""
        self._database, self._clock = database, clock

    def put(self, name: str, preferences: Mapping[str, Any] | None = None, tags: Iterable[str] = ()) -> None:
        """Make a subscriber, or replace what is known of one; when it was made stays."""
        if not name:
            raise ConfigError("a subscriber needs a name")
        values = _values(preferences, tags)
        made = self._database.insert(SUBSCRIBERS).values(name=name, made=self._clock(), **values)
        with self._database.writing() as connection:
            connection.execute(made.on_conflict_do_update(index_elements=["name"], set_=values))

    def make(
        self, name: str, preferences: Mapping[str, Any] | None = None, tags: Iterable[str] = (), *, version: int = 0
    ) -> bool:
        """Make a subscriber, unless there is one of that name: say whether it was made.

        Whatever may have come in for somebody of that name who was removed is not its own; `version` is that of the
        store by now.
        """
        made = self._database.insert(SUBSCRIBERS).values(name=name, made=self._clock(), **_values(preferences, tags))
        with self._database.writing() as connection:
            hold(connection)
            is_made: bool = connection.execute(made.on_conflict_do_nothing()).rowcount > 0
            if is_made and note_return(connection, name, version, self._clock()):
                self._forget(connection, name)
        return is_made

    def replace(self, name: str, preferences: Mapping[str, Any], tags: Iterable[str]) -> bool:
        """Replace what is known of a subscriber; say whether there is one. Who is being removed does not come back."""
        changed = SUBSCRIBERS.update().where(SUBSCRIBERS.c.name == name).values(**_values(preferences, tags))
        with self._database.writing() as connection:
            return connection.execute(changed).rowcount > 0

    def get(self, name: str) -> Record | None:
        """What is known of a subscriber."""
        return next(iter(self.some([name])), None)

    def some(self, names: Iterable[str]) -> list[Record]:
        """What is known of those subscribers that are, by name."""
        query = select(SUBSCRIBERS).where(SUBSCRIBERS.c.name.in_(list(names))).order_by(SUBSCRIBERS.c.name)
        with self._database.reading() as connection:
            return [_record(row) for row in connection.execute(query)]

    def page(self, after: str = "", limit: int = 100) -> list[Record]:
        """The first subscribers after a name, by name."""
        query = select(SUBSCRIBERS).where(SUBSCRIBERS.c.name > after).order_by(SUBSCRIBERS.c.name).limit(limit)
        with self._database.reading() as connection:
            return [_record(row) for row in connection.execute(query)]

    def remove(self, name: str, subscriptions: Collection[str] = (), version: int = 0) -> bool:
        """Forget a subscriber and everything that was ever for it alone; say whether there was one.

        What was matched for it, by these subscriptions or against the store before that version, and comes in later is
        for nobody.
        """
        with self._database.writing() as connection:
            hold(connection)
            # First of all: it waits for who is deciding what the subscriber is sent, which is then removed as well.
            was_there = connection.execute(SUBSCRIBERS.delete().where(SUBSCRIBERS.c.name == name)).rowcount > 0
            self._forget(connection, name)
            if was_there:
                note_departure(connection, name, subscriptions, version, self._clock())
            return was_there

    def _forget(self, connection: Connection, name: str) -> None:
        forget_letters(connection, name, self._clock())
        for table in _PERSONAL:
            connection.execute(table.delete().where(table.c.subscriber == name))
        revoke_within(connection, API_KEYS.c.subscriber == name, self._clock())

    def change(self, name: str, change: Callable[[dict[str, Any]], dict[str, Any]]) -> dict[str, Any] | None:
        """Replace a subscriber's preferences by what `change` makes of them, and return that; None: there is no such.

        What others change at the same time is kept.
        """
        own = SUBSCRIBERS.c.name == name
        with self._database.writing() as connection:
            before = connection.execute(select(SUBSCRIBERS.c.preferences).where(own).with_for_update()).scalar()
            if before is None:
                return None
            after = change(json.loads(before))
            connection.execute(SUBSCRIBERS.update().where(own).values(preferences=json.dumps(after)))
            return after

    def see(self, subscriber: str, device: str, kind: str) -> None:
        """Note that a device is there now."""
        values = {"kind": kind, "seen": self._clock()}
        made = self._database.insert(DEVICES).values(subscriber=subscriber, device=device, **values)
        with self._database.writing() as connection:
            connection.execute(made.on_conflict_do_update(index_elements=["subscriber", "device"], set_=values))

    def devices(self, subscriber: str) -> list[Device]:
        """The devices of a subscriber, the last seen first."""
        query = select(DEVICES).where(DEVICES.c.subscriber == subscriber).order_by(DEVICES.c.seen.desc())
        with self._database.reading() as connection:
            return [Device(row.device, row.kind, row.seen) for row in connection.execute(query)]


def _values(preferences: Mapping[str, Any] | None, tags: Iterable[str]) -> dict[str, str]:
    return {"preferences": json.dumps(dict(preferences or {})), "tags": json.dumps(sorted(set(tags)))}


def _record(row: Any) -> Record:
    return Record(row.name, json.loads(row.preferences), frozenset(json.loads(row.tags)), row.made, row.confirmed)
