"""`tidegate rules` as a person uses it: what an event would do, and why."""

import json
from pathlib import Path

import pytest

from tests.cli.test_commands import tidegate

EVENT = '{"topic": "subscription:s1", "topic_type": "match", "post": {"author": "bob"}, "reasons": ["s1"]}'
ANN = (
    '{"id": "ann", "preferences": {"zone": "Europe/Berlin", "quiet": {"from": "22:00", "until": "07:00"}, '
    '"caps": [{"most": 1, "per": "hour"}], "addresses": {"email": "ann@example.org"}}}'
)


def test_the_usual_rules_are_shown_and_can_be_read_again(tmp_path: Path) -> None:
    shown = tidegate("rules", "show")
    assert shown.returncode == 0, shown.stderr
    assert "persisted, offline" in shown.stdout
    file = tmp_path / "rules.json"
    file.write_text(tidegate("rules", "show", "--json").stdout)
    assert tidegate("rules", "show", "--rules", str(file)).stdout == shown.stdout


@pytest.mark.parametrize(
    ("moment", "sent", "channels", "why"),
    [
        ("2026-06-10T12:00:00+02:00", None, ["inbox", "email"], "rule 'persisted, offline' applies"),
        ("2026-06-10T23:00:00+02:00", None, ["inbox", "digest"], "quiet hours until 2026-06-11 07:00 in Europe/Berlin"),
        ("2026-06-10T12:00:00+02:00", "2026-06-10T09:30:00+00:00", ["inbox"], "the cap of 1 per hour is reached"),
    ],
)
def test_what_an_event_would_do_and_why(moment: str, sent: str | None, channels: list[str], why: str) -> None:
    options = ["--event", EVENT, "--subscriber", ANN, "--at", moment, *(["--sent", sent] if sent else [])]
    done = tidegate("rules", "test", *options, "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert [send["channel"] for send in told["sends"]] == channels
    assert told["reasons"] == ["s1"]
    assert any(why in line for line in told["why"])
    assert "rule 'persisted, online' does not apply: the subscriber is offline" in told["why"]
    for line in told["why"]:
        assert line in tidegate("rules", "test", *options).stdout


def test_events_and_subscribers_may_be_files_and_mutes_come_before_rules(tmp_path: Path) -> None:
    event, who = tmp_path / "event.json", tmp_path / "ann.json"
    event.write_text(EVENT)
    who.write_text('{"id": "ann", "preferences": {"mute": {"accounts": ["bob"]}}}')
    done = tidegate("rules", "test", "--event", str(event), "--subscriber", str(who))
    assert done.stdout.splitlines() == ["nothing", "  the account 'bob' is muted"]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["test", "--event", "absent.json"], "--event is 'absent.json', neither a JSON object nor a file"),
        (["test", "--event", "{"], "--event is no JSON"),
        (["test", "--event", '{"topic": "t"}'], "event.topic_type is None: give a text"),
        (["test", "--event", EVENT, "--subscriber", '{"name": "x"}'], "subscriber has no field 'name': there are id"),
        (["test", "--event", EVENT, "--at", "noon"], "--at is 'noon': give a time with its zone"),
        (["show", "--rules", "absent.json"], "absent.json: no rules can be read"),
    ],
)
def test_what_is_wrong_is_one_line(arguments: list[str], complaint: str) -> None:
    done = tidegate("rules", *arguments)
    assert done.returncode == 2
    assert complaint in done.stderr
    assert done.stderr.count("\n") == 1


def test_published_rules_are_in_force(tmp_path: Path) -> None:
    base = f"sqlite:///{tmp_path}/inbox.db"
    assert "persisted, offline" in tidegate("rules", "show", "--database", base).stdout
    file = tmp_path / "rules.json"
    file.write_text('{"rules": [{"name": "all by mail", "then": ["email"]}]}')
    published = tidegate("rules", "publish", "--rules", str(file), "--database", base)
    assert "are in force, as version 1" in published.stdout
    shown = tidegate("rules", "show", "--database", base, "--json")
    assert [rule["name"] for rule in json.loads(shown.stdout)["rules"]] == ["all by mail"]
    file.write_text('{"rules": [{"name": "all by fax", "then": ["fax"]}]}')
    refused = tidegate("rules", "publish", "--rules", str(file), "--database", base)
    assert refused.returncode == 2
    assert tidegate("rules", "show", "--database", base, "--json").stdout == shown.stdout
