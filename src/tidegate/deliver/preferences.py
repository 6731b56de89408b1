"""What a subscriber has asked for: when to be left alone, how often to be told, where, and of what not.

{"zone": "Europe/Berlin", "quiet": {"from": "22:00", "until": "07:00"},
 "caps": [{"most": 5, "per": "minute"}, {"most": 10, "per": "hour"}], "digest": {"every": "day", "at": "08:00"},
 "mute": {"topics": […], "accounts": […], "subscriptions": […]}, "tags": ["weather"],
 "addresses": {"email": "ann@example.org", "webhook": "https://…", "push": […]}, "refuse": ["email"]}
"""

from dataclasses import dataclass, field
from typing import Any

from tidegate.deliver.addresses import Addresses
from tidegate.deliver.caps import Cap
from tidegate.deliver.digest import Digest
from tidegate.deliver.event import Event, Reason
from tidegate.deliver.fields import as_microseconds, as_moment, fields, items, one_of, text, texts
from tidegate.deliver.local_time import time_zone
from tidegate.deliver.quiet import QuietHours

REFUSABLE = ("live", "push", "email", "webhook", "digest")
"""The channels that a subscriber can turn off without giving up an address; the inbox is always there."""

_MUTABLE = ("topics", "accounts", "subscriptions")


@dataclass(frozen=True)
class Mute:
    """Of what nothing is to be heard."""

    topics: frozenset[str] = frozenset()
    accounts: frozenset[str] = frozenset()
    subscriptions: frozenset[str] = frozenset()

    def silences(self, event: Event) -> str | None:
        """What mutes the whole event: its topic or the account that wrote the post; None if nothing does."""
        if event.topic in self.topics:
            return f"the topic {event.topic!r} is muted"
        if event.account in self.accounts:
            return f"the account {event.account!r} is muted"
        return None


@dataclass(frozen=True)
class Preferences:
    """All wishes of one subscriber; without any, notifications come as the rules say, in UTC."""

    zone: str = "UTC"
    quiet: QuietHours | None = None
    caps: tuple[Cap, ...] = ()
    digest: Digest | None = None
    mute: Mute = field(default_factory=Mute)
    tags: frozenset[str] = frozenset()
    addresses: Addresses = field(default_factory=Addresses)
    refuse: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        """Refuse a zone that there is not."""
        time_zone(self.zone)

    def lacks(self, channel: str) -> str | None:
        """Why the channel cannot be used for this subscriber; None if it can."""
        if channel in self.refuse:
            return "the subscriber has turned it off"
        if not self.addresses.has(channel):
            return "the subscriber has given no address for it"
        if channel == "email" and not self.addresses.is_confirmed:
            return "the address is not confirmed yet"
        if channel == "digest" and self.digest is None:
            return "the subscriber has asked for no digest"
        return None

    def quiet_until(self, moment: int) -> int | None:
        """When the quiet hours that hold at a moment are over (microseconds); None where none hold."""
        if self.quiet is None:
            return None
        until = self.quiet.until(time_zone(self.zone), as_moment(moment))
        return None if until is None else as_microseconds(until)

    def objection(self, reason: Reason, now: int) -> str | None:
        """Why a subscription is no reason to tell the subscriber at this moment; None if it is one."""
        if reason.subscription in self.mute.subscriptions:
            objection = "is muted"
        elif reason.expires is not None and reason.expires <= now:
            objection = "has expired"
        elif self.tags and self.tags.isdisjoint(reason.tags):
            objection = f"has none of the tags {', '.join(sorted(self.tags))}"
        else:
            return None
        return f"subscription {reason.subscription!r} {objection}"

    @classmethod
    def from_json(cls, value: object, where: str = "preferences") -> "Preferences":
        """Read an object of which every field is optional; `ConfigError` names the field that cannot be."""
        given = {
            name: found
            for name, found in fields(where, value, tuple(cls.__dataclass_fields__)).items()
            if found is not None
        }
        mute = fields(f"{where}.mute", given.get("mute", {}), _MUTABLE)
        caps = items(f"{where}.caps", given.get("caps", []))
        return cls(
            text(f"{where}.zone", given.get("zone", "UTC")),
            QuietHours.from_json(f"{where}.quiet", given["quiet"]) if "quiet" in given else None,
            tuple(Cap.from_json(f"{where}.caps[{number}]", cap) for number, cap in enumerate(caps)),
            Digest.from_json(f"{where}.digest", given["digest"]) if "digest" in given else None,
            Mute(*(texts(f"{where}.mute.{name}", mute.get(name, [])) for name in _MUTABLE)),
            texts(f"{where}.tags", given.get("tags", [])),
            Addresses.from_json(f"{where}.addresses", given.get("addresses", {})),
            frozenset(
                one_of(f"{where}.refuse[{number}]", channel, REFUSABLE)
                for number, channel in enumerate(items(f"{where}.refuse", given.get("refuse", [])))
            ),
        )

    def to_json(self) -> dict[str, Any]:
        """Write what `from_json` reads."""
        return {
            "zone": self.zone,
            "quiet": None if self.quiet is None else self.quiet.to_json(),
            "caps": [cap.to_json() for cap in self.caps],
            "digest": None if self.digest is None else self.digest.to_json(),
            "mute": {name: sorted(getattr(self.mute, name)) for name in _MUTABLE},
            "tags": sorted(self.tags),
            "addresses": self.addresses.to_json(),
            "refuse": sorted(self.refuse),
        }
