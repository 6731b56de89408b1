"""Caps against their definition: no span of time has more than it may, wherever it begins; none is refused early."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.deliver.caps import Cap, admit

SECOND = 1_000_000
BUSY = (Cap(5, 60 * SECOND), Cap(10, 3_600 * SECOND))


def admitted(caps: tuple[Cap, ...], times: list[int]) -> list[int]:
    recent: tuple[int, ...] = ()
    granted = []
    for now in times:
        admission = admit(caps, recent, now)
        recent = admission.recent
        if admission.is_granted:
            granted.append(now)
    return granted


def admitted_by_counting(caps: tuple[Cap, ...], times: list[int]) -> list[int]:
    """The definition: count all that were admitted in (now - per, now]."""
    granted: list[int] = []
    for now in times:
        if all(sum(now - cap.per < then <= now for then in granted) < cap.most for cap in caps):
            granted.append(now)
    return granted


spans = st.builds(Cap, st.integers(0, 6), st.integers(1, 40))
rising = st.lists(st.integers(0, 200), max_size=60).map(sorted)


@given(st.lists(spans, max_size=4).map(tuple), rising)
def test_caps_equal_counting(caps: tuple[Cap, ...], times: list[int]) -> None:
    assert admitted(caps, times) == admitted_by_counting(caps, times)


@given(st.lists(spans, min_size=1, max_size=4).map(tuple), rising)
def test_no_span_wherever_it_begins_has_more_than_a_cap_allows(caps: tuple[Cap, ...], times: list[int]) -> None:
    granted = admitted(caps, times)
    for cap in caps:
        for begin in range(-41, 201):
            assert sum(begin < then <= begin + cap.per for then in granted) <= cap.most


@given(st.lists(spans, min_size=1, max_size=3).map(tuple), st.lists(st.integers(0, 100), max_size=40))
def test_a_clock_that_steps_back_opens_nothing(caps: tuple[Cap, ...], times: list[int]) -> None:
    recent: tuple[int, ...] = ()
    taken_for, latest = [], 0
    for now in times:
        admission = admit(caps, recent, now)
        if admission.is_granted:
            latest = max(latest, now)
            taken_for.append(latest)
        recent = admission.recent
        assert len(recent) <= max(cap.most for cap in caps)
    for cap in caps:
        for begin in range(-41, 101):
            assert sum(begin < then <= begin + cap.per for then in taken_for) <= cap.most


def test_five_a_minute_and_ten_an_hour() -> None:
    every_second = [now * SECOND for now in range(7_200)]
    granted = [now // SECOND for now in admitted(BUSY, every_second)]
    assert granted == [*range(5), *range(60, 65), *range(3_600, 3_605), *range(3_660, 3_665)]


def test_the_cap_that_is_reached_is_named() -> None:
    recent = tuple(now * SECOND for now in range(5))
    assert str(admit(BUSY, recent, 59 * SECOND).reached) == "5 per minute"
    assert admit(BUSY, recent, 60 * SECOND).is_granted
    assert str(Cap(3, 90 * SECOND)) == "3 per 90 s"


@pytest.mark.parametrize("recent", [(), (1, 2, 3)])
def test_without_caps_nothing_is_withheld_or_remembered(recent: tuple[int, ...]) -> None:
    assert admit((), recent, 4) == (None, ())
