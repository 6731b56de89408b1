"""Forgetting what is too old, a few thousand rows at a time: writers wait for one such step at most, readers for none.

Partitions could be dropped faster, but a table cut by time cannot promise that a post and a subscriber meet once.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from itertools import chain
from typing import Final

from sqlalchemy import ColumnElement, Connection, Table, func, select, tuple_

from tidegate.deliver.clock import DAY, Clock, now
from tidegate.deliver.confirming import MEMORY
from tidegate.deliver.database import Database
from tidegate.deliver.planning import CONFIRMATION
from tidegate.deliver.schema import (
    BATCHES,
    DEPARTED,
    DEVICES,
    DIGEST_QUEUE,
    HISTORY,
    LAST_EVENTS,
    NOTIFICATIONS,
    OUTBOX,
    POSTS,
    PROGRESS,
    READ_SINGLY,
)
from tidegate.deliver.taking import hold
from tidegate.errors import ConfigError

GoOn = Callable[["Forgotten"], bool]
"""Is told what is gone so far, and says whether to go on."""

_FORGOTTEN: Final = "forgotten"


@dataclass(frozen=True)
class Forgotten:
    """How many rows are gone."""

    notifications: int = 0
    history: int = 0
    posts: int = 0

    def __add__(self, other: "Forgotten") -> "Forgotten":
        """The sum of two steps."""
        return Forgotten(*(getattr(self, field.name) + getattr(other, field.name) for field in fields(self)))


class Retention:
    """Keeps an inbox for so many days after a batch was taken."""

    def __init__(
        self, database: Database, clock: Clock = now, *, days: float = 90, rows: int = 2000, pause_s: float = 0.02
    ) -> None:
        """Remove about `rows` in a transaction, and let others have their turn for `pause_s` after it."""
        if days <= 0 or rows < 1 or pause_s < 0:
            raise ConfigError(
                f"retention of {days} days, {rows} rows at a time, pauses of {pause_s} s: "
                "give days above 0, rows from 1 on, and a pause of 0 or more"
            )
        self._database, self._clock = database, clock
        self._age, self._rows, self._pause_s = round(days * DAY), rows, pause_s

    def run(self, go_on: GoOn = lambda _: True) -> Forgotten:
        """Forget all that is too old by now; may be killed at any moment, and be run by several processes at once.

        `go_on` is told after every step what is gone so far, and may end it.
        """
        limit = self._clock() - self._age
        horizon = self._horizon(limit)
        done = Forgotten()
        # A post outlives the notifications about it: that no post of a batch is known means that none of these is.
        for step in chain(self._forget_told(horizon), self._forget_rest(horizon, limit)):
            done += step
            if not go_on(done):
                break
            time.sleep(self._pause_s)
        return done

    def _horizon(self, limit: int) -> int:
        """The last cursor of the batches that are too old."""
        query = select(func.coalesce(func.max(BATCHES.c.last), 0)).where(BATCHES.c.added < limit)
        with self._database.reading() as connection:
            return int(connection.execute(query).scalar_one())

    def _forget_told(self, horizon: int) -> Iterator[Forgotten]:
        """Step through the cursors, up to the horizon."""
        own = PROGRESS.c.name == _FORGOTTEN
        while True:
            with self._database.writing() as connection:
                hold(connection)
                begin = connection.execute(select(PROGRESS.c.cursor).where(own)).scalar_one()
                if begin >= horizon:
                    return
                end = min(begin + self._rows, horizon)
                connection.execute(PROGRESS.update().where(own).values(cursor=end, at=self._clock()))
                gone = Forgotten(
                    notifications=_deleted(connection, NOTIFICATIONS, begin, end),
                    history=_deleted(connection, HISTORY, begin, end),
                )
            yield gone

    def _forget_rest(self, horizon: int, limit: int) -> Iterator[Forgotten]:
        """Step through what hangs on what was told."""
        for gone in self._forget(POSTS, POSTS.c.cursor <= horizon, "id"):
            yield Forgotten(posts=gone)
        # The last batch of a run may come again, however long ago it was.
        newest = BATCHES.alias("newest")
        last = select(func.max(newest.c.batch)).where(newest.c.run == BATCHES.c.run).scalar_subquery()
        letters_that_count = (OUTBOX.c.channel == CONFIRMATION) & (OUTBOX.c.added > self._clock() - MEMORY)
        others = (
            self._forget(READ_SINGLY, READ_SINGLY.c.cursor <= horizon, "subscriber", "cursor"),
            self._forget(DIGEST_QUEUE, DIGEST_QUEUE.c.cursor <= horizon, "subscriber", "cursor"),
            self._forget(OUTBOX, (OUTBOX.c.settled < limit) & ~letters_that_count, "number"),
            self._forget(DEVICES, DEVICES.c.seen < limit, "subscriber", "device"),
            self._forget(LAST_EVENTS, LAST_EVENTS.c.at < limit, "site", "topic"),
            self._forget(DEPARTED, DEPARTED.c.at < limit, "name", "subscription"),
            self._forget(BATCHES, (BATCHES.c.added < limit) & (BATCHES.c.batch < last), "run", "batch"),
        )
        for _ in chain.from_iterable(others):
            yield Forgotten()

    def _forget(self, table: Table, condition: ColumnElement[bool], *key: str) -> Iterator[int]:
        """Remove the rows of a table for which a condition holds; yield after every step how many it was."""
        columns = [table.c[name] for name in key]
        some = select(*columns).where(condition).limit(self._rows)
        step = table.delete().where(tuple_(*columns).in_(some))
        found = self._rows
        while found == self._rows:
            with self._database.writing() as connection:
                hold(connection)
                found = connection.execute(step).rowcount
            yield found


def _deleted(connection: Connection, table: Table, begin: int, end: int) -> int:
    return connection.execute(table.delete().where(table.c.cursor > begin, table.c.cursor <= end)).rowcount
