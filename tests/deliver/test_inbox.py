"""The inbox on both databases: once, in order, read everywhere, and like a model of it in plain Python."""

import random
import threading
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import select

from tests.deliver.scenes import Clock, match, posts, subscriptions
from tidegate.deliver.database import Database
from tidegate.deliver.inbox import Added, Counts, Inbox
from tidegate.deliver.schema import NOTIFICATIONS
from tidegate.deliver.taking import hold


def test_several_matching_queries_are_one_notification_with_all_reasons(inbox: Inbox, clock: Clock) -> None:
    rows = [match("ana", "p", "storms"), match("ben", "p", "floods"), match("ana", "p", "floods")]
    assert inbox.add(rows, "run", 0) == Added(2, 0, 2)
    (found,) = inbox.since("ana")
    assert subscriptions(found) == ["storms", "floods"]
    assert (found.id, found.post, found.at) == ("p", {"id": "p", "text": "of p"}, clock.now)
    assert (found.topic, found.topic_type, found.is_read) == ("subscription:storms", "match", False)


def test_a_replayed_batch_changes_nothing(inbox: Inbox) -> None:
    rows = [match("ana", str(number)) for number in range(5)]
    inbox.add(rows, "run", 0)
    before = inbox.since("ana")
    inbox.mark_read("ana", [before[0].cursor])
    assert inbox.add(rows, "run", 0) == Added()
    assert [found.cursor for found in inbox.since("ana")] == [found.cursor for found in before]
    assert inbox.counts("ana") == Counts(5, 4)
    assert inbox.newest() == before[-1].cursor
    assert inbox.has("run", 0)
    assert not inbox.has("run", 1)
    assert not inbox.has("other", 0)


def test_a_batch_that_two_bring_at_once_is_taken_once_and_refused_to_neither(inbox: Inbox) -> None:
    """A job that was believed dead may be at it still when another has taken its place."""
    for batch in range(5):
        rows = [match("ana", f"p{batch}-{number}") for number in range(200)]
        with ThreadPoolExecutor(4) as pool:
            added = list(pool.map(lambda _, rows=rows, batch=batch: inbox.add(rows, "run", batch), range(4)))
        assert sorted(one.notifications for one in added) == [0, 0, 0, 200]
    assert inbox.newest() == 1000


def test_a_post_that_comes_again_adds_reasons_and_no_notification(inbox: Inbox) -> None:
    inbox.add([match("ana", "p"), match("ana", "q")], "run", 0)
    inbox.mark_read("ana", up_to=inbox.newest())
    again = [match("ana", "p", "floods"), match("ana", "q"), match("ana", "r"), match("ben", "p", 'od"d\n')]
    added = inbox.add(again, "other", 0)
    assert (added.notifications, added.merged) == (2, 1)
    assert [(found.id, subscriptions(found), found.is_read) for found in inbox.since("ana")] == [
        ("p", ["storms", "floods"], True),
        ("q", ["storms"], True),
        ("r", ["storms"], False),
    ]
    assert [subscriptions(found) for found in inbox.since("ben")] == [['od"d\n']]


def test_the_latest_are_the_same_backwards(inbox: Inbox) -> None:
    inbox.add([match(name, str(number)) for number in range(6) for name in ("ana", "ben")], "run", 0)
    forwards = inbox.since("ana")
    inbox.mark_read("ana", [forwards[2].cursor])
    forwards = inbox.since("ana")
    assert inbox.latest("ana") == forwards[::-1]
    assert inbox.latest("ana", before=forwards[4].cursor, limit=3) == forwards[3:0:-1]
    assert inbox.latest("ana", before=forwards[0].cursor) == []


def test_an_empty_batch_is_nothing(inbox: Inbox) -> None:
    assert inbox.add([], "run", 0) == Added()
    assert inbox.newest() == 0
    assert inbox.since("ana") == []


def test_texts_of_all_kinds_come_back_as_they_were(inbox: Inbox) -> None:
    names = ["", "a,b", 'q"uo"te', "new\nline", "back\\slash\\N", "naïve ☂ 🌊", " ", "NULL", "\\.", "%s :x ?"]
    inbox.add([match(name, f"post {name}", name) for name in names], "run", 0)
    for name in names:
        (found,) = inbox.since(name)
        assert (found.subscriber, found.id, subscriptions(found)) == (name, f"post {name}", [name])


