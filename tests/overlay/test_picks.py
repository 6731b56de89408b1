"""A peer that keeps little tells its reader of what one would that keeps all."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.overlay.picks import CountedPicks, TimedPicks
from tidegate.rank.event import Event, best
from tidegate.rank.ranking import TimeWindows
from tidegate.rank.windows import Windows

SCORES = st.lists(st.integers(0, 6), max_size=60)


@st.composite
def counted(draw: st.DrawFn) -> Windows:
    width = draw(st.integers(1, 12))
    return Windows(draw(st.integers(1, width)), width, draw(st.integers(1, width)))


def events_of(scores: list[int]) -> list[Event]:
    return [Event(f"{number:03}", score) for number, score in enumerate(scores)]


@given(windows=counted(), scores=SCORES)
def test_windows_by_count_are_those_of_one_who_keeps_all(windows: Windows, scores: list[int]) -> None:
    events = events_of(scores)
    picks = CountedPicks(windows)
    told = [event for one in events for event in picks.receive(one)]
    assert told == windows.delivered(events)
    assert picks.received == len(events)
    assert picks.held <= windows.width


@st.composite
def timed(draw: st.DrawFn) -> TimeWindows:
    width = draw(st.integers(1, 20))
    return TimeWindows(draw(st.integers(1, 4)), width, draw(st.integers(1, width)))


def _said(windows: TimeWindows, events: list[Event], told_before: set[str], begin: float, now: float) -> list[Event]:
    """Return the best of all windows that end after `begin` and by `now`, those left out that were told of before."""
    last = int(max((event.time for event in events), default=0)) + 1
    news: dict[Event, None] = {}
    for window in range(-windows.width, last):
        start = window * windows.shift
        if begin < start + windows.width <= now:
            inside = [event for event in events if start <= event.time < start + windows.width]
            news.update(dict.fromkeys(best(inside, windows.k)))
    return [event for event in news if event.id not in told_before]


@given(
    windows=timed(),
    rounds=st.lists(st.tuples(st.lists(st.tuples(st.integers(0, 80), st.integers(0, 5))), st.integers(0, 25))),
)
def test_windows_of_time_are_those_of_one_who_keeps_all(
    windows: TimeWindows, rounds: list[tuple[list[tuple[int, int]], int]]
) -> None:
    picks = TimedPicks(windows)
    known: list[Event] = []
    told: set[str] = set()
    now = -1
    for arrived, later in rounds:
        for time, score in arrived:
            known.append(Event(f"{len(known):03}", score, time))
            picks.receive(known[-1])
        said = _said(windows, known, told, now, now + later)
        assert picks.advance(now + later) == said
        told |= {event.id for event in said}
        now += later


def test_what_comes_after_its_windows_have_ended_is_late() -> None:
    picks = TimedPicks(TimeWindows(1, 10, 5))
    assert picks.advance(12) == []
    picks.receive(Event("late", 9, 1))
    picks.receive(Event("soon", 1, 6))
    assert (picks.received, picks.late) == (2, 1)
    assert [event.id for event in picks.advance(15)] == ["soon"]
    # A clock that goes back opens no window again.
    assert picks.advance(3) == []
    picks.receive(Event("again", 9, 4))
    assert picks.late == 2
    assert picks.held == 0


@pytest.mark.parametrize(("shift", "share"), [(1000, 0.005), (100, 0.01)])
def test_a_reader_is_told_of_a_few_and_a_peer_keeps_few_of_a_thousand(shift: int, share: float) -> None:
    picks = CountedPicks(Windows(5, 1000, shift))
    scores = np.random.default_rng(1).permutation(20_000).tolist()
    told, held = 0, []
    for event in events_of(scores):
        told += len(picks.receive(event))
        held.append(picks.held)
    assert told / len(scores) <= share
    assert abs(np.mean(held[1000:]) - 5 * (1 + np.log(1000 / 5))) < 3
    assert max(held) < 80
