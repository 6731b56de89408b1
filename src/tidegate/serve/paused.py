"""Subscriptions that are paused.

The store knows no such thing, on purpose: what is paused is not there, so from the next micro-batch on no job matches
it, whatever its sink. Until it is resumed it is kept here, in the database of delivery. One that is in the store is
active, whatever is found here: a service that died half-way through pausing or resuming has left it active.
"""

import json
from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Select, select

from tidegate.deliver.database import Database
from tidegate.deliver.schema import PAUSED

_TIMES: Final = ("created", "expires")


class Paused:
    """Subscriptions by id, as rows of the store."""

    def __init__(self, database: Database) -> None:
        """Use a database."""
        self._database = database

    def put(self, subscription: dict[str, Any]) -> None:
        """Keep a subscription, or replace the one of its id."""
        body = json.dumps(subscription, default=datetime.isoformat)
        values = {"subscriber": subscription["subscriber"], "body": body}
        made = self._database.insert(PAUSED).values(id=subscription["id"], **values)
        with self._database.writing() as connection:
            connection.execute(made.on_conflict_do_update(index_elements=["id"], set_=values))

    def remove(self, ids: Iterable[str]) -> None:
        """Forget subscriptions, as far as they are here."""
        with self._database.writing() as connection:
            connection.execute(PAUSED.delete().where(PAUSED.c.id.in_(list(ids))))

    def get(self, id: str) -> dict[str, Any] | None:  # noqa: A002
        """One subscription, or None."""
        return next(iter(self._rows(select(PAUSED.c.body).where(PAUSED.c.id == id))), None)

    def of(self, subscriber: str | None) -> list[dict[str, Any]]:
        """The subscriptions of a subscriber, or of all."""
        query = select(PAUSED.c.body)
        return self._rows(query if subscriber is None else query.where(PAUSED.c.subscriber == subscriber))

    def _rows(self, query: Select[tuple[Any]]) -> list[dict[str, Any]]:
        with self._database.reading() as connection:
            return [_read(body) for (body,) in connection.execute(query)]


def _read(body: str) -> dict[str, Any]:
    row: dict[str, Any] = json.loads(body)
    return row | {name: datetime.fromisoformat(row[name]) for name in _TIMES if row[name] is not None}