def test_since_pages_through_everything_in_order(inbox: Inbox) -> None:
    for batch in range(4):
        inbox.add([match(name, f"{batch}-{number}") for number in range(5) for name in ("ana", "ben")], "run", batch)
    seen, cursor = [], 0
    while page := inbox.since("ana", cursor, limit=3):
        seen += page
        cursor = page[-1].cursor
    assert posts(seen) == [f"{batch}-{number}" for batch in range(4) for number in range(5)]
    assert [found.cursor for found in seen] == sorted({found.cursor for found in seen})
    everyone = inbox.tail(0)
    assert len(everyone) == 40
    assert posts([found for found in everyone if found.subscriber == "ana"]) == posts(seen)


def test_since_a_time_is_everything_that_could_not_be_seen_then(inbox: Inbox, clock: Clock) -> None:
    begin = clock.now
    for batch in range(3):
        clock.now = begin + batch * 1_000
        inbox.add([match("ana", str(batch))], "run", batch)
    assert posts(inbox.since("ana", inbox.cursor_at(begin - 1))) == ["0", "1", "2"]
    # The batch of that moment may not have been there yet for who looked.
    assert posts(inbox.since("ana", inbox.cursor_at(begin + 1_000))) == ["1", "2"]
    assert posts(inbox.since("ana", inbox.cursor_at(begin + 9_000))) == ["2"]
    clock.now = begin  # turned back
    for number in (3, 4):
        inbox.add([match("ana", str(number))], "run", number)
    # Batches 2, 3 and 4 are of one time, and who looked then, before the clock was turned back, has seen none of them.
    assert posts(inbox.since("ana", inbox.cursor_at(begin + 2_000))) == ["2", "3", "4"]
    assert posts(inbox.since("ana", inbox.cursor_at(begin + 1_999))) == ["1", "2", "3", "4"]
    clock.now = begin + 3_000
    inbox.add([match("ana", "5")], "run", 5)
    assert posts(inbox.since("ana", inbox.cursor_at(begin + 3_000))) == ["5"]


def test_a_batch_is_of_the_time_when_its_turn_came(inbox: Inbox, database: Database, clock: Clock) -> None:
    """Several jobs write: one that has waited long for the others was there for nobody before."""
    inbox.add([match("ana", "0")], "run", 0)
    with ThreadPoolExecutor(2) as pool:
        with database.writing() as connection:
            hold(connection)
            waiting = [pool.submit(inbox.add, [match("ana", job)], job, 0) for job in ("1", "2")]
            time.sleep(0.5)
            clock.now += 10_000_000
        for one in waiting:
            one.result()
    # Who looked five seconds ago has seen the first batch at most.
    assert sorted(posts(inbox.since("ana", inbox.cursor_at(clock.now - 5_000_000)))) == ["0", "1", "2"]


def test_read_on_one_device_is_read_on_all(inbox: Inbox, database: Database) -> None:
    inbox.add([match("ana", str(number)) for number in range(6)] + [match("ben", "0")], "run", 0)
    cursors = [found.cursor for found in inbox.since("ana")]
    assert inbox.mark_read("ana", cursors[2:4]) == 2
    assert inbox.mark_read("ana", cursors[2:4]) == 0
    phone = Inbox(database)
    assert posts(phone.unread("ana")) == ["0", "1", "4", "5"]
    assert phone.mark_read("ana", up_to=cursors[4]) == 3
    assert phone.mark_read("ana", up_to=cursors[1]) == 0
    assert posts(inbox.unread("ana")) == ["5"]
    assert [found.is_read for found in inbox.since("ana")] == [True] * 5 + [False]
    assert inbox.counts("ana") == Counts(6, 1)
    assert inbox.counts("ben") == Counts(1, 1)


