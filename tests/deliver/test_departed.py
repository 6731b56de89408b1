"""A name that is used again: what was under way to its former bearer reaches nobody."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import select

from tests.deliver.scenes import DAY, Clock, match, posts
from tidegate.deliver.api_keys import ApiKeys
from tidegate.deliver.arriving import arriving
from tidegate.deliver.database import Database
from tidegate.deliver.inbox import Inbox
from tidegate.deliver.retention import Retention
from tidegate.deliver.schema import DEPARTED
from tidegate.deliver.subscribers import Subscribers


@pytest.fixture
def subscribers(database: Database, clock: Clock) -> Subscribers:
    """Ana, who came and went when the store was at version 7, with a subscription of id s1; and ben."""
    made = Subscribers(database, clock)
    for name in ("ana", "ben"):
        made.put(name)
    assert made.remove("ana", ["s1"], version=7)
    return made


def test_matches_of_a_store_before_the_removal_are_nobodys(subscribers: Subscribers, inbox: Inbox) -> None:
    assert subscribers.make("ana", version=7)
    rows = [match(name, "p", "s1") for name in ("ana", "ben")]
    assert inbox.add(rows, "run", 0, version=6).notifications == 1
    assert inbox.add([match("ana", "q", "any")], "run", 1, version=6).notifications == 0
    # By then all that was hers is gone from the store: what is found there is the newcomer's.
    assert inbox.add([match("ana", "r", "s1")], "run", 2, version=7).notifications == 1
    assert (posts(inbox.since("ana")), posts(inbox.since("ben"))) == (["r"], ["p"])


def test_where_no_version_is_known_subscriptions_tell(subscribers: Subscribers, inbox: Inbox) -> None:
    assert subscribers.make("ana", version=7)
    rows = [match("ana", "p", "s1"), match("ana", "p", "s2"), match("ana", "q", "s1"), match("ben", "q", "s1")]
    inbox.add(rows, "run", 0)
    (told,) = inbox.since("ana")
    assert (told.id, told.reasons) == ("p", ({"subscription": "s2"},))
    assert posts(inbox.since("ben")) == ["q"]


def test_a_topic_keeps_its_history_though_who_was_told_has_left(subscribers: Subscribers, inbox: Inbox) -> None:
    assert subscribers.make("ana", version=7)
    inbox.add([match("ana", "p", "s1", topic="kiel")], "run", 0, version=3)
    assert [entry.id for entry in inbox.history("kiel")] == ["p"]
    assert inbox.since("ana") == []


def test_what_came_while_nobody_had_the_name_is_not_the_newcomers(
    database: Database, subscribers: Subscribers, inbox: Inbox
) -> None:
    inbox.add([match("ana", "p", "another")], "run", 0)
    key = ApiKeys(database).issue("ana")
    subscribers.see("ana", "phone", "mobile")
    assert subscribers.make("ana", version=7)
    assert (inbox.since("ana"), subscribers.devices("ana"), ApiKeys(database).holder(key)) == ([], [], None)


def test_what_waits_for_a_name_that_was_never_used_is_its_first_bearers(inbox: Inbox, database: Database) -> None:
    inbox.add([match("eve", "p")], "run", 0)
    assert Subscribers(database).make("eve")
    assert posts(inbox.since("eve")) == ["p"]


def test_another_store_begins_anew(subscribers: Subscribers, inbox: Inbox) -> None:
    """Its versions are lower, and must not be taken for those from before the removal."""
    assert subscribers.make("ana", version=2)
    assert inbox.add([match("ana", "p", "s1")], "run", 0, version=3).notifications == 1


def test_who_is_removed_while_a_batch_is_on_its_way_gets_nothing(
    database: Database, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look at who was removed and the moment when the batch is taken."""
    subscribers, inbox = Subscribers(database, clock), Inbox(database, clock)
    subscribers.put("ana")
    removed: list[bool] = []

    def late(*arguments: Any) -> Any:
        brought = arriving(*arguments)
        if not removed:
            removed.append(subscribers.remove("ana", ["s1"], 7))
            subscribers.make("ana", version=7)
        return brought

    monkeypatch.setattr("tidegate.deliver.inbox.arriving", late)
    added = inbox.add([match("ana", "p", "s1"), match("ben", "p", "s1")], "run", 0, version=6)
    assert (removed, added.notifications, inbox.since("ana")) == ([True], 1, [])


def test_of_those_who_want_one_name_one_gets_it(database: Database) -> None:
    subscribers = Subscribers(database)
    with ThreadPoolExecutor(6) as threads:
        made = list(threads.map(lambda number: subscribers.make("ana", {"zone": "UTC"}, [str(number)]), range(6)))
    record = subscribers.get("ana")
    assert record is not None
    assert (sum(made), record.tags) == (1, frozenset([str(made.index(True))]))


def test_who_was_removed_does_not_come_back_by_a_change(subscribers: Subscribers) -> None:
    assert not subscribers.replace("ana", {"zone": "UTC"}, [])
    assert subscribers.get("ana") is None
    assert subscribers.replace("ben", {"zone": "UTC"}, ["a"])
    record = subscribers.get("ben")
    assert record is not None
    assert (record.preferences, record.tags) == ({"zone": "UTC"}, frozenset("a"))


def test_in_the_end_it_is_forgotten_who_was_removed(database: Database, subscribers: Subscribers, clock: Clock) -> None:
    def remembered() -> int:
        Retention(database, clock, days=90, pause_s=0).run()
        with database.reading() as connection:
            return len(connection.execute(select(DEPARTED)).all())

    clock.now += 90 * DAY
    assert remembered() == 2
    clock.now += 1
    assert remembered() == 0
    assert subscribers.get("ana") is None
