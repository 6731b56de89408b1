"""Quiet hours and digests by the wall, against walks through whole years a quarter of an hour at a time."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from functools import cache
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tidegate.deliver.digest import Digest
from tidegate.deliver.local_time import shown
from tidegate.deliver.quiet import QuietHours

# All clocks of the zones below change at one, and all times asked for are one.
QUARTER = timedelta(minutes=15)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
# Whole-hour shifts in both hemispheres, a shift at midnight, a half-hour shift, odd offsets, and none at all.
ZONES = [
    "Europe/Berlin",
    "America/New_York",
    "America/Santiago",
    "Africa/Cairo",
    "Australia/Lord_Howe",
    "Asia/Kathmandu",
    "America/Scoresbysund",
    "UTC",
]


@cache
def walk(zone: str, year: int) -> list[tuple[datetime, datetime]]:
    """Every quarter of an hour of a year, and what a wall clock shows then."""
    start = datetime(year, 1, 1, tzinfo=UTC)
    moments = (start + quarters * QUARTER for quarters in range(367 * 24 * 4))
    return [(moment, moment.astimezone(ZoneInfo(zone)).replace(tzinfo=None, fold=0)) for moment in moments]


def struck(zone: str, year: int) -> Iterator[datetime]:
    """When full hours are struck: shown by the clock, or jumped over."""
    for (_, before), (moment, wall) in pairwise(walk(zone, year)):
        if wall.minute == 0 or wall.replace(minute=0) > before:
            yield moment


@pytest.mark.parametrize("zone", ZONES)
def test_hourly_digests_are_due_whenever_an_hour_is_struck(zone: str) -> None:
    wanted = list(struck(zone, 2026))
    due = [wanted[0]]
    while due[-1] < wanted[-1]:
        due.append(Digest().after(ZoneInfo(zone), due[-1]))
    assert due == wanted


@given(st.sampled_from(ZONES), st.integers(0, 366 * 86_400 * 10**6))
def test_the_next_hour_is_the_same_from_anywhere_before_it(zone: str, offset: int) -> None:
    moment = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(microseconds=offset)
    after = Digest().after(ZoneInfo(zone), moment)
    assert moment < after <= moment + 1.5 * HOUR
    assert Digest().after(ZoneInfo(zone), after - timedelta(microseconds=1)) == after


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("at", [time(0, 0), time(0, 30), time(1, 45), time(2, 30), time(8, 0), time(23, 30)])
def test_daily_digests_are_due_once_a_day_at_the_first_moment_that_is_late_enough(zone: str, at: time) -> None:
    # By hand: the first quarter of a date that is not before the time, or where the date ends before, its end.
    first: dict[date, datetime] = {}
    for moment, wall in walk(zone, 2026):
        if wall.time() >= at:
            first.setdefault(wall.date(), moment)
        elif wall.time() == time():
            first.setdefault(wall.date() - DAY, moment)
    wanted = [first[day] for day in sorted(first) if date(2026, 1, 3) <= day <= date(2026, 12, 30)]
    due = [wanted[0]]
    while due[-1] < wanted[-1]:
        due.append(Digest(at).after(ZoneInfo(zone), due[-1]))
    assert due == wanted


def test_days_of_23_and_25_hours_have_one_digest_each() -> None:
    berlin, at_eight = ZoneInfo("Europe/Berlin"), Digest(time(8))
    for day, hours in [(date(2026, 3, 28), 23), (date(2026, 10, 24), 25), (date(2026, 6, 1), 24)]:
        first = at_eight.after(berlin, datetime.combine(day, time(), berlin))
        assert at_eight.after(berlin, first) - first == hours * HOUR


def test_an_hour_that_comes_twice_has_two_digests_and_the_time_that_comes_twice_one() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    midnight = datetime(2026, 10, 25, tzinfo=berlin)
    times = [midnight]
    while times[-1] < midnight + DAY:
        times.append(Digest().after(berlin, times[-1]))
    assert len([due for due in times if due.astimezone(berlin).date() == date(2026, 10, 25)]) == 25
    daily = Digest(time(2, 30)).after(berlin, midnight)
    assert daily == datetime(2026, 10, 25, 0, 30, tzinfo=UTC)
    assert Digest(time(2, 30)).after(berlin, daily) == datetime(2026, 10, 26, 1, 30, tzinfo=UTC)


def test_a_time_that_is_skipped_is_the_moment_of_the_jump() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    jump = datetime(2026, 3, 29, 1, tzinfo=UTC)
    assert shown(berlin, date(2026, 3, 29), time(2, 30)) == (jump, jump)
    assert Digest(time(2, 30)).after(berlin, jump - HOUR) == jump


def test_a_day_that_the_calendar_lacks_has_no_digest() -> None:
    apia = ZoneInfo("Pacific/Apia")  # went from the 29th to the 31st of December 2011
    before = datetime(2011, 12, 29, 12, tzinfo=apia)
    due = Digest(time(8)).after(apia, before)
    assert due.astimezone(apia) == datetime(2011, 12, 31, 8, tzinfo=apia)
    assert due - before.astimezone(UTC) == 20 * HOUR


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize(
    ("start", "end"),
    [(22, 7), (23, 1), (0, 6), (13, 14.5), (2.25, 2.75), (22, 2.5), (2.5, 9), (1.75, 1.5), (0.5, 0), (23.5, 0)],
)
def test_a_quiet_night_is_one_span_around_all_that_the_wall_shows_between(zone: str, start: float, end: float) -> None:
    quiet = QuietHours(*(time(int(hour), int(hour % 1 * 60)) for hour in (start, end)))
    over_midnight = quiet.end < quiet.start
    # By hand: all quarters of which the clock says that they are quiet, by the evening they belong to; each night is
    # everything from its first such quarter to its last.
    nights: dict[date, tuple[datetime, datetime]] = {}
    for moment, wall in walk(zone, 2026):
        in_evening = wall.time() >= quiet.start and (over_midnight or wall.time() < quiet.end)
        if in_evening or (over_midnight and wall.time() < quiet.end):
            night = wall.date() - (timedelta() if in_evening else DAY)
            nights[night] = (nights.get(night, (moment, moment))[0], moment)
    days = {moment for month, day in TURNS for moment in hours_around(date(2026, month, day))}
    for moment in sorted(days):
        near = [nights[day] for back in (-1, 0, 1, 2) if (day := moment.date() - back * DAY) in nights]
        ends = [last + QUARTER for first, last in near if first <= moment < last + QUARTER]
        assert quiet.until(ZoneInfo(zone), moment) == (max(ends) if ends else None), moment


# All days around which one of the zones changes its clocks in 2026, and two others.
TURNS = [(1, 10), (3, 8), (3, 29), (4, 5), (4, 24), (7, 1), (9, 6), (10, 4), (10, 25), (10, 30), (11, 1)]


def hours_around(day: date) -> Iterator[datetime]:
    middle = datetime.combine(day, time(12), UTC)
    return (middle + step * timedelta(minutes=7) for step in range(-260, 261))


@given(st.sampled_from(ZONES), st.times(), st.times(), st.integers(0, 366 * 86_400))
@example("Europe/Berlin", time(2, 10), time(2, 20), 298 * 86_400)
def test_quiet_is_over_when_it_says_so(zone: str, start: time, end: time, second: int) -> None:
    start, end = start.replace(second=0, microsecond=0), end.replace(second=0, microsecond=0)
    if start == end:
        return
    quiet = QuietHours(start, end)
    moment = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=second)
    until = quiet.until(ZoneInfo(zone), moment)
    if until is None:
        return
    assert moment < until <= moment + DAY + HOUR
    still = quiet.until(ZoneInfo(zone), until - timedelta(microseconds=1))
    assert still == until
