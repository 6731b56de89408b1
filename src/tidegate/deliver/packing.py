"""Packing: orders from the outbox become parcels, with the address and the notifications as they are by now."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict
from hashlib import blake2b
from typing import Any

from tidegate.deliver.addressing import target, without
from tidegate.deliver.audience import stored_preferences
from tidegate.deliver.clock import Clock, now
from tidegate.deliver.database import Database
from tidegate.deliver.inbox import Inbox
from tidegate.deliver.notification import Notification
from tidegate.deliver.outbox import Order, Outbox, Share, Taken
from tidegate.deliver.parcel import Parcel
from tidegate.deliver.planning import CONFIRMATION, RINGING
from tidegate.deliver.preferences import Preferences
from tidegate.deliver.subscribers import Subscribers

Secrets = Callable[[Collection[str]], Mapping[str, Sequence[str]]]
"""Gives what webhooks of subscribers are signed with."""


class PackedParcels:
    """What a courier takes from an outbox. May be shared by threads."""

    def __init__(
        self,
        database: Database,
        outbox: Outbox,
        channels: Collection[str],
        secrets: Secrets,
        clock: Clock = now,
    ) -> None:
        """Take orders for these channels alone; `secrets` are what webhooks are signed with."""
        self._database, self._outbox, self._channels, self._secrets = database, outbox, channels, secrets
        self._clock, self._inbox, self._subscribers = clock, Inbox(database), Subscribers(database)
        self.lease_s = outbox.lease_s

    def take(self, limit: int, share: Share | None = None) -> list[Parcel]:
        """Take what is due and pack it. What cannot be packed is given up, and what must not ring now is put off."""
        parcels: list[Parcel] = []
        while not parcels and (taken := self._outbox.take(self._channels, limit, share)):
            notifications = self._inbox.some({cursor for one in taken for cursor in one.order.cursors})
            with self._database.reading() as connection:
                preferences = stored_preferences(connection, {one.order.subscriber for one in taken})
            secrets = self._secrets({one.order.subscriber for one in taken if one.order.channel == "webhook"})
            parcels = [
                parcel
                for one in taken
                if (
                    parcel := self._packed(
                        one,
                        preferences.get(one.order.subscriber),
                        secrets.get(one.order.subscriber, ()),
                        notifications,
                    )
                )
            ]
        return parcels

    def renew(self, parcels: Collection[Parcel]) -> None:
        """Keep parcels for longer."""
        self._outbox.renew([parcel.lease for parcel in parcels])

    def sent(self, parcel: Parcel) -> None:
        """Note that it has arrived."""
        self._outbox.sent(parcel.lease)

    def postpone(self, parcel: Parcel, at: int, attempts: int, why: str) -> None:
        """Note that it is to be tried again."""
        self._outbox.retry(parcel.lease, at, attempts, why)

    def give_up(self, parcel: Parcel, why: str, is_gone: bool) -> None:
        """Note that it will not arrive, and forget an address that is gone."""
        if is_gone:
            self._subscribers.change(parcel.subscriber, lambda before: without(before, parcel.channel, parcel.target))
        self._outbox.give_up(parcel.lease, why)

    def _packed(
        self,
        taken: Taken,
        preferences: Preferences | None,
        secrets: Sequence[str],
        notifications: dict[int, Notification],
    ) -> Parcel | None:
        order = taken.order
        address = None if preferences is None else target(order, preferences, secrets)
        content = tuple(_content(notifications[cursor]) for cursor in order.cursors if cursor in notifications)
        if address is None or not (content or order.channel == CONFIRMATION):
            missing = "the subscriber has withdrawn the address" if address is None else "the inbox has forgotten it"
            self._outbox.give_up(taken.lease, missing)
            return None
        # It was decided before quiet hours began, and an attempt or an engine failed until now.
        until = preferences.quiet_until(self._clock()) if preferences and order.channel in RINGING else None
        if until is not None:
            self._outbox.retry(taken.lease, until, taken.attempts, "quiet hours")
            return None
        return Parcel(_id(order), order.subscriber, order.channel, address, content, taken.attempts, taken.lease)


def _content(notification: Notification) -> dict[str, Any]:
    told = asdict(notification)
    del told["subscriber"], told["is_read"]
    return told


def _id(order: Order) -> str:
    """The same at every attempt, different for every order, and fit for a header."""
    named = "\0".join((order.subscriber, order.channel, order.key))
    return blake2b(named.encode(), digest_size=16).hexdigest()
