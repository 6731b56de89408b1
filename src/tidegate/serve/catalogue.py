"""The subscriptions of a service, active or paused: made, found, changed, paused, resumed and removed."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from threading import Lock
from typing import Any

import pyarrow as pa

from tidegate.deliver.database import Database
from tidegate.errors import StoreError, TidegateError
from tidegate.serve.paused import Paused
from tidegate.serve.standing_rows import StandingRows
from tidegate.store.checking import subscription_errors
from tidegate.store.schema import SUBSCRIPTION
from tidegate.store.store import Store
from tidegate.text.analyzer import Analyzer


@dataclass(frozen=True)
class Subscription:
    """A subscription, and whether it is paused."""

    row: dict[str, Any]
    """As the store has it."""
    is_paused: bool

    @property
    def id(self) -> str:
        """Its id."""
        return str(self.row["id"])

    @property
    def subscriber(self) -> str:
        """Whose it is."""
        return str(self.row["subscriber"])

    def has_expired(self) -> bool:
        """Whether its time is over."""
        expires: datetime | None = self.row["expires"]
        return expires is not None and expires <= datetime.now(UTC)


class ChangedError(TidegateError):
    """A subscription that is not any more what somebody was about to change."""


class Catalogue:
    """All subscriptions. May be shared by threads; whatever returns is durable.

    What was changed since it was looked up is not changed again, by `ChangedError`: what is removed would come back.
    """

    def __init__(self, store: Store, database: Database) -> None:
        """Keep what is active in a store and what is paused in a database."""
        self._store, self._database = store, database
        self._analyzer = Analyzer()
        self.standing = StandingRows(store)
        self._paused = Paused(database)
        self._changing = Lock()
        # What somebody was about to pause or resume when the service died has stayed active.
        left = [str(row["id"]) for row in self._paused.of(None)]
        self._paused.remove([each for each in left if self.standing.get(each) is not None])

    def get(self, id: str) -> Subscription | None:  # noqa: A002
        """One subscription, or None."""
        active = self.standing.get(id)
        if active is not None:
            return Subscription(active, is_paused=False)
        paused = self._paused.get(id)
        return None if paused is None else Subscription(paused, is_paused=True)

    def of(self, subscriber: str) -> list[Subscription]:
        """All of a subscriber, by id."""
        return _together(self.standing.of(subscriber), self._paused.of(subscriber))

    def page(self, subscriber: str | None, after: str, limit: int) -> list[Subscription]:
        """The first after an id, by id: of a subscriber, or of all."""
        if subscriber is not None:
            listed = self.of(subscriber)
        else:
            listed = _together(self.standing.page(after, limit), self._paused.of(None))
        return [each for each in listed if each.id > after][:limit]

    def make(self, asked: dict[str, Any]) -> Subscription:
        """Make a subscription, of arguments of `Store.subscribe`; those made at the same time share a commit."""
        made = self.get(self._store.subscribe(**asked))
        if made is None:
            raise StoreError("a subscription was removed as soon as it was made: make it again")
        return made

    def change(self, subscription: Subscription, row: dict[str, Any]) -> Subscription:
        """Let a subscription be `row` from now on, active or paused as it is."""
        with self._unchanged(subscription):
            if subscription.is_paused:
                for error in subscription_errors(_table(row), self._analyzer, self._store.scorable).values():
                    raise error
                self._paused.put(row)
            else:
                self._put(row)
        return replace(subscription, row=row)

    def pause(self, subscription: Subscription) -> Subscription:
        """Keep a subscription from matching, until it is resumed."""
        if not subscription.is_paused:
            with self._unchanged(subscription):
                self._paused.put(subscription.row)
                self._store.unsubscribe(subscription.id)
        return replace(subscription, is_paused=True)

    def resume(self, subscription: Subscription) -> Subscription:
        """Let a subscription match again."""
        if subscription.is_paused:
            with self._unchanged(subscription):
                self._put(subscription.row)
                self._paused.remove([subscription.id])
        return replace(subscription, is_paused=False)

    def remove(self, subscription: Subscription) -> None:
        """Remove a subscription for good, whatever has become of it since it was looked up."""
        with self._alone_with(subscription):
            # In this order: should it end in between, nothing is left that comes up as paused.
            self._paused.remove([subscription.id])
            if self.standing.get(subscription.id) is not None:
                self._store.unsubscribe(subscription.id)

    @contextmanager
    def _unchanged(self, subscription: Subscription) -> Iterator[None]:
        """Let nobody else change it, if nobody has."""
        with self._alone_with(subscription):
            if self.get(subscription.id) != subscription:
                raise ChangedError(f"subscription {subscription.id!r} was changed meanwhile: look it up again")
            yield

    @contextmanager
    def _alone_with(self, subscription: Subscription) -> Iterator[None]:
        """Let nobody else change it, of this service or of another one on the same database."""
        with self._changing, self._database.alone_with(f"subscription {subscription.id}"):
            yield

    def _put(self, row: dict[str, Any]) -> None:
        applied = self._store.apply(_table(row))
        if applied.refused:
            raise applied.refused[0].error


def _table(row: dict[str, Any]) -> pa.Table:
    return pa.Table.from_pylist([row], schema=SUBSCRIPTION)


def _together(active: list[dict[str, Any]], paused: list[dict[str, Any]]) -> list[Subscription]:
    known = {row["id"]: Subscription(row, is_paused=True) for row in paused}
    known |= {row["id"]: Subscription(row, is_paused=False) for row in active}
    return [known[each] for each in sorted(known)]
