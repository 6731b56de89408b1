"""What is old is forgotten, what is not stays, and nobody has to wait."""

import threading

from sqlalchemy import func, select

from tests.deliver.scenes import DAY, Clock, match, posts
from tidegate.deliver.database import Database
from tidegate.deliver.digest_queue import DigestQueue, Waiting
from tidegate.deliver.inbox import Counts, Inbox
from tidegate.deliver.outbox import Order, Outbox
from tidegate.deliver.retention import Forgotten, Retention
from tidegate.deliver.schema import BATCHES, DIGEST_QUEUE, METADATA, OUTBOX, POSTS, READ_SINGLY
from tidegate.deliver.subscribers import Subscribers


def count(database: Database, table: str) -> int:
    with database.reading() as connection:
        return int(connection.execute(select(func.count()).select_from(METADATA.tables[table])).scalar_one())


def test_what_was_taken_more_than_ninety_days_ago_is_forgotten(database: Database, inbox: Inbox, clock: Clock) -> None:
    nasa = {"topic": "account:nasa"}
    for day in range(4):
        inbox.add([match("ana", f"{day}-{n}", **nasa) for n in range(25)] + [match("ben", f"{day}-0")], "run", day)
        clock.now += DAY
    clock.now += 88 * DAY  # the first two batches are 92 and 91 days old, the third is 90
    retention = Retention(database, clock, rows=7, pause_s=0)
    assert retention.run() == Forgotten(notifications=52, history=50, posts=50)
    assert posts(inbox.since("ben")) == ["2-0", "3-0"]
    assert len(inbox.since("ana")) == len(inbox.history("account:nasa")) == count(database, "posts") == 50
    assert retention.run() == Forgotten()


def test_a_post_that_was_told_of_again_is_kept_for_those_who_were(
    database: Database, inbox: Inbox, clock: Clock
) -> None:
    inbox.add([match("ana", "p"), match("ana", "q")], "run", 0)
    clock.now += 60 * DAY
    inbox.add([match("ben", "p")], "run", 1)
    clock.now += 40 * DAY
    assert Retention(database, clock).run() == Forgotten(notifications=2, posts=1)
    assert posts(inbox.since("ben")) == ["p"]
    # Long after, it is news to whoever had forgotten it, and to no one else.
    assert inbox.add([match("ana", "p"), match("ben", "p")], "other", 0).notifications == 1


def test_what_hangs_on_old_notifications_goes_with_them(database: Database, inbox: Inbox, clock: Clock) -> None:
    outbox, subscribers = Outbox(database, clock), Subscribers(database, clock)
    for batch in range(2):
        inbox.add([match("ana", f"{batch}-{n}") for n in range(3)], "run", batch)
        new = inbox.since("ana")[-3:]
        inbox.mark_read("ana", [new[1].cursor])
        DigestQueue(database).add([Waiting("ana", new[2].cursor, clock.now + 200 * DAY)])
        outbox.add([Order("ana", "webhook", f"{what}-{batch}", (new[0].cursor,)) for what in ("sent", "waits")])
        sent, waits = outbox.take(["webhook"])
        outbox.sent(sent.lease)
        outbox.retry(waits.lease, clock.now + 200 * DAY, 1, "busy")
        subscribers.see("ana", f"phone-{batch}", "mobile")
        clock.now += 50 * DAY
    Retention(database, clock).run()
    assert {table.name: count(database, table.name) for table in (READ_SINGLY, DIGEST_QUEUE, OUTBOX, POSTS)} == {
        "read_singly": 1,
        "digest_queue": 1,
        "outbox": 3,  # what waits is not given up for its age
        "posts": 3,
    }
    assert [device.name for device in subscribers.devices("ana")] == ["phone-1"]
    assert inbox.counts("ana") == Counts(3, 2)


def test_the_last_batch_of_a_run_is_known_however_old(database: Database, inbox: Inbox, clock: Clock) -> None:
    for batch in range(3):
        inbox.add([match("ana", str(batch))], "run", batch)
    clock.now += 1_000 * DAY
    Retention(database, clock).run()
    assert count(database, BATCHES.name) == 1
    assert inbox.has("run", 2)
    assert inbox.add([match("ana", "2")], "run", 2).notifications == 0
    assert inbox.since("ana") == []


def test_readers_and_writers_go_on_meanwhile(database: Database, inbox: Inbox, clock: Clock) -> None:
    for batch in range(4):
        inbox.add([match(f"reader{n % 50}", f"old-{batch}-{n}") for n in range(3_000)], "old", batch)
    clock.now += 91 * DAY
    forgotten: list[Forgotten] = []
    retention = Retention(database, clock, rows=300, pause_s=0.005)
    forgetting = threading.Thread(target=lambda: forgotten.append(retention.run()))
    forgetting.start()
    written, reads = 0, 0
    while forgetting.is_alive():
        # Some posts are old ones that come again, just as they are being forgotten.
        again = [match("ana", f"old-{written % 4}-{n}") for n in range(20)]
        assert inbox.add([match("ana", f"new-{written}"), *again], "new", written).cursor is not None
        written += 1
        reads += bool(inbox.since("ana", limit=5)) and bool(inbox.counts("reader1"))
    forgetting.join()
    assert forgotten[0].notifications == 12_000
    assert written == reads
    assert written >= 5
    mine = posts(inbox.since("ana", limit=100_000))
    assert len(mine) == len(set(mine)) == written + 20 * min(written, 4)
    assert {post for post in mine if post.startswith("new")} == {f"new-{number}" for number in range(written)}
    assert inbox.counts("reader1").total == 0
