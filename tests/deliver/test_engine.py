"""The engine decides about every notification once, and sends what it has decided at least once, as is wanted."""

import asyncio
import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import select

from tests.deliver.delivery import HOOK, MAIL, Delivery, bring, engine_of, wanting
from tests.deliver.scenes import DAY, match, posts
from tidegate.deliver.audience import preferences_of
from tidegate.deliver.clock import SECOND
from tidegate.deliver.database import Database
from tidegate.deliver.digesting import Digesting
from tidegate.deliver.event import Reason
from tidegate.deliver.inbox import Inbox
from tidegate.deliver.outbox import Outbox
from tidegate.deliver.parcel import Outcome, Result
from tidegate.deliver.rule_table import RuleTable
from tidegate.deliver.rules import Conditions, Rule, Rules
from tidegate.deliver.schema import OUTBOX
from tidegate.deliver.subscribers import Subscribers
from tidegate.deliver.watched_rules import RuleFile

HOUR = 3600 * SECOND
DEVICES = [
    {"endpoint": f"https://push.example/{name}", "keys": {"p256dh": "B" + "A" * 86, "auth": "A" * 22}}
    for name in ("phone", "tablet")
]


def test_what_is_in_the_inbox_goes_out_once_by_each_channel(delivery: Delivery) -> None:
    wanting(delivery, addresses={**MAIL, **HOOK, "push": DEVICES})
    bring(delivery, "p", "q")
    bring(delivery, "p", subscriber="nobody knows")
    done = delivery.run().tally
    assert (done.notifications, done.orders, done.sent) == (3, 8, 8)
    assert delivery["email"] == delivery["webhook"] == [["p"], ["q"]]
    endpoints = Counter(parcel.target["endpoint"] for parcel in delivery.channels["push"].parcels)
    assert endpoints == {device["endpoint"]: 2 for device in DEVICES}
    bring(delivery, "p", subscription="another reason", at=0)
    bring(delivery, "r")
    assert delivery.run().tally.notifications == 1
    assert delivery["email"] == [["p"], ["q"], ["r"]]
    (first, *_) = delivery.channels["webhook"].parcels
    assert first.target == {"url": HOOK["webhook"], "secrets": ("secret of ana",)}
    assert first.notifications[0]["reasons"] == ({"subscription": "storms"},)
    assert len({parcel.id for noting in delivery.channels.values() for parcel in noting.parcels}) == 12


def test_who_is_online_is_not_mailed(delivery: Delivery) -> None:
    wanting(delivery)
    Subscribers(delivery.database, delivery.clock).see("ana", "laptop", "desktop")
    bring(delivery, "p")
    delivery.run()
    delivery.clock.now += 31 * SECOND
    bring(delivery, "q")
    delivery.run()
    assert delivery["email"] == [["q"]]
    assert delivery["webhook"] == [["p"], ["q"]]


def test_what_is_muted_stays_in_the_inbox(delivery: Delivery) -> None:
    wanting(delivery, mute={"subscriptions": ["storms"]})
    bring(delivery, "p")
    bring(delivery, "q", subscription="floods")
    delivery.run()
    assert delivery["email"] == [["q"]]
    assert posts(Inbox(delivery.database).unread("ana")) == ["p", "q"]


def test_posts_of_a_muted_account_stay_in_the_inbox(delivery: Delivery) -> None:
    wanting(delivery, mute={"accounts": ["nasa"]})
    wanting(delivery, "ben")
    rows = [
        {**match(name, f"{author} to {name}"), "post": json.dumps({"author": author})}
        for name in ("ana", "ben")
        for author in ("nasa", "esa")
    ]
    Inbox(delivery.database, delivery.clock).add(rows, "run", 0)
    delivery.run()
    assert delivery["email"] == [["esa to ana"], ["nasa to ben"], ["esa to ben"]]
    assert Inbox(delivery.database).counts("ana").total == 2


def test_caps_hold_over_restarts(delivery: Delivery, url: str) -> None:
    wanting(delivery, caps=[{"most": 2, "per": "hour"}, {"most": 3, "per": "day"}])
    for number in range(8):
        bring(delivery, str(number))
        delivery.database = Database.open(url)
        delivery.run()
        delivery.database.close()
        delivery.clock.now += 20 * 60 * SECOND
    # Two in the first hour, one after it, and then the day is full.
    assert delivery["email"] == [["0"], ["1"], ["3"]]
    assert Inbox(delivery.database).counts("ana").total == 8


