"""What is to be sent by webhook, e-mail or push: at least once, also if a sender dies before it says that it has.

An order says what and by which channel, and leaves the rest for when it is sent: an address that was withdrawn in the
meantime gets nothing.
"""

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import pyarrow as pa
from sqlalchemy import Connection, Select, literal, select, true, tuple_

from tidegate.deliver.bulk import POSITION, staged
from tidegate.deliver.clock import SECOND, Clock, now
from tidegate.deliver.database import Database
from tidegate.deliver.schema import OUTBOX

_LEASE_S: Final = 60.0
_LOOKED_THROUGH: Final = 4


@dataclass(frozen=True)
class Order:
    """That a subscriber is to get notifications by a channel."""

    subscriber: str
    channel: str
    key: str
    """Names the order among all that are for the subscriber and the channel."""
    cursors: tuple[int, ...]
    """Of the notifications."""
    device: str | None = None
    """Which one, where the channel may lead to several: the endpoint of a push."""


class Lease(NamedTuple):
    """The right to send an order, for a while: which order, and how often it has changed hands."""

    number: int
    taken: int


@dataclass(frozen=True)
class Taken:
    """An order that is to be sent now; `attempts` before it have failed, or were never heard of again."""

    order: Order
    lease: Lease
    attempts: int


@dataclass(frozen=True)
class Share:
    """How many orders of one subscriber may be under way at once, and how many are: others are to have their turn."""

    most: int
    under_way: Mapping[str, int] = field(default_factory=dict)

    @property
    def busy(self) -> list[str]:
        """Of whom no more are to be taken."""
        return sorted(name for name, count in self.under_way.items() if count >= self.most)

    def of(self, names: Iterable[str]) -> list[bool]:
        """Whether the orders of these subscribers, in this order, can be taken together."""
        count = Counter(self.under_way)
        fits = []
        for name in names:
            fits.append(count[name] < self.most)
            count[name] += fits[-1]
        return fits


