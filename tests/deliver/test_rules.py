"""Rules decide by type, presence, device and preferences; the first wins; errors name the rule and the remedy."""

import json
from pathlib import Path
from typing import Any

import pytest

from tidegate.deliver.event import Event
from tidegate.deliver.preferences import Preferences
from tidegate.deliver.rules import Rules, hybrid_rules
from tidegate.deliver.subscriber import Subscriber
from tidegate.deliver.watched_rules import RuleFile, WatchedRules
from tidegate.errors import ConfigError

MATCH = Event("subscription:s1", "match", 0)
PRESENCE = Event("presence:ann", "presence", 0)
PUSH = {"endpoint": "https://push.example/1", "keys": {"p256dh": "B" + "A" * 86, "auth": "A" * 22}}
EVERYWHERE = {"email": "ann@example.org", "webhook": "https://hooks.example/ann", "push": [PUSH]}


def subscriber(online: str = "", devices: str = "", **preferences: Any) -> Subscriber:
    online_kinds, known_kinds = frozenset(online.split()), frozenset(devices.split())
    return Subscriber("ann", online_kinds, known_kinds, Preferences.from_json(preferences))


def rules(*given: dict[str, Any]) -> Rules:
    return Rules.parse(json.dumps({"rules": given}))


@pytest.mark.parametrize(
    ("event", "who", "channels"),
    [
        (PRESENCE, subscriber("desktop", addresses=EVERYWHERE), ("live",)),
        (PRESENCE, subscriber(addresses=EVERYWHERE), ("nothing",)),
        (MATCH, subscriber("desktop"), ("inbox", "live")),
        (MATCH, subscriber("desktop", addresses=EVERYWHERE), ("inbox", "live", "webhook")),
        (MATCH, subscriber(), ("inbox",)),
        (MATCH, subscriber(addresses=EVERYWHERE), ("inbox", "push", "email", "webhook")),
        (MATCH, subscriber(addresses=EVERYWHERE, refuse=["email"]), ("inbox", "push", "webhook")),
        (MATCH, subscriber(addresses=EVERYWHERE, digest={"every": "day"}), ("inbox", "digest", "webhook")),
        (
            MATCH,
            subscriber(addresses=EVERYWHERE, digest={"every": "day"}, refuse=["digest"]),
            ("inbox", "push", "email", "webhook"),
        ),
    ],
)
def test_the_hybrid_rules_are_the_three_paths(event: Event, who: Subscriber, channels: tuple[str, ...]) -> None:
    assert hybrid_rules().decide(event, who).channels == channels


def test_the_first_rule_that_applies_wins_and_is_named() -> None:
    chosen = rules(
        {"name": "phones", "when": {"device": "mobile"}, "then": ["push", "inbox"]},
        {"name": "ranked", "when": {"topic_type": ["ranked", "match"]}, "then": ["inbox"]},
    )
    on_phone = subscriber(devices="mobile desktop", addresses=EVERYWHERE)
    assert chosen.decide(MATCH, on_phone) == (("push", "inbox"), ("rule 'phones' applies",))
    # A phone that is off does not count while a desktop is on.
    at_desk = subscriber("desktop", "mobile desktop", addresses=EVERYWHERE)
    assert chosen.decide(MATCH, at_desk) == (("inbox",), ("rule 'ranked' applies",))
    assert list(chosen.passed_over(MATCH, at_desk)) == [
        "rule 'phones' does not apply: the subscriber has no device of kind mobile"
    ]


def test_an_event_that_no_rule_knows_is_kept() -> None:
    decided = rules({"name": "ranked", "when": {"topic_type": "ranked"}, "then": ["live"]}).decide(MATCH, subscriber())
    assert decided.channels == ("inbox",)
    assert "no rule applies" in decided.why[0]


def test_channels_without_an_address_are_left_out_with_the_reason() -> None:
    decided = hybrid_rules().decide(MATCH, subscriber(addresses={"email": "ann@example.org"}, refuse=["email"]))
    assert decided.why == (
        "rule 'persisted, offline' applies",
        "no push: the subscriber has given no address for it",
        "no email: the subscriber has turned it off",
        "no webhook: the subscriber has given no address for it",
    )


@pytest.mark.parametrize(
    ("prefers", "who", "applies"),
    [
        ({"email": True}, subscriber(addresses=EVERYWHERE), True),
        ({"email": True}, subscriber(), False),
        ({"email": False}, subscriber(), True),
        ({"email": False, "digest": True}, subscriber(), False),
    ],
)
def test_rules_can_ask_for_preferences(prefers: dict[str, bool], who: Subscriber, applies: bool) -> None:
    decided = rules({"name": "r", "when": {"prefers": prefers}, "then": ["nothing"]}).decide(MATCH, who)
    assert decided.channels == (("nothing",) if applies else ("inbox",))