def test_quiet_hours_put_off_what_rings(delivery: Delivery) -> None:
    wanting(delivery, quiet={"from": "11:00", "until": "14:00"})
    bring(delivery, "p")
    bring(delivery, "q")
    delivery.run()
    assert delivery["webhook"] == [["p"], ["q"]], "a program does not sleep"
    delivery.clock.now += 2 * HOUR - 1
    delivery.run()
    assert delivery["email"] == []
    delivery.clock.now += 1
    assert delivery.run().tally.digests == 1
    assert delivery["email"] == [["p", "q"]]


def test_what_failed_before_quiet_hours_is_not_tried_during_them(delivery: Delivery) -> None:
    wanting(delivery, quiet={"from": "12:01", "until": "14:00"}, addresses=MAIL)
    delivery.channels["email"].outcomes = [Outcome(Result.LATER, "busy", 90 * SECOND), Outcome(Result.SENT)]
    bring(delivery, "p")
    assert delivery.run().tally.postponed == 1
    delivery.clock.now += HOUR
    delivery.run()
    assert len(delivery["email"]) == 1
    delivery.clock.now += HOUR
    assert delivery.run().tally.sent == 1
    assert [parcel.attempts for parcel in delivery.channels["email"].parcels] == [0, 1]


def test_a_digest_has_all_that_waited_and_is_closed_once(delivery: Delivery) -> None:
    wanting(delivery, digest={"every": "hour"}, addresses=MAIL)
    for post in ("p", "q", "r"):
        bring(delivery, post)
        delivery.run()
    assert delivery["email"] == []
    delivery.clock.now += HOUR
    closing = [Digesting(delivery.database, frozenset(["email"]), delivery.clock) for _ in range(4)]
    with ThreadPoolExecutor(4) as threads:
        closed = list(threads.map(lambda one: one.round(), closing))
    assert sum(closed) == 1
    delivery.run()
    assert delivery["email"] == [["p", "q", "r"]]


def test_a_digest_takes_the_first_channel_that_there_is_by_then(delivery: Delivery) -> None:
    wanting(delivery, digest={"every": "hour"})
    wanting(delivery, "ben", digest={"every": "hour"})
    bring(delivery, "p")
    bring(delivery, "q", subscriber="ben")
    delivery.run()
    wanting(delivery, digest={"every": "hour"}, addresses={"push": DEVICES})
    wanting(delivery, "ben", digest={"every": "hour"}, addresses={})
    delivery.clock.now += HOUR
    assert delivery.run().tally.digests == 2
    assert delivery["push"] == [["p"], ["p"]]
    assert delivery["email"] == []


def test_what_is_capped_waits_for_the_digest(delivery: Delivery) -> None:
    wanting(delivery, digest={"every": "day", "at": "18:00"}, caps=[{"most": 1, "per": "hour"}])
    RuleTable(delivery.database).publish(Rules([Rule("all", Conditions(), ("inbox", "email"))]))
    bring(delivery, "p")
    bring(delivery, "q")
    delivery.run()
    assert delivery["email"] == [["p"]]
    delivery.clock.now += 6 * HOUR
    delivery.run()
    assert delivery["email"] == [["p"], ["q"]]


def test_an_address_that_is_gone_is_forgotten_and_no_other(delivery: Delivery) -> None:
    wanting(delivery, addresses={**HOOK, "push": DEVICES})
    delivery.channels["push"].outcomes = [Outcome(Result.GONE, "gone"), Outcome(Result.SENT)]
    delivery.channels["webhook"].outcomes = [Outcome(Result.GONE, "gone")]
    bring(delivery, "p")
    assert delivery.run().tally.given_up == 2
    gone = delivery.channels["push"].parcels[0].target["endpoint"]
    record = Subscribers(delivery.database).get("ana")
    assert record is not None
    assert record.preferences["addresses"] == {"push": [one for one in DEVICES if one["endpoint"] != gone]}
    bring(delivery, "q")
    delivery.run()
    assert delivery["webhook"] == [["p"]]
    assert delivery["push"] == [["p"], ["p"], ["q"]]


