"""What the clock on a wall shows, and when: with hours that come twice and hours, even days, that never come."""

from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from typing import NamedTuple
from zoneinfo import ZoneInfo

from tidegate.errors import ConfigError

_HOUR = timedelta(hours=1)
_SECOND = timedelta(seconds=1)
_DAY = timedelta(days=1)


class Shown(NamedTuple):
    """The first and the last moment (UTC) at which a wall clock shows a time.

    They differ by as much as a clock is set back; both are the moment of the jump where the time is skipped.
    """

    first: datetime
    last: datetime


@lru_cache(maxsize=1024)
def time_zone(name: str) -> ZoneInfo:
    """Return the zone of the IANA name, as in Europe/Berlin; `ConfigError` if there is none."""
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, KeyError) as error:  # absent, a path or a folder, not a name at all
        raise ConfigError(f"no time zone is called {name!r:.80}: give an IANA name such as Europe/Berlin") from error


def shown(zone: ZoneInfo, day: date, wall: time) -> Shown:
    """When a clock in the zone shows the time on that day."""
    first, last = (datetime.combine(day, wall, zone).replace(fold=fold).astimezone(UTC) for fold in (0, 1))
    if first <= last:
        return Shown(first, last)
    # In a gap the offsets are taken from beyond either side of it, so the two are the wrong way round.
    jump = shift_between(zone, last, first)
    return Shown(jump, jump)


def exists(zone: ZoneInfo, day: date) -> bool:
    """Whether there is such a day: zones that crossed the date line have skipped one."""
    return shown(zone, day, time()).first < shown(zone, day + _DAY, time()).first


def next_hour(zone: ZoneInfo, moment: datetime) -> datetime:
    """The first moment after this one at which a full hour is struck: reached by the wall clock, or jumped over.

    Hours are of sixty minutes, those that come twice too; only in zones that shift by half an hour
    is there one of thirty minutes and one of ninety.
    """
    wall = moment.astimezone(zone)
    due = moment.astimezone(UTC) + _until_full(wall)
    if due.astimezone(zone).utcoffset() == wall.utcoffset():
        return due
    jump = shift_between(zone, moment.astimezone(UTC), due)
    landed = jump.astimezone(zone)
    shift = (landed.utcoffset() or timedelta()) - (wall.utcoffset() or timedelta())
    before = landed.replace(tzinfo=None) - shift
    is_struck = landed.minute == landed.second == 0
    # A mark that is reached in the moment of a jump is never shown.
    is_jumped_over = before <= landed.replace(tzinfo=None, minute=0, second=0)
    return jump if is_struck or is_jumped_over else next_hour(zone, jump)


def is_shift(zone: ZoneInfo, moment: datetime) -> bool:
    """Whether clocks are set forth or back at this moment."""
    just_before = moment - timedelta(microseconds=1)
    return just_before.astimezone(zone).utcoffset() != moment.astimezone(zone).utcoffset()


def shift_between(zone: ZoneInfo, before: datetime, after: datetime) -> datetime:
    """The moment in (before, after], both UTC, at which the zone's offset changes to what it is at the end."""
    offset = after.astimezone(zone).utcoffset()
    seconds = int((after - before) / _SECOND)
    same, other = 0, seconds  # the offset is the last one from `same` seconds before the end on, not at `other`
    while other - same > 1:
        middle = (same + other) // 2
        if (after - middle * _SECOND).astimezone(zone).utcoffset() == offset:
            same = middle
        else:
            other = middle
    return after.replace(microsecond=0) - same * _SECOND


def _until_full(wall: datetime) -> timedelta:
    return _HOUR - timedelta(minutes=wall.minute, seconds=wall.second, microseconds=wall.microsecond)
