"""The subscribers of some notifications, as rules know them: from what the database has of each."""

import json
import logging
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Final

import pyarrow as pa
from sqlalchemy import Connection, select, true

from tidegate.deliver.bulk import staged
from tidegate.deliver.clock import SECOND
from tidegate.deliver.database import Database
from tidegate.deliver.preferences import Preferences
from tidegate.deliver.schema import CAPS, DEVICES, SUBSCRIBERS
from tidegate.deliver.subscriber import Subscriber
from tidegate.errors import ConfigError

_LOG = logging.getLogger(__name__)

ONLINE_S: Final = 30.0
"""A device is online if it was seen so lately; those that are connected are noted several times as often."""


@lru_cache(maxsize=10_000)
def preferences_of(name: str, preferences: str, tags: str) -> Preferences:
    """A subscriber's preferences as stored, with its tags. From those that make no sense nothing is sent anywhere."""
    try:
        read = Preferences.from_json(json.loads(preferences))
    except ConfigError as error:
        _LOG.warning("subscriber %r has its notifications in the inbox only: %s", name, error)
        return Preferences()
    return replace(read, tags=read.tags | frozenset(json.loads(tags)))


@dataclass
class Audience:
    """Subscribers that a channel reaches, by name, and the times of what caps have let through to them."""

    subscribers: dict[str, Subscriber]
    recent: dict[str, tuple[int, ...]]
    _changed: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, connection: Connection, names: Collection[str], now: int, channels: frozenset[str]) -> "Audience":
        """Read them inside a transaction, of which a removal waits for the end.

        A channel that nobody serves, because it is not among `channels`, is for them as if they had turned it off.
        """
        missing = frozenset(("push", "email", "webhook")) - channels
        preferences = {
            name: replace(wishes, refuse=wishes.refuse | missing)
            for name, wishes in stored_preferences(connection, names, hold=True).items()
        }
        reached = {name: one for name, one in preferences.items() if any(one.lacks(way) is None for way in channels)}
        known, online = defaultdict(set), defaultdict(set)
        for row in connection.execute(select(DEVICES).where(DEVICES.c.subscriber.in_(reached))):
            known[row.subscriber].add(row.kind)
            if row.seen > now - round(ONLINE_S * SECOND):
                online[row.subscriber].add(row.kind)
        subscribers = {
            name: Subscriber(name, frozenset(online[name]), frozenset(known[name]), wishes)
            for name, wishes in reached.items()
        }
        times = connection.execute(select(CAPS).where(CAPS.c.subscriber.in_(reached)))
        return cls(subscribers, {row.subscriber: tuple(json.loads(row.recent)) for row in times})

    def let_through(self, name: str, recent: tuple[int, ...]) -> None:
        """Remember the times that caps are to know of."""
        if recent != self.recent.get(name, ()):
            self.recent[name] = recent
            self._changed.add(name)

    def keep(self, database: Database, connection: Connection) -> None:
        """Write down what is to be remembered."""
        if not self._changed:
            return
        changed = sorted(self._changed)
        times = [json.dumps(self.recent[name]) for name in changed]
        new = staged(connection, "new_caps", pa.table({"subscriber": changed, "recent": times}))
        query = select(new.c.subscriber, new.c.recent).where(true())
        made = database.insert(CAPS).from_select(["subscriber", "recent"], query)
        latest = {"recent": made.excluded.recent}
        connection.execute(made.on_conflict_do_update(index_elements=["subscriber"], set_=latest))


def stored_preferences(connection: Connection, names: Collection[str], *, hold: bool = False) -> dict[str, Preferences]:
    """The preferences of those subscribers that are known; with `hold`, none is removed before the transaction ends."""
    query = select(SUBSCRIBERS).where(SUBSCRIBERS.c.name.in_(sorted(names)))
    if hold:
        query = query.with_for_update(read=True, key_share=True)
    rows = connection.execute(query)
    return {row.name: _with_confirmed(preferences_of(row.name, row.preferences, row.tags), row) for row in rows}


def _with_confirmed(preferences: Preferences, row: Any) -> Preferences:
    """What was read of a row, without letters to an address that nobody has confirmed."""
    addresses = preferences.addresses
    if addresses.email is None or addresses.email == row.confirmed:
        return preferences
    return replace(preferences, addresses=replace(addresses, is_confirmed=False))
