"""Who is to be told: as far as a rule can know."""

from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import cached_property

from tidegate.deliver.fields import fields, text, texts
from tidegate.deliver.preferences import REFUSABLE, Preferences


@dataclass(frozen=True)
class Subscriber:
    """A subscriber: the kinds of devices (desktop, mobile, …) that are online, and of all that are known."""

    id: str
    online: frozenset[str] = frozenset()
    devices: frozenset[str] = frozenset()
    preferences: Preferences = field(default_factory=Preferences)

    @property
    def is_online(self) -> bool:
        """Whether any device is."""
        return bool(self.online)

    @property
    def reach(self) -> frozenset[str]:
        """The kinds of devices that count: those online, or, if none is, those known."""
        return self.online or self.devices

    @cached_property
    def situation(self) -> Hashable:
        """All that a rule can ask for: those of whom it is the same are decided about alike."""
        return self.is_online, self.reach, tuple(map(self.preferences.lacks, REFUSABLE))

    @classmethod
    def from_json(cls, where: str, value: object) -> "Subscriber":
        """Read {"id": …, "online": [kind, …], "devices": [kind, …], "preferences": {…}}; only the id is needed."""
        given = fields(where, value, ("id", "online", "devices", "preferences"))
        return cls(
            text(f"{where}.id", given.get("id")),
            texts(f"{where}.online", given.get("online", [])),
            texts(f"{where}.devices", given.get("devices", [])),
            Preferences.from_json(given.get("preferences", {}), f"{where}.preferences"),
        )