def test_an_address_that_is_withdrawn_gets_nothing_more(delivery: Delivery) -> None:
    wanting(delivery)
    delivery.channels["email"].outcomes = [Outcome(Result.LATER, "busy")]
    bring(delivery, "p")
    delivery.run()
    wanting(delivery, refuse=["email"])
    delivery.clock.now += HOUR
    delivery.run()
    assert len(delivery["email"]) == 1
    with delivery.database.reading() as connection:
        error = connection.execute(select(OUTBOX.c.error).where(OUTBOX.c.channel == "email")).scalar_one()
    assert error == "the subscriber has withdrawn the address"


def test_a_channel_that_nobody_serves_is_ordered_from_nobody(delivery: Delivery) -> None:
    del delivery.channels["email"]
    wanting(delivery)
    bring(delivery, "p")
    assert delivery.run().tally.orders == 1
    assert Outbox(delivery.database).take(["email"]) == []


def test_preferences_that_make_no_sense_stop_nobody_else(delivery: Delivery, caplog: pytest.LogCaptureFixture) -> None:
    preferences_of.cache_clear()  # what was complained of before is not again
    wanting(delivery, zone="Europe/Atlantis")
    wanting(delivery, "ben")
    bring(delivery, "p")
    bring(delivery, "q", subscriber="ben")
    delivery.run()
    assert delivery["email"] == [["q"]]
    assert "subscriber 'ana' has its notifications in the inbox only: no time zone is called" in caplog.text


def test_tags_restrict_what_is_sent_to_subscriptions_that_have_them(delivery: Delivery) -> None:
    wanting(delivery, tags=("weather",))
    delivery.known = lambda ids: {id_: Reason(id_, frozenset(["weather"])) for id_ in ids if id_ == "storms"}
    bring(delivery, "p")
    bring(delivery, "q", subscription="football")
    delivery.run()
    assert delivery["email"] == [["p"]]


def test_rules_are_changed_while_it_runs(delivery: Delivery, tmp_path: Path) -> None:
    path = tmp_path / "rules.json"

    def ruling(channel: str) -> str:
        return json.dumps({"rules": [{"name": "all", "then": [channel]}]})

    async def changing() -> None:
        engine = engine_of(delivery.database, {**delivery.channels}, delivery.clock, RuleFile(path))
        stop = asyncio.Event()
        running = asyncio.create_task(engine.run(stop))
        for number, rules in enumerate((ruling("email"), ruling("webhook"), "{", ruling("email"))):
            path.write_text(rules)
            await asyncio.to_thread(bring, delivery, str(number))
            while sum(len(delivery[channel]) for channel in ("email", "webhook")) <= number:
                await asyncio.sleep(0.01)
        stop.set()
        await running

    path.write_text(ruling("email"))
    wanting(delivery)
    asyncio.run(asyncio.wait_for(changing(), 30))
    assert (delivery["email"], delivery["webhook"]) == ([["0"], ["3"]], [["1"], ["2"]])


def test_what_was_there_before_can_be_passed_over(delivery: Delivery) -> None:
    wanting(delivery)
    bring(delivery, "p")
    engine_of(delivery.database, {**delivery.channels}, delivery.clock).deciding.pass_over()
    bring(delivery, "q")
    delivery.run()
    assert delivery["email"] == [["q"]]


def test_a_subscriber_that_is_removed_is_sent_nothing(delivery: Delivery) -> None:
    wanting(delivery)
    delivery.channels["email"].outcomes = [Outcome(Result.LATER, "busy")]
    bring(delivery, "p")
    delivery.run()
    assert Subscribers(delivery.database).remove("ana")
    delivery.clock.now += DAY
    assert delivery.run().tally.sent == 0


def test_what_is_offloaded_is_not_sent(delivery: Delivery) -> None:
    wanting(delivery)
    bring(delivery, "p", offloaded=True)
    bring(delivery, "q")
    assert delivery.run().tally.notifications == 2
    assert delivery["email"] == delivery["webhook"] == [["q"]]
