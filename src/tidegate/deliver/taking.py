"""One batch into the inbox, inside one transaction."""

import json
from typing import Final

from sqlalchemy import Connection, Table, bindparam, case, literal, select, true

from tidegate.deliver.arriving import Arriving
from tidegate.deliver.bulk import POSITION, staged
from tidegate.deliver.clock import Clock
from tidegate.deliver.database import Database
from tidegate.deliver.schema import BATCHES, HISTORY, NOTIFICATIONS, POSTS, PROGRESS

WRITTEN: Final = PROGRESS.c.name == "written"
"""The row of `PROGRESS` that whoever writes holds."""


def take(
    database: Database, connection: Connection, brought: Arriving, run: str, batch: int, clock: Clock
) -> tuple[int, int, int] | None:
    """Take what a batch has brought; None, and nothing changed, if it was taken before.

    Returns how many notifications are new, how many got further reasons, and the batch's last cursor.
    """
    # What needs no lock comes before it.
    notifications = staged(connection, "arriving_notifications", brought.notifications)
    posts = staged(connection, "arriving_posts", brought.posts)
    history = staged(connection, "arriving_history", brought.history)
    hold(connection)
    if is_taken(connection, run, batch):
        return None
    # By now: of those who have waited for each other, each was there for readers when its own turn came, not before.
    last, added = _set_aside(connection, brought.cursors, clock())
    before = last - brought.cursors
    are_new = _take_posts(database, connection, posts, last) == brought.posts.num_rows
    if not are_new:
        # Posts that are told of again are needed for longer.
        connection.execute(POSTS.update().where(POSTS.c.id.in_(select(posts.c.id))).values(cursor=last))
    _take_history(database, connection, history, before)
    new = _take_notifications(database, connection, notifications, before, are_new=are_new)
    merged = 0 if are_new else _merge_reasons(connection, notifications, before)
    record = {"run": run, "batch": batch, "first": before + 1, "last": last, "added": added, "notifications": new}
    connection.execute(BATCHES.insert(), record)
    return new, merged, last


def is_taken(connection: Connection, run: str, batch: int) -> bool:
    """Whether a batch was taken."""
    query = select(BATCHES.c.batch).where(BATCHES.c.run == run, BATCHES.c.batch == batch)
    return connection.execute(query).first() is not None


def hold(connection: Connection) -> None:
    """Be the only one that changes the inbox, until the end of the transaction."""
    connection.execute(PROGRESS.update().where(WRITTEN).values(cursor=PROGRESS.c.cursor))


def _set_aside(connection: Connection, cursors: int, now: int) -> tuple[int, int]:
    """Set cursors aside; return the last, and the time.

    Should the clock have been turned back, the time stands still: batches are in the order of their times.
    """
    moment = case((PROGRESS.c.at < now, now), else_=PROGRESS.c.at)
    advanced = PROGRESS.update().where(WRITTEN).values(cursor=PROGRESS.c.cursor + cursors, at=moment)
    row = connection.execute(advanced.returning(PROGRESS.c.cursor, PROGRESS.c.at)).one()
    return row.cursor, row.at


def _take_posts(database: Database, connection: Connection, posts: Table, last: int) -> int:
    """Add the posts that are not there yet; return how many."""
    rows = select(posts.c.id, posts.c.body, literal(last)).where(true())
    made = database.insert(POSTS).from_select(["id", "body", "cursor"], rows)
    return connection.execute(made.on_conflict_do_nothing()).rowcount


def _take_history(database: Database, connection: Connection, history: Table, before: int) -> None:
    names = ["topic", "post", "topic_type", "at"]
    rows = select(*(history.c[name] for name in names), history.c[POSITION] + before).where(true())
    connection.execute(database.insert(HISTORY).from_select([*names, "cursor"], rows).on_conflict_do_nothing())


def _take_notifications(
    database: Database, connection: Connection, arriving: Table, before: int, *, are_new: bool
) -> int:
    """Add those that are not there yet; return how many."""
    names = ["subscriber", "post", "reasons", "topic", "topic_type", "at", "offloaded"]
    rows = select(*(arriving.c[name] for name in names), arriving.c[POSITION] + before).where(true())
    made = database.insert(NOTIFICATIONS).from_select([*names, "cursor"], rows)
    if not are_new:
        made = made.on_conflict_do_nothing(index_elements=["subscriber", "post"])
    return connection.execute(made).rowcount


def _merge_reasons(connection: Connection, arriving: Table, before: int) -> int:
    """Give earlier notifications the reasons that they did not have; return how many got any."""
    same = (NOTIFICATIONS.c.subscriber == arriving.c.subscriber) & (NOTIFICATIONS.c.post == arriving.c.post)
    query = (
        select(NOTIFICATIONS.c.subscriber, NOTIFICATIONS.c.cursor, NOTIFICATIONS.c.reasons, arriving.c.reasons)
        .join(arriving, same)
        .where(NOTIFICATIONS.c.cursor <= before, NOTIFICATIONS.c.reasons != arriving.c.reasons)
    )
    changes = []
    for subscriber, cursor, old, further in connection.execute(query):
        had = json.loads(old)
        reasons = had + [reason for reason in json.loads(further) if reason not in had]
        if len(reasons) > len(had):
            written = json.dumps(reasons, ensure_ascii=False, separators=(",", ":"))
            changes.append({"whose": subscriber, "which": cursor, "reasons": written})
    if changes:
        own = (NOTIFICATIONS.c.subscriber == bindparam("whose"), NOTIFICATIONS.c.cursor == bindparam("which"))
        connection.execute(NOTIFICATIONS.update().where(*own).values(reasons=bindparam("reasons")), changes)
    return len(changes)
