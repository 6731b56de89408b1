"""When digests are due: on every hour, or once a day, by the clock on the subscriber's wall."""

from dataclasses import dataclass
from datetime import datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from tidegate.deliver.fields import fields, one_of
from tidegate.deliver.local_time import exists, next_hour, shown
from tidegate.deliver.quiet import clock_time
from tidegate.errors import ConfigError

MORNING = time(8)
"""When a daily digest is sent if nothing is said."""


@dataclass(frozen=True)
class Digest:
    """One on every hour, or, if `at` is given, one on every day at that time.

    A day of 23 or 25 hours has one like any other: at the first of two such times, or, if the time is skipped, when it
    is. An hour that comes twice has two.
    """

    at: time | None = None

    def after(self, zone: ZoneInfo, moment: datetime) -> datetime:
        """When the next one is due, strictly after this moment."""
        if self.at is None:
            return next_hour(zone, moment)
        day = moment.astimezone(zone).date()
        while not exists(zone, day) or (due := shown(zone, day, self.at).first) <= moment:
            day += timedelta(days=1)
        return due

    @classmethod
    def from_json(cls, where: str, value: object) -> "Digest":
        """Read {"every": "hour"} or {"every": "day", "at": "08:00"}."""
        given = fields(where, value, ("every", "at"))
        if one_of(f"{where}.every", given.get("every"), ("hour", "day")) == "day":
            return cls(clock_time(f"{where}.at", given["at"]) if "at" in given else MORNING)
        if "at" in given:
            raise ConfigError(f"{where}.at is {given['at']!r:.80}: leave it out of a digest of every hour")
        return cls()

    def to_json(self) -> dict[str, Any]:
        """Write what `from_json` reads."""
        return {"every": "hour"} if self.at is None else {"every": "day", "at": f"{self.at:%H:%M}"}
