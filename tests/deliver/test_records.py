"""Subscribers, keys, rules, and what is still to be sent."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import select, text

from tests.deliver.scenes import Clock, match
from tidegate.deliver.api_keys import ApiKeys, Holder, key_hash
from tidegate.deliver.database import Database
from tidegate.deliver.digest_queue import DigestQueue, Due, Waiting
from tidegate.deliver.inbox import Inbox
from tidegate.deliver.outbox import Order, Outbox, Share
from tidegate.deliver.published import PublicAddress
from tidegate.deliver.rule_table import RuleTable
from tidegate.deliver.rules import Conditions, Rule, Rules, hybrid_rules
from tidegate.deliver.schema import CAPS, METADATA, PAUSED, WEBHOOK_SECRETS
from tidegate.deliver.signing_keys import SigningKeys
from tidegate.deliver.subscribers import Subscribers
from tidegate.deliver.watched_rules import WatchedRules
from tidegate.deliver.webhook_secrets import WebhookSecrets
from tidegate.errors import ConfigError

SECOND = 1_000_000
DAY = 86_400 * SECOND


def test_what_is_known_of_a_subscriber_is_replaced_but_not_when_it_was_made(database: Database, clock: Clock) -> None:
    subscribers = Subscribers(database, clock)
    made = clock.now
    subscribers.put("ana", {"time_zone": "Europe/Lisbon"}, ["beta"])
    clock.now += 5
    subscribers.put("ana", {"quiet": ["22:00", "07:00"]}, ["b", "a", "a"])
    record = subscribers.get("ana")
    assert record is not None
    assert (record.preferences, record.tags, record.made) == ({"quiet": ["22:00", "07:00"]}, frozenset("ab"), made)
    assert subscribers.get("ben") is None
    with pytest.raises(ConfigError, match="a subscriber needs a name"):
        subscribers.put("")


def test_subscribers_are_listed_page_by_page(database: Database) -> None:
    subscribers = Subscribers(database)
    for name in ("b", "é", "a", "B"):
        subscribers.put(name)
    assert [record.name for record in subscribers.page(limit=3)] == ["B", "a", "b"]
    assert [record.name for record in subscribers.page("b")] == ["é"]


def test_a_subscriber_that_is_removed_leaves_nothing_behind(database: Database, inbox: Inbox, clock: Clock) -> None:
    subscribers, keys = Subscribers(database, clock), ApiKeys(database, clock)
    for name in ("ana", "ben"):
        subscribers.put(name)
        subscribers.see(name, "phone", "mobile")
        Outbox(database, clock).add([Order(name, "email", "1", (1,))])
        with database.writing() as connection:
            connection.execute(CAPS.insert().values(subscriber=name, recent="[1]"))
            connection.execute(WEBHOOK_SECRETS.insert().values(subscriber=name, serial=0, secret="x", made=1))
            connection.execute(PAUSED.insert().values(id=name, subscriber=name, body="{}"))
        inbox.add([match(name, "p"), match(name, "q")], name, 0)
        first, second = inbox.since(name)
        inbox.mark_read(name, [second.cursor])
        inbox.mark_read(name, up_to=first.cursor)
        DigestQueue(database).add([Waiting(name, second.cursor, clock.now)])
    key, other = keys.issue("ana"), keys.issue("ben")
    assert subscribers.remove("ana")
    assert not subscribers.remove("ana")
    assert keys.holder(key) is None
    assert keys.holder(other) is not None
    assert keys.revoked() == 1
    with database.reading() as connection:
        personal = [table for table in METADATA.sorted_tables if "subscriber" in table.c]
        assert len(personal) >= 9
        for table in personal:
            owners = connection.execute(select(table.c.subscriber).distinct()).scalars().all()
            assert owners == ["ben"], table.name


def test_devices_are_known_by_when_they_were_last_seen(database: Database, clock: Clock) -> None:
    subscribers = Subscribers(database, clock)
    for device in ("laptop", "phone", "laptop"):
        clock.now += 1
        subscribers.see("ana", device, "mobile" if device == "phone" else "desktop")
    assert [(found.name, found.kind, clock.now - found.seen) for found in subscribers.devices("ana")] == [
        ("laptop", "desktop", 0),
        ("phone", "mobile", 1),
    ]


def test_a_key_is_known_by_its_hash_alone(database: Database, clock: Clock) -> None:
    keys = ApiKeys(database, clock)
    key, operator = keys.issue("ana"), keys.issue("root", is_operator=True)
    assert keys.holder(key) == Holder("ana", is_operator=False)
    assert keys.holder(operator) == Holder("root", is_operator=True)
    assert keys.holder(key + "x") is None
    assert keys.holder("") is None
    with database.reading() as connection:
        stored = str(connection.execute(text("SELECT * FROM api_keys")).all())
    assert key.removeprefix("tide_") not in stored
    assert keys.revoke(key)
    assert not keys.revoke(key)
    assert keys.holder(key) is None
    revoked = keys.revoked()
    assert keys.valid([key_hash(key), key_hash(operator)]) == {key_hash(operator)}
    assert keys.revoke_all("root") == 1
    assert keys.revoked() != revoked


def test_the_newest_rules_are_in_force(database: Database) -> None:
    table = RuleTable(database)
    watched = WatchedRules(table)
    assert table.version() == 0
    assert watched.current().to_json() == hybrid_rules().to_json()
    first, second = (Rules([Rule("all", Conditions(), (channel,))]) for channel in ("email", "push"))
    assert [table.publish(first), table.publish(second)] == [1, 2]
    assert watched.current().to_json() == second.to_json()


def order(key: str, channel: str = "webhook") -> Order:
    return Order("ana", channel, key, (7,))


def test_an_order_is_taken_by_one_sender_and_again_if_that_one_dies(database: Database, clock: Clock) -> None:
    outbox = Outbox(database, clock, lease_s=60)
    outbox.add([order("7")])
    outbox.add([Order("ana", "webhook", "7", (8,))])
    assert outbox.take(["email"]) == []
    assert outbox.take(["webhook"], share=Share(2, {"ana": 2})) == []
    (first,) = outbox.take(["webhook"])
    assert (first.order, first.attempts) == (order("7"), 0)
    assert outbox.take(["webhook"]) == []
    clock.now += 60 * SECOND
    (second,) = outbox.take(["webhook"])
    assert (second.order, second.attempts) == (order("7"), 1)
    outbox.retry(first.lease, clock.now, 1, "came to nothing")  # too late: it is another's by now
    outbox.renew([first.lease])
    assert outbox.take(["webhook"]) == []
    outbox.sent(second.lease)
    clock.now += 600 * SECOND
    assert outbox.take(["webhook"]) == []
    outbox.add([order("7")])
    assert outbox.take(["webhook"]) == []


def test_of_a_subscriber_with_a_long_row_a_share_is_taken_and_others_have_their_turn(
    database: Database, clock: Clock
) -> None:
    outbox = Outbox(database, clock)
    outbox.add([order(str(number)) for number in range(50)])
    outbox.add([Order("ben", "webhook", "1", (1,)), Order("eve", "webhook", "1", (1,))])

    def taken(under_way: dict[str, int]) -> list[tuple[str, str]]:
        found = outbox.take(["webhook"], 10, Share(3, under_way))
        return [(one.order.subscriber, one.order.key) for one in found]

    assert taken({"ana": 1, "zoe": 5}) == [("ana", "0"), ("ana", "1")]
    assert taken({"ana": 3, "eve": 2}) == [("ben", "1"), ("eve", "1")]
    assert taken({"ana": 3}) == []
    assert taken({}) == [("ana", "2"), ("ana", "3"), ("ana", "4")]


def test_those_who_take_at_the_same_time_all_find_something(database: Database, clock: Clock) -> None:
    outbox = Outbox(database, clock)
    outbox.add([order(str(number)) for number in range(60)])
    with ThreadPoolExecutor(6) as threads:
        taken = list(threads.map(lambda _: outbox.take(["webhook"], 10), range(6)))
    assert [len(some) for some in taken] == [10] * 6
    assert len({one.lease.number for some in taken for one in some}) == 60


def test_a_lease_is_renewed_while_it_lasts_and_over_with_a_report(database: Database, clock: Clock) -> None:
    outbox = Outbox(database, clock, lease_s=60)
    outbox.add([order("7")])
    (taken,) = outbox.take(["webhook"])
    clock.now += 50 * SECOND
    outbox.renew([taken.lease])
    clock.now += 50 * SECOND
    assert outbox.take(["webhook"]) == []
    outbox.retry(taken.lease, clock.now + SECOND, 1, "busy")
    outbox.renew([taken.lease])
    clock.now += SECOND
    (again,) = outbox.take(["webhook"])
    assert again.attempts == 1
    outbox.sent(again.lease)
    outbox.renew([again.lease])  # by who had begun to before it was sent
    clock.now += 600 * SECOND
    assert outbox.take(["webhook"]) == []


def test_an_order_waits_for_its_time_and_is_given_up_for_good(database: Database, clock: Clock) -> None:
    outbox = Outbox(database, clock)
    outbox.add([order("late"), order("now")])
    late, soon = outbox.take(["webhook"])
    outbox.retry(late.lease, clock.now + 5 * SECOND, 1, "busy")
    outbox.retry(soon.lease, clock.now, 0, "left alone")
    assert [(taken.order.key, taken.attempts) for taken in outbox.take(["webhook"])] == [("now", 0)]
    clock.now += 5 * SECOND
    (late,) = outbox.take(["webhook"])
    outbox.give_up(late.lease, "no such address")
    clock.now += 600 * SECOND
    assert [taken.order.key for taken in outbox.take(["webhook"])] == ["now"]


def test_senders_side_by_side_take_each_order_once(database: Database, clock: Clock) -> None:
    outbox = Outbox(database, clock)
    outbox.add([order(str(number)) for number in range(60)])
    taken: list[str] = []
    lock = threading.Lock()

    def send() -> None:
        while some := outbox.take(["webhook"], limit=4):
            with lock:
                taken.extend(one.order.key for one in some)

    with ThreadPoolExecutor(4) as threads:
        for done in [threads.submit(send) for _ in range(4)]:
            done.result()
    # One who finds all that is left locked by others may end early: what they leave is taken at the next look.
    send()
    assert sorted(taken, key=int) == [str(number) for number in range(60)]


def test_digests_are_due_in_time_and_taken_once(database: Database) -> None:
    queue = DigestQueue(database)
    queue.add([Waiting("ana", 3, 100), Waiting("ana", 1, 100), Waiting("ben", 4, 100)])
    queue.add([Waiting("ana", 1, 200), Waiting("ana", 2, 200)])  # the first waits already
    queue.add([])
    assert queue.due(99) == []
    assert queue.due(100) == [Due("ana", 100, (1, 3)), Due("ben", 100, (4,))]
    assert queue.due(300, limit=2) == [Due("ana", 100, (1, 3))]
    assert queue.due(300, limit=1) == [Due("ana", 100, (1,))]
    (early, _) = queue.due(100)
    queue.add([Waiting("ana", 5, 100)])
    (late, _) = queue.due(100)
    with database.writing() as connection:
        assert queue.take_within(connection, early) == Due("ana", 100, (1, 3))
        # Another has looked later and seen more: what is left is its own.
        assert queue.take_within(connection, late) == Due("ana", 100, (5,))
        assert queue.take_within(connection, early) is None
    assert [digest.subscriber for digest in queue.due(300)] == ["ben", "ana"]


def test_a_secret_is_drawn_once_and_changed_on_demand(database: Database, clock: Clock) -> None:
    secrets, elsewhere = WebhookSecrets(database, clock), WebhookSecrets(database, clock)
    for name in ("ana", "ben"):
        Subscribers(database, clock).put(name)
    old = secrets.current("ana")
    assert old == elsewhere.current("ana") != secrets.current("ben")
    assert secrets.valid(["ana", "nobody"]) == {"ana": (old,)}
    assert secrets.rotate("nobody") is None
    clock.now += 5
    new = secrets.rotate("ana")
    assert new == secrets.current("ana") != old
    clock.now += DAY - 1
    assert elsewhere.valid(["ana"]) == {"ana": (new, old)}
    clock.now += 1
    assert secrets.valid(["ana"]) == {"ana": (new,)}
    newer, newest = secrets.rotate("ana"), secrets.rotate("ana")
    assert secrets.valid(["ana"]) == {"ana": (newest, newer)}, "no more than two, however often it is changed"


def test_who_takes_the_name_of_another_does_not_take_its_secret(database: Database) -> None:
    subscribers, secrets = Subscribers(database), WebhookSecrets(database)
    subscribers.put("ana")
    old = secrets.current("ana")
    subscribers.remove("ana")
    assert secrets.current("ana") is None
    subscribers.put("ana")
    assert secrets.current("ana") != old


def test_a_service_says_where_it_is(database: Database) -> None:
    address = PublicAddress(database)
    assert address.get() is None
    for given in ("https://tide.example:8443/", "https://tide.example/below"):
        address.publish(given)
        assert address.get() == given.rstrip("/")
    for wrong in ("http://tide.example", "tide.example", "https://tide.example/?x=1", "https://a@b.example"):
        with pytest.raises(ConfigError, match="public address"):
            address.publish(wrong)


def test_keys_are_drawn_once_for_a_database(database: Database) -> None:
    first, second = SigningKeys(database), SigningKeys(database)
    assert first.unsubscribe == second.unsubscribe
    assert first.push.private_numbers() == second.push.private_numbers()