class Outbox:
    """Orders that wait for their channel. Any number of processes may add to it and send from it."""

    def __init__(self, database: Database, clock: Clock = now, *, lease_s: float = _LEASE_S) -> None:
        """Use a database. Who takes an order and is not heard of for `lease_s` is believed dead."""
        self._database, self._clock, self.lease_s = database, clock, lease_s

    def add(self, orders: Iterable[Order]) -> None:
        """Have orders sent; one whose subscriber, channel and key are there already, sent or not, is passed over."""
        with self._database.writing() as connection:
            self.add_within(connection, orders)

    def add_within(self, connection: Connection, orders: Iterable[Order]) -> None:
        """Do as `add`, as a part of a transaction."""
        rows = [(order.subscriber, order.channel, order.key, _message(order)) for order in orders]
        if not rows:
            return
        names, moment = ("subscriber", "channel", "key", "message"), literal(self._clock())
        columns = zip(names, zip(*rows, strict=True), strict=True)
        new = staged(connection, "new_orders", pa.table({name: pa.array(column) for name, column in columns}))
        usual = {"attempts": literal(0), "taken": literal(0), "next_try": moment, "added": moment}
        query = select(*(new.c[name] for name in names), *usual.values()).where(true()).order_by(new.c[POSITION])
        made = self._database.insert(OUTBOX).from_select([*names, *usual], query)
        connection.execute(made.on_conflict_do_nothing())

    def take(self, channels: Collection[str], limit: int = 100, share: Share | None = None) -> list[Taken]:
        """Take orders for these channels that are due, the longest due first; nobody else gets them during the lease.

        Those beyond the `share` of their subscriber are left.

        An attempt counts as failed until something else is heard of it: what kills its sender is not sent for ever.
        """
        moment = self._clock()
        due = select(OUTBOX).where(OUTBOX.c.next_try <= moment, OUTBOX.c.channel.in_(sorted(channels)))
        ordered = due.order_by(OUTBOX.c.next_try, OUTBOX.c.number)
        # As a rule nothing is due: no writer need be waited for to see that. What is may be another's a moment later.
        while numbers := self._due(ordered, limit, share):
            if taken := self._lease(ordered, numbers):
                return taken
        return []

    def renew(self, leases: Collection[Lease]) -> None:
        """Begin leases anew that nobody else has taken over: their orders are still being sent."""
        mine = tuple_(OUTBOX.c.number, OUTBOX.c.taken).in_([tuple(lease) for lease in leases])
        with self._database.writing() as connection:
            still = OUTBOX.update().where(mine, OUTBOX.c.settled.is_(None), OUTBOX.c.next_try > self._clock())
            connection.execute(still.values(next_try=self._lease_end()))

    def sent(self, lease: Lease) -> None:
        """Note that an order has arrived."""
        self._note(lease, next_try=None, error=None, settled=self._clock())

    def retry(self, lease: Lease, at: int, attempts: int, error: str) -> None:
        """Note that an order did not arrive, and is to be tried again; so many attempts have failed."""
        # The lease is over: should somebody be about to renew it, nothing comes of that.
        self._note(lease, next_try=at, attempts=attempts, taken=lease.taken + 1, error=error)

    def give_up(self, lease: Lease, error: str) -> None:
        """Note that an order will not arrive."""
        self._note(lease, next_try=None, error=error, settled=self._clock())

    def _due(self, due: Select[*tuple[Any, ...]], limit: int, share: Share | None) -> list[int]:
        """The numbers of the first orders that are due and that there is room for.

        With shares, several times as many are looked through: one subscriber may have a long row, and is busy then.
        """
        if share is None:
            share = Share(limit)
        open_to = due.where(OUTBOX.c.subscriber.not_in(share.busy)) if share.busy else due
        with self._database.reading() as connection:
            rows = connection.execute(open_to.limit(_LOOKED_THROUGH * limit)).all()
        fits = share.of(row.subscriber for row in rows)
        return [row.number for row, is_fit in zip(rows, fits, strict=True) if is_fit][:limit]

    def _lease(self, due: Select[*tuple[Any, ...]], numbers: list[int]) -> list[Taken]:
        """Take those of some orders that nobody else has taken."""
        with self._database.writing() as connection:
            # What others are taking at this moment is passed over; SQLite has one writer, and no need for it.
            mine = due.where(OUTBOX.c.number.in_(numbers)).with_for_update(skip_locked=True)
            rows = connection.execute(mine).all()
            leased = OUTBOX.update().where(OUTBOX.c.number.in_([row.number for row in rows]))
            counted = {"attempts": OUTBOX.c.attempts + 1, "taken": OUTBOX.c.taken + 1}
            connection.execute(leased.values(next_try=self._lease_end(), **counted))
        return [Taken(_order(row), Lease(row.number, row.taken + 1), row.attempts) for row in rows]

    def _lease_end(self) -> int:
        return self._clock() + round(self.lease_s * SECOND)

    def _note(self, lease: Lease, **values: int | str | None) -> None:
        # Who comes late, when another has the order by now, changes nothing, unless it did arrive.
        own = [OUTBOX.c.number == lease.number, OUTBOX.c.settled.is_(None)]
        if values["error"] is not None:
            own.append(OUTBOX.c.taken == lease.taken)
        with self._database.writing() as connection:
            connection.execute(OUTBOX.update().where(*own).values(**values))


def _message(order: Order) -> str:
    if order.device is None and len(order.cursors) == 1:  # as most of them are, and there are many
        return f'{{"cursors": [{order.cursors[0]}], "device": null}}'
    return json.dumps({"cursors": order.cursors, "device": order.device})


def _order(row: Any) -> Order:
    message = json.loads(row.message)
    return Order(row.subscriber, row.channel, row.key, tuple(message["cursors"]), message["device"])
