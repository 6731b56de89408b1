"""Caps: at most so many notifications in any span of time, several at once, as in 5 a minute and 10 an hour."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from tidegate.deliver.clock import SECOND
from tidegate.deliver.fields import fields, whole
from tidegate.errors import ConfigError

_UNITS = {"minute": 60, "hour": 3_600, "day": 86_400, "week": 604_800}
_MOST = 10_000


@dataclass(frozen=True)
class Cap:
    """At most `most` in every half-open span of `per` microseconds, wherever on the clock it begins."""

    most: int
    per: int

    @classmethod
    def from_json(cls, where: str, value: object) -> "Cap":
        """Read {"most": 5, "per": "minute"}; `per` may be hour, day, week, or a number of seconds."""
        given = fields(where, value, ("most", "per"))
        per = given.get("per")
        if isinstance(per, str) and per not in _UNITS:
            raise ConfigError(f"{where}.per is {per!r:.80}: give one of {', '.join(_UNITS)}, or a number of seconds")
        seconds = _UNITS[per] if isinstance(per, str) else whole(f"{where}.per", per, 1, 31_622_400)
        return cls(whole(f"{where}.most", given.get("most"), 0, _MOST), seconds * SECOND)

    def to_json(self) -> dict[str, Any]:
        """Write what `from_json` reads."""
        return {"most": self.most, "per": self.per // SECOND if self.unit is None else self.unit}

    @property
    def unit(self) -> str | None:
        """The name of the span, if it has one."""
        return next((unit for unit, seconds in _UNITS.items() if seconds * SECOND == self.per), None)

    def __str__(self) -> str:
        """As in: 5 per minute."""
        return f"{self.most} per {self.unit or f'{self.per // SECOND} s'}"


class Admission(NamedTuple):
    """Whether a notification may ring; if not, which cap withholds it. `recent` is to be kept for the next one."""

    reached: Cap | None
    recent: tuple[int, ...]

    @property
    def is_granted(self) -> bool:
        """Whether no cap is reached."""
        return self.reached is None


def admit(caps: Iterable[Cap], recent: tuple[int, ...], now: int) -> Admission:
    """Decide about one notification at `now` (microseconds); `recent` are the times of those admitted, ascending.

    Exact: it is admitted iff every cap has admitted fewer than `most` in (now - per, now]. What was withheld does not
    count. A clock that steps back opens nothing: such a time is taken for that of the last one.
    Costs one comparison for each cap; keeps no more times than the largest cap allows.
    """
    every = tuple(caps)
    now = max(now, recent[-1]) if recent else now
    for cap in every:
        if cap.most == 0 or (len(recent) >= cap.most and recent[-cap.most] > now - cap.per):
            return Admission(cap, recent)
    keep = max((cap.most for cap in every), default=0)
    return Admission(None, (*recent, now)[-keep:] if keep else ())
