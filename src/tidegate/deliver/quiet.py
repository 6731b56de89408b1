"""Quiet hours: a span of wall-clock time each day, in the subscriber's own zone, in which nothing rings."""

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from tidegate.deliver.fields import fields
from tidegate.deliver.local_time import is_shift, shown
from tidegate.errors import ConfigError


@dataclass(frozen=True)
class QuietHours:
    """From `start` to `end`; over midnight where the end is not after the start.

    On a night when clocks change it is still one span: it begins when the clock first shows the start and
    ends when it last shows the end, so an hour that comes twice is quiet twice, and not interrupted.
    """

    start: time
    end: time

    def __post_init__(self) -> None:
        """Refuse a span of which nobody can tell whether it is nothing or all day."""
        if self.start == self.end:
            raise ConfigError(f"quiet hours begin and end at {self.start:%H:%M}: give two times, or leave them out")

    def until(self, zone: ZoneInfo, moment: datetime) -> datetime | None:
        """When the quiet that holds at this moment is over; None where none holds."""
        today = moment.astimezone(zone).date()
        ends = timedelta(days=1 if self.end < self.start else 0)
        for back in (0, 1):
            day = today - timedelta(days=back)
            end = _end(zone, day + ends, self.end)
            if shown(zone, day, self.start).first <= moment < end:
                return end
        return None

    @classmethod
    def from_json(cls, where: str, value: object) -> "QuietHours":
        """Read {"from": "22:00", "until": "07:00"}."""
        given = fields(where, value, ("from", "until"))
        start, end = (clock_time(f"{where}.{name}", given.get(name)) for name in ("from", "until"))
        return cls(start, end)

    def to_json(self) -> dict[str, Any]:
        """Write what `from_json` reads."""
        return {"from": f"{self.start:%H:%M}", "until": f"{self.end:%H:%M}"}


def _end(zone: ZoneInfo, day: date, wall: time) -> datetime:
    """The last moment before which the clock shows an earlier time."""
    first, last = shown(zone, day, wall)
    # A clock set back to just this time comes from a later one.
    return first if is_shift(zone, last) else last


def clock_time(where: str, value: object) -> time:
    """Read the time of a wall clock, hours and minutes."""
    try:
        if isinstance(value, str) and len(value) == 5:
            return time.fromisoformat(value)
    except ValueError:
        pass
    raise ConfigError(f"{where} is {value!r:.80}: give hours and minutes of a day, as in '07:30'")
