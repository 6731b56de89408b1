"""Section *inbox*: notifications written a second, beside rows written as one usually would."""

import json
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa
from sqlalchemy import func, select

from tidegate.bench.delivery.matches import Matches, reasons_of
from tidegate.bench.report import Report, Row
from tidegate.deliver.database import Database
from tidegate.deliver.inbox import Added, Inbox
from tidegate.deliver.schema import NOTIFICATIONS, POSTS
from tidegate.errors import TidegateError

TITLE: Final = "Inbox: notifications written a second"
NOTE: Final = (
    "A batch is one transaction, on the disk when it ends. The rival writes the same rows by INSERT … ON CONFLICT, "
    "many at a time, without read state, histories, cursors that rise or replays."
)


@dataclass
class Kept:
    """What has to be in the inbox in the end, as plain Python counts it."""

    totals: Counter[str] = field(default_factory=Counter)
    told: dict[str, dict[str, list[str]]] = field(default_factory=lambda: defaultdict(dict))
    """Of the subscribers that are compared as a whole: posts and reasons, in order."""

    def add(self, batch: pa.Table, checked: int) -> None:
        """Count a batch."""
        for (subscriber, post), reasons in reasons_of(batch).items():
            self.totals[subscriber] += 1
            if int(subscriber.removeprefix("reader")) < checked:
                self.told[subscriber][post] = reasons


def report_inbox(report: Report, name: str, new: Callable[[], str], matches: Matches) -> Row:
    """Write all batches to a new database of a kind, compare what is in it, and return the row of its table.

    `new` makes a database and returns its URL.
    """
    sizes = matches.sizes
    database = Database.open(new())
    inbox, kept = Inbox(database), Kept()
    paces: list[float] = []
    total = seconds = 0.0
    for number in range(sizes.batches):
        batch = matches.batch(number)
        began = time.perf_counter()
        added = inbox.add(batch, "bench", number)
        took = time.perf_counter() - began
        kept.add(batch, sizes.checked)
        paces.append(added.notifications / took)
        total, seconds = total + added.notifications, seconds + took
    began = time.perf_counter()
    _check(inbox, database, kept, inbox.add(batch, "bench", sizes.batches - 1))
    checked = time.perf_counter() - began
    database.close()
    rival = _rival(new(), matches)
    report.summary[f"inbox_rows_per_s_{name.lower()}"] = total / seconds
    return {
        "database": name,
        "notifications": int(total),
        "rows/s": total / seconds,
        "best batch": max(paces),
        "worst batch": min(paces),
        "rival, rows/s": rival,
        "compared in s": checked,
    }


def _check(inbox: Inbox, database: Database, kept: Kept, replayed: Added) -> None:
    """Raise `TidegateError` unless the inbox has what it has to, no less and no more."""
    if replayed != Added():
        raise TidegateError(f"wrong answers: a batch that came again made {replayed.notifications} notifications")
    query = select(NOTIFICATIONS.c.subscriber, func.count().label("count")).group_by(NOTIFICATIONS.c.subscriber)
    with database.reading() as connection:
        totals = Counter({row.subscriber: row.count for row in connection.execute(query)})
    if totals != kept.totals:
        many, missing = (totals - kept.totals).total(), (kept.totals - totals).total()
        raise TidegateError(f"wrong answers: {many} notifications too many, {missing} are missing")
    for subscriber, told in kept.told.items():
        found = inbox.since(subscriber, limit=len(told) + 1)
        if [(one.id, [reason["subscription"] for reason in one.reasons]) for one in found] != list(told.items()):
            raise TidegateError(f"wrong answers: the inbox of {subscriber} differs from plain Python's")
        if any(one.post["id"] != one.id for one in found):
            raise TidegateError(f"wrong answers: {subscriber} has a notification with another's post")


def _rival(url: str, matches: Matches) -> float:
    """Rows written a second in the usual way: grouped in Python, then many at a time by INSERT … ON CONFLICT."""
    database = Database.open(url)
    total = seconds = 0.0
    for number in range(matches.sizes.rival_batches):
        batch = matches.batch(number)
        began = time.perf_counter()
        posts = dict(zip(batch["id"].to_pylist(), batch["post"].to_pylist(), strict=True))
        told = reasons_of(batch)
        rows = [
            {
                "cursor": int(total) + position,
                "subscriber": subscriber,
                "post": post,
                "reasons": json.dumps([{"subscription": reason} for reason in reasons]),
                "topic": f"subscription:{reasons[0]}",
                "topic_type": "match",
                "at": 0,
            }
            for position, ((subscriber, post), reasons) in enumerate(told.items(), 1)
        ]
        with database.writing() as connection:
            bodies = [{"id": post, "body": body, "cursor": 0} for post, body in posts.items()]
            connection.execute(database.insert(POSTS).on_conflict_do_nothing(), bodies)
            connection.execute(database.insert(NOTIFICATIONS).on_conflict_do_nothing(), rows)
        seconds += time.perf_counter() - began
        total += len(rows)
    database.close()
    return total / seconds
