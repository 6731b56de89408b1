"""Deciding: what becomes of every notification in the inbox, once, in the order in which it came there."""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, select

from tidegate.deliver.addressing import orders
from tidegate.deliver.audience import Audience
from tidegate.deliver.clock import Clock, now
from tidegate.deliver.database import Database
from tidegate.deliver.digest_queue import DigestQueue, Waiting
from tidegate.deliver.event import Event, Reason
from tidegate.deliver.outbox import Order, Outbox
from tidegate.deliver.planning import SENT, plan
from tidegate.deliver.rules import Rules
from tidegate.deliver.schema import NOTIFICATIONS, POSTS, PROGRESS
from tidegate.deliver.taking import WRITTEN
from tidegate.deliver.watched_rules import WatchedRules

DECIDED: Final = PROGRESS.c.name == "decided"
"""The row of `PROGRESS` that whoever decides holds."""

Known = Callable[[Collection[str]], Mapping[str, Reason]]
"""Tells the tags and the end of subscriptions, by their ids; of which nothing is known are left out."""


@dataclass(frozen=True)
class Decided:
    """What a round came to."""

    notifications: int = 0
    orders: int = 0
    """Put into the outbox."""
    waiting: int = 0
    """Put into digests."""


class _Told(NamedTuple):
    """A row of the inbox, and its reasons."""

    row: Any
    reasons: list[dict[str, Any]]


class Deciding:
    """Follows the inbox. Any number of processes may: one of them decides at a time."""

    def __init__(
        self,
        database: Database,
        rules: WatchedRules,
        channels: Collection[str],
        clock: Clock = now,
        known: Known = lambda _: {},
        at_once: int = 2000,
    ) -> None:
        """Decide by rules for those of push, e-mail and webhook that are served.

        `known` is asked for the subscriptions of who restricts them by tags. While a round of `at_once` notifications
        is decided, nobody else can write to an SQLite database.
        """
        self._database, self._rules, self._clock, self._known = database, rules, clock, known
        self._channels, self._at_once = frozenset(channels), at_once
        self._outbox, self._digests = Outbox(database, clock), DigestQueue(database)

    def round(self) -> Decided:
        """Decide about the next notifications; what they are to do and that it is decided is one transaction."""
        rules = self._rules.current()
        if not self._is_behind():
            return Decided()
        with self._database.writing() as connection:
            held = PROGRESS.update().where(DECIDED).values(cursor=PROGRESS.c.cursor)
            begin = connection.execute(held.returning(PROGRESS.c.cursor)).scalar_one()
            # Asked for before the notifications: of those up to here none can be missing among them.
            newest = connection.execute(select(PROGRESS.c.cursor).where(WRITTEN)).scalar_one()
            within = (NOTIFICATIONS.c.cursor > begin, NOTIFICATIONS.c.cursor <= newest)
            query = select(NOTIFICATIONS).where(*within).order_by(NOTIFICATIONS.c.cursor).limit(self._at_once)
            rows = connection.execute(query).all()
            end = rows[-1].cursor if len(rows) == self._at_once else newest
            moment = self._clock()
            decided = self._decide(connection, rows, rules, moment)
            connection.execute(PROGRESS.update().where(DECIDED).values(cursor=end, at=moment))
        return decided

    def pass_over(self) -> None:
        """Leave all that is in the inbox by now as it is: it was there before anything was to be sent."""
        newest = select(PROGRESS.c.cursor).where(WRITTEN)
        with self._database.writing() as connection:
            cursor = connection.execute(newest).scalar_one()
            behind = PROGRESS.update().where(DECIDED, PROGRESS.c.cursor < cursor)
            connection.execute(behind.values(cursor=cursor, at=self._clock()))

    def _is_behind(self) -> bool:
        """Whether there may be something to decide; no writer need be waited for to see that there is not."""
        with self._database.reading() as connection:
            written, decided = (
                connection.execute(select(PROGRESS.c.cursor).where(which)).scalar_one() for which in (WRITTEN, DECIDED)
            )
        return bool(written > decided)

    def _decide(self, connection: Connection, rows: Sequence[Any], rules: Rules, moment: int) -> Decided:
        """Decide about rows of the inbox."""
        audience = Audience.of(connection, {row.subscriber for row in rows}, moment, self._channels)
        # Those of most subscribers stay in the inbox.
        told = [_Told(row, json.loads(row.reasons)) for row in rows if row.subscriber in audience.subscribers]
        known = self._known_of(told, audience)
        posts = self._posts_of(connection, told, audience)
        ordered: list[Order] = []
        waiting: list[Waiting] = []
        for row, reasons in told:
            subscriber = audience.subscribers[row.subscriber]
            recent = audience.recent.get(row.subscriber, ())
            about, is_offloaded = posts.get(row.post, {}), bool(row.offloaded)
            event = Event.of(row.topic, row.topic_type, row.at, about, reasons, known, is_offloaded=is_offloaded)
            decided = plan(event, subscriber, rules, recent, moment)
            audience.let_through(row.subscriber, decided.recent)
            # What is for the live feed and the inbox is there already.
            for channel, at in decided.sends:
                if channel == "digest":
                    waiting.append(Waiting(row.subscriber, row.cursor, at))
                elif channel in SENT:
                    wishes = subscriber.preferences
                    ordered += orders(row.subscriber, wishes, channel, str(row.cursor), (row.cursor,))
        self._outbox.add_within(connection, ordered)
        self._digests.add_within(connection, waiting)
        audience.keep(self._database, connection)
        return Decided(len(rows), len(ordered), len(waiting))

    def _known_of(self, told: list[_Told], audience: Audience) -> Mapping[str, Reason]:
        restricted = [one for one in told if audience.subscribers[one.row.subscriber].preferences.tags]
        names = {reason["subscription"] for one in restricted for reason in one.reasons} - {None}
        return self._known(names) if names else {}

    def _posts_of(self, connection: Connection, told: list[_Told], audience: Audience) -> dict[str, dict[str, Any]]:
        """The posts about which it matters who wrote them; the others are not even read."""
        wanted = {one.row.post for one in told if audience.subscribers[one.row.subscriber].preferences.mute.accounts}
        if not wanted:
            return {}
        found = connection.execute(select(POSTS.c.id, POSTS.c.body).where(POSTS.c.id.in_(sorted(wanted))))
        return {row.id: json.loads(row.body) for row in found}
