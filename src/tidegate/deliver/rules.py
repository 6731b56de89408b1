"""The rule engine: which channels an event takes, decided by rules that are data; the first that applies wins.

A rule asks for the type of the topic, whether the subscriber is online and on what kind of device, and what it prefers:
{"name": "away", "when": {"topic_type": ["match"], "online": false, "prefers": {"email": true}}, "then": ["email"]}
"""

import json
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tidegate.deliver.event import PRESENCE, Event
from tidegate.deliver.fields import fields, flag, items, listed, one_of, text, texts
from tidegate.deliver.subscriber import Subscriber
from tidegate.errors import ConfigError

CHANNELS = ("live", "inbox", "push", "email", "webhook", "digest", "nothing")
"""What a rule may decide; `nothing` only by itself."""

PREFERRED = ("live", "push", "email", "webhook", "digest")
"""What a rule may ask a subscriber's preferences for: whether the channel can be used."""

_MOST_REMEMBERED = 10_000


class Decision(NamedTuple):
    """The channels that an event takes, and why, in sentences."""

    channels: tuple[str, ...]
    why: tuple[str, ...]


@dataclass(frozen=True)
class Conditions:
    """What a rule asks for; what is left out is not asked."""

    topic_type: frozenset[str] | None = None
    online: bool | None = None
    device: frozenset[str] | None = None
    prefers: Mapping[str, bool] = field(default_factory=dict)

    @property
    def is_always_met(self) -> bool:
        """Whether nothing is asked."""
        return self == Conditions()

    def unmet(self, event: Event, subscriber: Subscriber) -> str | None:
        """The first condition that does not hold, as a sentence; None if all do."""
        if self.topic_type is not None and event.topic_type not in self.topic_type:
            return f"the topic is of type {event.topic_type!r}, not {listed(self.topic_type)}"
        if self.online is not None and self.online is not subscriber.is_online:
            return f"the subscriber is {'online' if subscriber.is_online else 'offline'}"
        if self.device is not None and not self.device & subscriber.reach:
            return f"the subscriber has no device of kind {listed(self.device)}"
        for channel, wanted in self.prefers.items():
            lacking = subscriber.preferences.lacks(channel)
            if wanted is not (lacking is None):
                return f"{channel}: {lacking or 'the subscriber has it'}"
        return None

    @classmethod
    def from_json(cls, where: str, value: object) -> "Conditions":
        """Read the object under "when"."""
        given = fields(where, value, tuple(cls.__dataclass_fields__))
        prefers = fields(f"{where}.prefers", given.get("prefers", {}), PREFERRED)
        kinds = {
            name: texts(f"{where}.{name}", given[name]) if name in given else None for name in ("topic_type", "device")
        }
        for name, several in kinds.items():
            if several is not None and not several:
                raise ConfigError(f"{where}.{name} is empty, so that it never holds: give a text, or leave it out")
        return cls(
            kinds["topic_type"],
            flag(f"{where}.online", given["online"]) if "online" in given else None,
            kinds["device"],
            {channel: flag(f"{where}.prefers.{channel}", wanted) for channel, wanted in prefers.items()},
        )

    def to_json(self) -> dict[str, Any]:
        """Write what `from_json` reads."""
        asked = {
            "topic_type": None if self.topic_type is None else sorted(self.topic_type),
            "online": self.online,
            "device": None if self.device is None else sorted(self.device),
            "prefers": dict(self.prefers) or None,
        }
        return {name: value for name, value in asked.items() if value is not None}


@dataclass(frozen=True)
class Rule:
    """Under these conditions these channels."""

    name: str
    when: Conditions
    then: tuple[str, ...]

    @classmethod
    def from_json(cls, where: str, value: object) -> "Rule":
        """Read {"name": …, "when": {…}, "then": [channel, …]}; an error names the rule."""
        given = fields(where, value, ("name", "when", "then"))
        name = text(f"{where}.name", given.get("name"))
        where = f"rule {name!r}"
        then = tuple(
            one_of(f"{where}: then[{number}]", channel, CHANNELS)
            for number, channel in enumerate(items(f"{where}: then", given.get("then")))
        )
        if not then or len(set(then)) < len(then) or ("nothing" in then and len(then) > 1):
            raise ConfigError(f"{where}: then is {list(then)}: give channels, each once, or 'nothing' alone")
        return cls(name, Conditions.from_json(f"{where}: when", given.get("when", {})), then)

    def to_json(self) -> dict[str, Any]:
        """Write what `from_json` reads."""
        return {"name": self.name, "when": self.when.to_json(), "then": list(self.then)}