def test_rules_are_written_as_they_are_read() -> None:
    written = json.dumps(hybrid_rules().to_json())
    assert Rules.parse(written).rules == hybrid_rules().rules


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"name": "r", "then": ["inbox", "fax"]}, r"rule 'r': then\[1\] is 'fax': give one of live, inbox, push"),
        ({"name": "r", "then": []}, r"rule 'r': then is \[\]: give channels"),
        ({"name": "r", "then": ["inbox", "inbox"]}, "each once"),
        ({"name": "r", "then": ["nothing", "inbox"]}, "'nothing' alone"),
        ({"name": "r", "then": "inbox"}, "rule 'r': then is 'inbox': give a list"),
        ({"name": "r", "when": {"onlin": True}, "then": ["inbox"]}, "rule 'r': when has no field 'onlin': there are"),
        ({"name": "r", "when": {"online": "yes"}, "then": ["inbox"]}, "rule 'r': when.online is 'yes': give true"),
        ({"name": "r", "when": {"device": []}, "then": ["inbox"]}, "rule 'r': when.device is empty"),
        ({"name": "r", "when": {"prefers": {"fax": True}}, "then": ["inbox"]}, "when.prefers has no field 'fax'"),
        ({"then": ["inbox"]}, r"rules\[0\].name is None: give a text"),
        ([], r"rules\[0\] is \[\]: give a JSON object"),
    ],
)
def test_a_rule_that_is_wrong_is_named_with_the_remedy(given: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        rules(given)


def test_rules_that_can_never_apply_are_refused() -> None:
    always = {"name": "all", "then": ["inbox"]}
    with pytest.raises(ConfigError, match="rule 'late' can never apply, because 'all' before it always does"):
        rules(always, {"name": "late", "when": {"online": True}, "then": ["live"]})
    with pytest.raises(ConfigError, match="rule 'twice': there are two of this name"):
        rules(*[{"name": "twice", "when": {"online": True}, "then": ["live"]}] * 2)


@pytest.mark.parametrize("document", ["", "[", "[]", '{"rule": []}', '{"rules": {}}', "[" * 100_000])
def test_documents_that_are_no_rules_are_refused(document: str) -> None:
    with pytest.raises(ConfigError):
        Rules.parse(document)


def test_rules_change_without_a_restart_and_bad_ones_change_nothing(tmp_path: Path) -> None:
    path = tmp_path / "rules.json"

    def write(document: str) -> None:
        # As an editor does: a new file in the place of the old, so that two writes within one tick of a clock differ.
        (tmp_path / "new").write_text(document)
        (tmp_path / "new").replace(path)

    write(json.dumps({"rules": [{"name": "a", "then": ["inbox"]}]}))
    watched = WatchedRules(RuleFile(path))
    first = watched.current()
    assert watched.current() is first, "what has not changed is not read again"
    write(json.dumps({"rules": [{"name": "b", "then": ["fax"]}]}))
    assert watched.current() is first
    assert watched.problem is not None
    assert "rule 'b'" in watched.problem
    path.unlink()
    assert watched.current() is first
    write(json.dumps({"rules": [{"name": "b", "then": ["live"]}]}))
    assert [rule.name for rule in watched.current().rules] == ["b"]
    assert watched.problem is None


def test_first_rules_that_cannot_be_read_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no rules can be read"):
        WatchedRules(RuleFile(tmp_path / "absent.json"))


def test_what_was_decided_before_is_no_reason_to_decide_otherwise_now() -> None:
    """Decisions are remembered by all that rules can ask for, and by nothing less."""
    rules = Rules.parse(json.dumps(hybrid_rules().to_json()))
    addresses = [{}, {"email": "a@example.org"}, {"webhook": "https://hooks.example/"}]
    wishes = [
        {"addresses": given, "refuse": refused, **digest}
        for given in addresses
        for refused in ([], ["email"], ["live"])
        for digest in ({}, {"digest": {"every": "hour"}})
    ]
    for _ in range(2):
        for preferences in map(Preferences.from_json, wishes):
            for online in ((), ("desktop",), ("mobile",)):
                one = Subscriber("ana", frozenset(online), frozenset(("tablet",)), preferences)
                for kind in ("match", "presence"):
                    event = Event("t", kind, 0)
                    assert rules.decide(event, one) == Rules(rules.rules).decide(event, one)