def test_nothing_of_others_or_of_the_future_is_marked(inbox: Inbox) -> None:
    inbox.add([match("ana", "p"), match("ben", "p")], "run", 0)
    (other,) = inbox.since("ben")
    assert inbox.mark_read("ana", [other.cursor, 10**30, -5]) == 0
    assert inbox.mark_read("ana", up_to=10**30) == 1
    inbox.add([match("ana", "q")], "run", 1)
    assert posts(inbox.unread("ana")) == ["q"]
    assert inbox.counts("ben").unread == 1


def test_very_many_are_marked_at_once(inbox: Inbox) -> None:
    inbox.add([match("ana", str(number)) for number in range(2_500)], "run", 0)
    cursors = [found.cursor for found in inbox.since("ana", limit=2_500)]
    assert inbox.mark_read("ana", cursors) == 2_500
    assert inbox.counts("ana") == Counts(2_500, 0)


def test_a_topic_has_a_history_for_those_who_follow_it_later(inbox: Inbox) -> None:
    nasa = {"topic": "account:nasa", "topic_type": "account"}
    inbox.add(
        [match(None, "1", None, **nasa), match("ana", "2", None, **nasa), match("ben", "2", None, **nasa)], "run", 0
    )
    inbox.add([match("ana", "3", None, **nasa), match("ana", "4"), match("ana", "2", None, **nasa)], "run", 1)
    entries = inbox.history("account:nasa")
    assert [entry.id for entry in entries] == ["1", "2", "3"]
    assert [entry.id for entry in inbox.history("account:nasa", entries[0].cursor, limit=1)] == ["2"]
    assert inbox.history("subscription:storms") == []
    assert {entry.topic_type for entry in entries} == {"account"}


@pytest.mark.parametrize("seed", range(3))
def test_any_sequence_of_batches_and_reads_is_as_in_a_model(inbox: Inbox, seed: int) -> None:
    generator = random.Random(seed)
    told: dict[str, dict[str, list[str]]] = defaultdict(dict)
    read: dict[str, set[str]] = defaultdict(set)
    taken: dict[int, list[tuple[str, str, str]]] = {}
    for _ in range(40):
        number = generator.randrange(25)
        drawn = [
            (generator.choice("abc"), str(generator.randrange(30)), generator.choice("xyz"))
            for _ in range(generator.randint(1, 12))
        ]
        rows = taken.get(number, drawn)
        inbox.add([match(*row) for row in rows], "run", number)
        if number not in taken:
            taken[number] = rows
            for name, post, subscription in rows:
                reasons = told[name].setdefault(post, [])
                reasons += [] if subscription in reasons else [subscription]
        name = generator.choice("abc")
        mine = inbox.since(name)
        if mine and generator.random() < 0.4:
            some = generator.sample(mine, generator.randint(1, len(mine)))
            new = {found.id for found in some} - read[name]
            assert inbox.mark_read(name, [found.cursor for found in some]) == len(new)
            read[name] |= new
        elif mine and generator.random() < 0.3:
            last = generator.randrange(len(mine))
            new = {found.id for found in mine[: last + 1]} - read[name]
            assert inbox.mark_read(name, up_to=mine[last].cursor) == len(new)
            read[name] |= new
        assert [(found.id, subscriptions(found)) for found in inbox.since(name)] == list(told[name].items())
        assert posts(inbox.unread(name)) == [post for post in told[name] if post not in read[name]]
        assert inbox.counts(name) == Counts(len(told[name]), len(told[name]) - len(read[name]))


def test_a_reader_who_follows_misses_nothing_while_many_write(inbox: Inbox, database: Database) -> None:
    writers, batches = 4, 12
    failures: list[Exception] = []

    def write(writer: int) -> None:
        try:
            for batch in range(batches):
                inbox.add([match("ana", f"{writer}-{batch}-{n}") for n in range(20)], f"run{writer}", batch)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(writers)]
    for thread in threads:
        thread.start()
    seen: list[str] = []
    cursor = 0
    while True:
        are_writing = any(thread.is_alive() for thread in threads)
        page = inbox.since("ana", cursor, limit=50)
        seen += posts(page)
        cursor = page[-1].cursor if page else cursor
        if not page and not are_writing:
            break
    assert failures == []
    assert len(seen) == len(set(seen)) == writers * batches * 20
    with database.reading() as connection:
        assert len(connection.execute(select(NOTIFICATIONS.c.cursor)).all()) == len(seen)