class Rules:
    """Rules in their order. Immutable: what changes is which rules are in force (`watched_rules`)."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        """Refuse two of one name, and rules behind one that always applies."""
        self.rules = tuple(rules)
        self._decided: dict[Hashable, Decision] = {}
        names: set[str] = set()
        last: str | None = None
        for rule in self.rules:
            if rule.name in names:
                raise ConfigError(f"rule {rule.name!r}: there are two of this name, give each its own")
            if last is not None:
                raise ConfigError(
                    f"rule {rule.name!r} can never apply, because {last!r} before it always does: "
                    f"put it before that one, or give that one conditions"
                )
            names.add(rule.name)
            last = rule.name if rule.when.is_always_met else None

    def decide(self, event: Event, subscriber: Subscriber) -> Decision:
        """The channels of the first rule that applies, without those that the subscriber does not have.

        Where none applies the event goes to the inbox, so that an omission in the rules loses nothing.
        """
        # There are few situations and many events.
        key = (event.topic_type, subscriber.situation)
        found = self._decided.get(key)
        if found is None:
            if len(self._decided) >= _MOST_REMEMBERED:
                self._decided.clear()
            found = self._decided[key] = self._decide(event, subscriber)
        return found

    def _decide(self, event: Event, subscriber: Subscriber) -> Decision:
        for rule in self.rules:
            if rule.when.unmet(event, subscriber) is None:
                return _within_preferences(rule, subscriber)
        return Decision(("inbox",), ("no rule applies: what nobody has thought of is kept in the inbox",))

    def passed_over(self, event: Event, subscriber: Subscriber) -> Iterator[str]:
        """Say of each rule before the one that applies why it does not."""
        for rule in self.rules:
            unmet = rule.when.unmet(event, subscriber)
            if unmet is None:
                return
            yield f"rule {rule.name!r} does not apply: {unmet}"

    @classmethod
    def parse(cls, document: str) -> "Rules":
        """Read {"rules": [rule, …]}; `ConfigError` names the rule that is wrong, and the remedy."""
        try:
            value = json.loads(document)
        except (ValueError, RecursionError) as error:
            raise ConfigError(f"the rules are no JSON ({error}): give an object with a list of rules") from error
        listed_rules = items("rules", fields("the document", value, ("rules",)).get("rules"))
        return cls(Rule.from_json(f"rules[{number}]", rule) for number, rule in enumerate(listed_rules))

    def to_json(self) -> dict[str, Any]:
        """Write what `parse` reads, as plain values."""
        return {"rules": [rule.to_json() for rule in self.rules]}


def _within_preferences(rule: Rule, subscriber: Subscriber) -> Decision:
    channels, why = [], [f"rule {rule.name!r} applies"]
    for channel in rule.then:
        lacking = subscriber.preferences.lacks(channel)
        if lacking is None:
            channels.append(channel)
        else:
            why.append(f"no {channel}: {lacking}")
    return Decision(tuple(channels) or ("nothing",), tuple(why))


def hybrid_rules() -> Rules:
    """The three paths of the hybrid engine: real time to who is online, persisted to who is online, and to who is not.

    Presence is told to those who are there and kept for nobody. All else is persisted; who is online has it live, who
    is not is pushed and mailed, unless it wants a digest. Programs behind a webhook are always told.
    """
    presence = frozenset((PRESENCE,))
    return Rules(
        (
            Rule("presence, online", Conditions(presence, online=True), ("live",)),
            Rule("presence, offline", Conditions(presence), ("nothing",)),
            Rule("persisted, online", Conditions(online=True), ("inbox", "live", "webhook")),
            Rule("persisted, offline, digest", Conditions(prefers={"digest": True}), ("inbox", "digest", "webhook")),
            Rule("persisted, offline", Conditions(), ("inbox", "push", "email", "webhook")),
        )
    )
