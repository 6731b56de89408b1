"""What becomes of an event: nothing that is persisted is lost by quiet hours or caps, and each step says why."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.deliver.event import Event, Reason
from tidegate.deliver.fields import as_microseconds, as_moment
from tidegate.deliver.planning import RINGING, SENT, Plan, Send, plan
from tidegate.deliver.preferences import Preferences
from tidegate.deliver.rules import Rules, hybrid_rules
from tidegate.deliver.subscriber import Subscriber

PUSH = {"endpoint": "https://push.example/1", "keys": {"p256dh": "B" + "A" * 86, "auth": "A" * 22}}
ADDRESSES = {"email": "ann@example.org", "webhook": "https://hooks.example/ann", "push": [PUSH]}
BERLIN = ZoneInfo("Europe/Berlin")
EVENT = Event("subscription:s1", "match", 0, {"id": "p1", "author": "bob"}, (Reason("s1"), Reason("s2")))


def at(hour: int, minute: int = 0) -> int:
    return as_microseconds(datetime(2026, 6, 10, hour, minute, tzinfo=BERLIN).astimezone(UTC))


def planned(now: int, recent: tuple[int, ...] = (), online: str = "", event: Event = EVENT, **wishes: Any) -> Plan:
    preferences = Preferences.from_json({"zone": "Europe/Berlin", "addresses": ADDRESSES, **wishes})
    who = Subscriber("ann", frozenset(online.split()), preferences=preferences)
    return plan(event, who, hybrid_rules(), recent, now)


def test_without_wishes_all_channels_go_out_at_once() -> None:
    now = at(12)
    assert planned(now).sends == tuple(Send(channel, now) for channel in ("inbox", "push", "email", "webhook"))


def test_a_digest_is_due_at_its_hour() -> None:
    assert Send("digest", at(13)) in planned(at(12), digest={"every": "hour"}).sends
    assert Send("digest", at(8)) in planned(at(7), digest={"every": "day"}).sends


def test_a_digest_does_not_repeat_by_webhook_what_the_webhook_was_told() -> None:
    only = {"webhook": ADDRESSES["webhook"]}
    hourly: dict[str, Any] = {"digest": {"every": "hour"}, "addresses": only}
    assert planned(at(12), **hourly).channels == ("inbox", "webhook")
    capped = planned(at(12), (at(12),), caps=[{"most": 1, "per": "hour"}], **hourly)
    assert capped.channels == ("inbox", "digest"), "what the webhook was not told is in its digest"
    refused = planned(at(12), digest={"every": "hour"}, refuse=["email", "push"])
    assert refused.channels == ("inbox", "webhook")


def test_quiet_hours_hold_back_what_rings_until_they_end() -> None:
    quiet = {"from": "22:00", "until": "07:00"}
    night = planned(at(3), quiet=quiet)
    assert dict(night.sends) == {"inbox": at(3), "webhook": at(3), "digest": at(7)}
    assert "quiet hours until 2026-06-10 07:00 in Europe/Berlin: it waits for the digest" in night.why
    assert planned(at(7), quiet=quiet).channels == ("inbox", "push", "email", "webhook")
    assert "live" in planned(at(3), online="desktop", quiet=quiet).channels, "who looks at the feed is awake"


def test_a_digest_that_falls_into_quiet_hours_waits_for_their_end() -> None:
    quiet = {"from": "22:00", "until": "09:15"}
    assert Send("digest", at(9, 15)) in planned(at(3), quiet=quiet, digest={"every": "day"}).sends
    assert Send("digest", at(9, 15)) in planned(at(3), quiet=quiet, digest={"every": "hour"}).sends


def test_what_is_capped_goes_to_the_digest_or_is_only_in_the_inbox() -> None:
    caps = [{"most": 1, "per": "hour"}]
    first = planned(at(12), caps=caps)
    assert set(SENT) <= set(first.channels)
    second = planned(at(12, 30), first.recent, caps=caps)
    assert second.channels == ("inbox",)
    assert second.why[-1] == "the cap of 1 per hour is reached: it is in the inbox only"
    assert set(SENT) <= set(planned(at(13), second.recent, caps=caps).channels)
    # With a digest all is in there but the webhook, which is capped as well.
    digest = {"every": "day"}
    first = planned(at(12), caps=caps, digest=digest)
    assert first.channels == ("inbox", "digest", "webhook")
    assert planned(at(12, 30), first.recent, caps=caps, digest=digest).channels == ("inbox", "digest")


@pytest.mark.parametrize(
    "wish",
    [{"caps": [{"most": 0, "per": "hour"}]}, {"quiet": {"from": "11:00", "until": "13:00"}, "refuse": ["digest"]}],
)
def test_what_is_withheld_is_in_the_inbox_even_if_no_rule_put_it_there(wish: dict[str, Any]) -> None:
    mail_only = Rules.parse('{"rules": [{"name": "mail", "then": ["email"]}]}')
    who = Subscriber(
        "ann", preferences=Preferences.from_json({"zone": "Europe/Berlin", "addresses": ADDRESSES, **wish})
    )
    assert Send("inbox", at(12)) in plan(EVENT, who, mail_only, (), at(12)).sends


def test_several_channels_of_one_event_count_once() -> None:
    caps = [{"most": 2, "per": "hour"}]
    first = planned(at(12), caps=caps)
    assert planned(at(12), first.recent, caps=caps).channels == first.channels


def test_what_is_looked_at_and_not_sent_does_not_count() -> None:
    caps = [{"most": 1, "per": "hour"}]
    online = planned(at(12), online="desktop", caps=caps, refuse=["webhook"])
    assert online.channels == ("inbox", "live")
    assert online.recent == ()


@pytest.mark.parametrize(
    ("mute", "why"),
    [
        ({"topics": ["subscription:s1"]}, "the topic 'subscription:s1' is muted"),
        ({"accounts": ["bob"]}, "the account 'bob' is muted"),
        ({"subscriptions": ["s1", "s2"]}, "no subscription is left as a reason"),
    ],
)
def test_what_is_muted_goes_nowhere(mute: dict[str, Any], why: str) -> None:
    muted = planned(at(12), mute=mute)
    assert muted.sends == ()
    assert muted.why[-1] == why


def test_a_subscription_that_is_muted_is_no_reason_while_the_others_are() -> None:
    partly = planned(at(12), mute={"subscriptions": ["s1"]})
    assert partly.reasons == (Reason("s2"),)
    assert "inbox" in partly.channels


def test_an_event_of_a_topic_needs_no_subscription_as_reason() -> None:
    followed = Event("account:bob", "post", 0, {"author": "bob"})
    assert "inbox" in planned(at(12), event=followed).channels


wishes = st.fixed_dictionaries(
    {},
    optional={
        "quiet": st.sampled_from([{"from": "22:00", "until": "07:00"}, {"from": "01:00", "until": "23:00"}]),
        "caps": st.lists(st.fixed_dictionaries({"most": st.integers(0, 3), "per": st.just("hour")}), max_size=2),
        "digest": st.sampled_from([{"every": "hour"}, {"every": "day", "at": "06:00"}]),
        "refuse": st.lists(st.sampled_from(["live", "push", "email", "webhook", "digest"]), unique=True),
        "addresses": st.sampled_from([{}, ADDRESSES, {"email": "ann@example.org"}]),
    },
)


@given(wishes, st.lists(st.integers(0, 48 * 60), max_size=12).map(sorted), st.sampled_from(["", "desktop", "mobile"]))
def test_nothing_persisted_is_ever_lost_and_nothing_rings_when_it_must_not(
    wanted: dict[str, Any], minutes: list[int], online: str
) -> None:
    recent: tuple[int, ...] = ()
    preferences = Preferences.from_json({"zone": "Europe/Berlin", **wanted})
    for minute in minutes:
        now = at(0) + minute * 60_000_000
        done = planned(now, recent, online, **{"addresses": {}, **wanted})
        recent = done.recent
        assert "inbox" in done.channels
        assert not set(done.channels) & preferences.refuse - {"digest"}
        assert all(send.at >= now for send in done.sends)
        ringing = [send for send in done.sends if send.channel in (*RINGING, "digest")]
        if preferences.quiet is not None:
            assert not any(preferences.quiet.until(BERLIN, as_moment(send.at)) for send in ringing)


def test_what_is_offloaded_is_in_the_inbox_and_in_the_digest_and_counts_for_no_cap() -> None:
    offloaded = replace(EVENT, is_offloaded=True)
    once = [{"most": 1, "per": "hour"}]
    plain = planned(at(12), online="desktop", event=offloaded, caps=once)
    assert (plain.channels, plain.recent) == (("inbox",), ())
    assert "its topic is offloaded, not served in real time: it is in the inbox only" in plain.why
    digested = planned(at(12), event=offloaded, digest={"every": "hour"})
    assert dict(digested.sends) == {"inbox": at(12), "digest": at(13)}
