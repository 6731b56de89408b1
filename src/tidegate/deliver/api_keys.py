"""Keys by which a service knows who asks. Only their hashes are kept: who reads the database cannot use them."""

import secrets
from collections.abc import Collection
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from sqlalchemy import ColumnElement, Connection, select

from tidegate.deliver.clock import Clock, now
from tidegate.deliver.database import Database
from tidegate.deliver.schema import API_KEYS, PROGRESS

_PREFIX: Final = "tide_"
# A key is drawn, not thought up: it cannot be guessed, so a hash that is quick to compute protects it.
_BYTES: Final = 32
# As many parameters as any database takes with one statement.
_AT_ONCE: Final = 1000
_REVOKED: Final = PROGRESS.c.name == "revoked"


@dataclass(frozen=True)
class Holder:
    """Whose a key is."""

    subscriber: str
    is_operator: bool


class ApiKeys:
    """The keys that are valid."""

    def __init__(self, database: Database, clock: Clock = now) -> None:
        """Use a database; `clock` says when a key is made."""
        self._database, self._clock = database, clock

    def issue(self, subscriber: str, *, is_operator: bool = False) -> str:
        """Make a key for a subscriber and return it: it is never shown again."""
        key = _PREFIX + secrets.token_urlsafe(_BYTES)
        row = {"hash": key_hash(key), "subscriber": subscriber, "is_operator": int(is_operator), "made": self._clock()}
        with self._database.writing() as connection:
            connection.execute(API_KEYS.insert(), row)
        return key

    def holder(self, key: str) -> Holder | None:
        """Whose a key is; None of one that was not issued, or has been revoked."""
        query = select(API_KEYS.c.subscriber, API_KEYS.c.is_operator).where(API_KEYS.c.hash == key_hash(key))
        with self._database.reading() as connection:
            row = connection.execute(query).first()
        return None if row is None else Holder(row.subscriber, bool(row.is_operator))

    def valid(self, hashes: Collection[str]) -> set[str]:
        """Those of some keys that are valid, all by their hashes."""
        wanted, found = sorted(hashes), set[str]()
        with self._database.reading() as connection:
            for begin in range(0, len(wanted), _AT_ONCE):
                some = API_KEYS.c.hash.in_(wanted[begin : begin + _AT_ONCE])
                found.update(connection.execute(select(API_KEYS.c.hash).where(some)).scalars())
        return found

    def revoked(self) -> int:
        """A number that is another one whenever keys were revoked, by whatever process."""
        with self._database.reading() as connection:
            return int(connection.execute(select(PROGRESS.c.cursor).where(_REVOKED)).scalar_one())

    def revoke(self, key: str) -> bool:
        """Make a key invalid; say whether it was valid."""
        with self._database.writing() as connection:
            return revoke_within(connection, API_KEYS.c.hash == key_hash(key), self._clock()) > 0

    def revoke_all(self, subscriber: str) -> int:
        """Make all keys of a subscriber invalid; return how many there were."""
        with self._database.writing() as connection:
            return revoke_within(connection, API_KEYS.c.subscriber == subscriber, self._clock())


def revoke_within(connection: Connection, which: ColumnElement[bool], now: int) -> int:
    """Make keys invalid, as a part of a transaction, so that whoever watches sees it; return how many."""
    gone = connection.execute(API_KEYS.delete().where(which)).rowcount
    if gone:
        connection.execute(PROGRESS.update().where(_REVOKED).values(cursor=PROGRESS.c.cursor + 1, at=now))
    return gone


def key_hash(key: str) -> str:
    """What is kept of a key."""
    return sha256(key.encode()).hexdigest()
