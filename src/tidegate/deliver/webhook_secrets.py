"""What a subscriber checks its webhooks with: drawn for it alone, and changed when it asks for another."""

import secrets
from collections.abc import Collection
from typing import Final

from sqlalchemy import func, literal, select

from tidegate.deliver.clock import DAY, Clock, now
from tidegate.deliver.database import Database
from tidegate.deliver.schema import SUBSCRIBERS, WEBHOOK_SECRETS
from tidegate.deliver.signature import secret_text

RETIRING: Final = DAY
"""For so long (microseconds) after a change webhooks are signed with both secrets, and no receiver misses one."""

_BYTES: Final = 32


class WebhookSecrets:
    """The secrets of all subscribers. They have to be readable: whoever can read the database can sign with them."""

    def __init__(self, database: Database, clock: Clock = now) -> None:
        """Use a database; `clock` says when a secret is drawn."""
        self._database, self._clock = database, clock

    def current(self, subscriber: str) -> str | None:
        """The secret of a subscriber; None if there is no such subscriber."""
        return next(iter(self.valid([subscriber]).get(subscriber, ())), None)

    def rotate(self, subscriber: str) -> str | None:
        """Draw another; return it, or None if there is no such subscriber. Those who ask at once get the same."""
        own = WEBHOOK_SECRETS.c.subscriber == subscriber
        last = select(func.coalesce(func.max(WEBHOOK_SECRETS.c.serial), -1)).where(own)
        with self._database.reading() as connection:
            serial = connection.execute(last).scalar_one()
        self._draw([subscriber], serial + 1)
        with self._database.writing() as connection:
            connection.execute(WEBHOOK_SECRETS.delete().where(own, WEBHOOK_SECRETS.c.serial < serial))
        return self.current(subscriber)

    def valid(self, subscribers: Collection[str]) -> dict[str, tuple[str, ...]]:
        """What is to be signed with now, the newest first; drawn for those subscribers that have none yet."""
        found = self._found(subscribers)
        if missing := set(subscribers) - found.keys():
            self._draw(missing, 0)
            found |= self._found(missing)
        return found

    def _found(self, subscribers: Collection[str]) -> dict[str, tuple[str, ...]]:
        table, found = WEBHOOK_SECRETS.c, dict[str, tuple[str, ...]]()
        query = select(WEBHOOK_SECRETS).where(table.subscriber.in_(sorted(subscribers))).order_by(table.serial.desc())
        with self._database.reading() as connection:
            rows = connection.execute(query).all()
        changed = {row.subscriber: row.made for row in reversed(rows)}
        for row in rows:
            if row.subscriber not in found or changed[row.subscriber] > self._clock() - RETIRING:
                found[row.subscriber] = (*found.get(row.subscriber, ()), row.secret)
        return found

    def _draw(self, subscribers: Collection[str], serial: int) -> None:
        """Draw secrets of this number, where there are none; only for who is a subscriber still."""
        with self._database.writing() as connection:
            for name in sorted(subscribers):
                drawn = secret_text(secrets.token_bytes(_BYTES))
                row = (SUBSCRIBERS.c.name, literal(serial), literal(drawn), literal(self._clock()))
                made = self._database.insert(WEBHOOK_SECRETS).from_select(
                    ["subscriber", "serial", "secret", "made"], select(*row).where(SUBSCRIBERS.c.name == name)
                )
                connection.execute(made.on_conflict_do_nothing())
