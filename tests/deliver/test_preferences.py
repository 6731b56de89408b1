"""Preferences are read strictly and written as they are read; each wrong field is named with what is allowed."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.deliver.addresses import mail_address
from tidegate.deliver.event import Event, Reason
from tidegate.deliver.preferences import Preferences
from tidegate.errors import ConfigError

FULL: dict[str, Any] = {
    "zone": "Europe/Berlin",
    "quiet": {"from": "22:00", "until": "07:00"},
    "caps": [{"most": 5, "per": "minute"}, {"most": 10, "per": 5_400}],
    "digest": {"every": "day", "at": "08:30"},
    "mute": {"topics": ["presence:bob"], "accounts": ["spam"], "subscriptions": ["s9"]},
    "tags": ["sea", "weather"],
    "addresses": {
        "email": "ann@example.org",
        "webhook": "https://hooks.example/ann",
        "push": [{"endpoint": "https://push.example/1", "keys": {"p256dh": "B" + "A" * 86, "auth": "A" * 22}}],
    },
    "refuse": ["email", "live"],
}


def test_preferences_are_written_as_they_are_read() -> None:
    assert Preferences.from_json(FULL).to_json() == FULL
    assert Preferences.from_json(Preferences().to_json()) == Preferences()
    assert Preferences.from_json({"digest": {"every": "hour"}}).to_json()["digest"] == {"every": "hour"}


@pytest.mark.parametrize(
    ("given_", "complaint"),
    [
        ([], "preferences is .*: give a JSON object"),
        ({"timezone": "UTC"}, "preferences has no field 'timezone': there are zone, quiet, caps"),
        ({"zone": "Middle/Earth"}, "no time zone is called 'Middle/Earth': give an IANA name such as Europe/Berlin"),
        ({"zone": "../../etc/passwd"}, "no time zone is called"),
        ({"zone": "Europe"}, "no time zone is called"),
        ({"zone": 3}, "preferences.zone is 3: give a text"),
        ({"quiet": {"from": "22:00"}}, "preferences.quiet.until is None: give hours and minutes"),
        ({"quiet": {"from": "25:00", "until": "07:00"}}, "preferences.quiet.from is '25:00'"),
        ({"quiet": {"from": "22", "until": "07:00"}}, "preferences.quiet.from is '22'"),
        ({"quiet": {"from": "07:00", "until": "07:00"}}, "quiet hours begin and end at 07:00"),
        ({"caps": {"most": 5}}, "preferences.caps is .*: give a list"),
        ({"caps": [{"most": -1, "per": "hour"}]}, r"preferences.caps\[0\].most is -1: give a whole number from 0"),
        ({"caps": [{"most": True, "per": "hour"}]}, r"caps\[0\].most is True"),
        ({"caps": [{"most": 1, "per": "month"}]}, r"caps\[0\].per is 'month': give one of minute, hour, day, week"),
        ({"caps": [{"most": 1, "per": 0}]}, r"caps\[0\].per is 0: give a whole number from 1"),
        ({"digest": {"every": "year"}}, "preferences.digest.every is 'year': give one of hour, day"),
        ({"digest": {"every": "hour", "at": "08:00"}}, "preferences.digest.at is '08:00': leave it out"),
        ({"mute": {"people": []}}, "preferences.mute has no field 'people'"),
        ({"tags": [""]}, r"preferences.tags\[0\] is '': give a text"),
        ({"tags": ["\ud800"]}, r"preferences.tags\[0\] is"),
        ({"refuse": ["inbox"]}, r"preferences.refuse\[0\] is 'inbox': give one of live, push"),
        ({"addresses": {"email": "ann"}}, "preferences.addresses.email is 'ann': give one e-mail address"),
        (
            {"addresses": {"webhook": "ftp://example.org"}},
            "addresses.webhook: .* is neither http nor https",
        ),
        ({"addresses": {"webhook": "https://me@example.org"}}, "addresses.webhook: .*: give an address without user"),
        ({"addresses": {"webhook": 5}}, "addresses.webhook is 5: give an address that begins with https"),
        ({"addresses": {"push": [{"endpoint": "https://p"}]}}, r"addresses.push\[0\].keys is None"),
        (
            {"addresses": {"push": [{"endpoint": "https://p", "keys": {"p256dh": "AA", "auth": "AA"}}]}},
            r"addresses.push\[0\].keys.p256dh is 'AA': give the 65 bytes",
        ),
    ],
)
def test_a_field_that_is_wrong_is_named_with_what_is_allowed(given_: Any, complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        Preferences.from_json(given_)


@pytest.mark.parametrize(
    "address",
    [
        "ann@example.org\r\nBcc: all@example.org",
        "ann@example.org\nX: y",
        "ann@example.org, bob@example.org",
        "Ann <ann@example.org>",
        "ann@",
        "@example.org",
        ".ann@example.org",
        "ann.@example.org",
        "a..n@example.org",
        f"{'a' * 65}@example.org",
        "a b@example.org",
        "ann@example.org\x00",
        "ann@exam\u2028ple.org" * 20,
    ],
)
def test_only_one_plain_mail_address_is_taken(address: str) -> None:
    with pytest.raises(ConfigError):
        mail_address("email", address)


@given(st.text(max_size=40))
def test_no_mail_address_can_end_a_header(address: str) -> None:
    try:
        taken = mail_address("email", address)
    except ConfigError:
        return
    assert len((taken + "|").splitlines()) == 1
    assert taken.count("@") == 1
    assert not set(taken) & set(' ,;<>()[]"')


@pytest.mark.parametrize(
    ("preferences", "reason", "objection"),
    [
        ({}, Reason("s1"), None),
        ({"mute": {"subscriptions": ["s1"]}}, Reason("s1"), "subscription 's1' is muted"),
        ({}, Reason("s1", expires=100), "subscription 's1' has expired"),
        ({}, Reason("s1", expires=101), None),
        ({"tags": ["sea"]}, Reason("s1", frozenset({"sea", "sky"})), None),
        ({"tags": ["sea"]}, Reason("s1", frozenset({"sky"})), "subscription 's1' has none of the tags sea"),
        ({"tags": ["sea"]}, Reason("s1"), "subscription 's1' has none of the tags sea"),
    ],
)
def test_mutes_expiry_and_tags_object_to_a_subscription(
    preferences: dict[str, Any], reason: Reason, objection: str | None
) -> None:
    assert Preferences.from_json(preferences).objection(reason, now=100) == objection


def test_events_are_written_as_they_are_read() -> None:
    event = Event("t", "match", 1_700_000_000_123_456, {"id": 1}, (Reason("s", frozenset({"a"}), 7), Reason("r")))
    assert Event.from_json("event", event.to_json()) == event


@pytest.mark.parametrize(
    ("given_", "complaint"),
    [
        ({"topic": "t"}, "event.topic_type is None: give a text"),
        ({"topic": "t", "topic_type": "match", "at": "noon"}, "event.at is 'noon': give a time with its zone"),
        ({"topic": "t", "topic_type": "match", "at": "2026-01-01T00:00:00"}, "event.at is"),
        ({"topic": "t", "topic_type": "match", "at": 0, "post": "x"}, "event.post is 'x': give a JSON object"),
        ({"topic": "t", "topic_type": "match", "at": 0, "reasons": [{}]}, r"event.reasons\[0\].subscription is None"),
    ],
)
def test_events_that_are_wrong_are_named(given_: Any, complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        Event.from_json("event", given_)
