"""The controller in closed loops: it finds the level a rate asks for, stays there, and never jumps across a segment."""

from fractions import Fraction
from itertools import pairwise
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.errors import ConfigError
from tidegate.route.shed_control import Controller, Segments, segments
from tidegate.route.shedding import Levels

LEVELS = Levels()
# Visits per post at levels 0 to 8, as of posts with six words.
LOADS = [5.6, 4.8, 4.5, 4.1, 3.7, 3.2, 2.6, 1.8, 1.0]

falling_loads = st.lists(st.integers(1, 60), min_size=9, max_size=9).map(lambda loads: sorted(loads, reverse=True))
buffers = st.integers(1, 100_000)


@given(buffer=buffers, loads=falling_loads)
def test_ideal_is_as_long_as_equation_9_allows(buffer: int, loads: list[int]) -> None:
    found = segments(buffer, loads)
    assert found.ideal + found.stable == buffer
    assert all(found.ideal * before < buffer * after for before, after in pairwise(loads))
    assert any((found.ideal + 1) * before >= buffer * after for before, after in pairwise(loads))


def waiting(demand: Fraction, loads: list[int], level: int) -> int:
    """The queue of Little's law, in proportion to the load per post; part of a post waits as a whole one."""
    return ceil(demand * loads[level])


@given(buffer=buffers, loads=falling_loads, demand=st.fractions(0, 20_000), level=st.integers(0, 7))
def test_one_step_never_leads_from_ideal_to_overload_or_back(
    buffer: int, loads: list[int], demand: Fraction, level: int
) -> None:
    three = segments(buffer, loads)
    at = [three.at(waiting(demand, loads, one)) for one in (level, level + 1)]
    assert at != ["overload", "ideal"]


@given(buffer=buffers, loads=falling_loads, demands=st.lists(st.fractions(0, 20_000), min_size=1, max_size=4))
def test_where_the_queue_is_in_proportion_to_the_load_the_level_comes_to_rest(
    buffer: int, loads: list[int], demands: list[Fraction]
) -> None:
    controller = Controller(LEVELS, segments(buffer, loads))
    now = 0.0
    for demand in demands:
        path = []
        # A step that helped is given a second period: where it did not help enough, the queue has stopped falling.
        for _ in range(2 * LEVELS.count + 4):
            path.append(controller.observe(waiting(demand, loads, controller.level), now))
            now += 1
        assert path in (sorted(path), sorted(path, reverse=True))
        assert len(set(path[-3:])) == 1
        rests = controller.segments.at(waiting(demand, loads, controller.level))
        assert rests == "stable" or controller.level == (0 if rests == "ideal" else LEVELS.count)


def test_a_buffer_that_fills_and_empties_sees_only_the_two_levels_around_the_rate() -> None:
    visits_per_s = 12_000 * LOADS[0]
    buffer = 160_000
    controller = Controller(LEVELS, segments(buffer, LOADS))
    fullness, now = 0.0, 0
    settled: dict[int, set[int]] = {}
    for rate, until in [(16_000, 500), (32_000, 1000), (2_000, 1500), (16_000, 2000)]:
        changes, begins = 0, now
        settled[until] = set()
        while now < until:
            before = controller.level
            level = controller.observe(ceil(fullness), now)
            if now - begins >= 50:
                settled[until].add(level)
                changes += level != before
                # What one period adds in overload, before the next step turns it.
                assert fullness <= buffer + rate
            fullness = max(fullness + rate - visits_per_s / LOADS[level], 0)
            now += 1
        assert changes < (until - begins) / 10
    # 16 K a second can have 4.2 visits a post, between levels 2 and 3; 32 K can have 2.1, between levels 6 and 7.
    assert settled == {500: {2, 3}, 1000: {6, 7}, 1500: {0}, 2000: {2, 3}}


THREE = Segments(ideal=100, stable=100)


def levels_of(controller: Controller, *observed: int) -> list[int]:
    """One observation a period."""
    return [controller.observe(fullness, float(now)) for now, fullness in enumerate(observed)]


def test_in_overload_the_level_rises_while_the_buffer_does_not_empty() -> None:
    assert levels_of(Controller(LEVELS, THREE), 300, 310, 310, 309, 300, 305) == [1, 2, 3, 3, 3, 4]


def test_in_the_ideal_segment_the_level_falls_while_the_buffer_does_not_fill() -> None:
    controller = Controller(LEVELS, THREE)
    assert levels_of(controller, *[300] * 6) == [1, 2, 3, 4, 5, 6]
    later = [
        controller.observe(fullness, 10.0 + now) for now, fullness in enumerate((150, 150, 100, 90, 90, 91, 92, 80))
    ]
    assert later == [6, 6, 5, 4, 3, 3, 3, 2]


def test_the_stable_segment_changes_nothing_and_what_follows_it_is_a_first_time_again() -> None:
    assert levels_of(Controller(LEVELS, THREE), 300, 200, 101, 290, 150, 280) == [1, 1, 1, 2, 2, 3]


def test_there_is_no_level_beyond_the_last_nor_below_none() -> None:
    controller = Controller(Levels(count=3), THREE)
    assert levels_of(controller, *range(300, 306), 0, 0, 0, 0, 0) == [1, 2, 3, 3, 3, 3, 2, 1, 0, 0, 0]


def test_the_level_changes_once_a_period() -> None:
    controller = Controller(LEVELS, THREE, period_s=2.0)
    assert [controller.observe(300, now) for now in (7.0, 7.5, 8.9, 9.0, 10.9, 11.5)] == [1, 1, 1, 2, 2, 3]


def test_a_clock_that_was_set_back_does_not_stop_adaptation() -> None:
    controller = Controller(LEVELS, THREE)
    assert [controller.observe(300, now) for now in (1000.0, 5.0, 5.5, 6.0)] == [1, 2, 2, 3]


def test_buffers_loads_and_periods_that_cannot_be_are_refused() -> None:
    with pytest.raises(ConfigError, match="a buffer of 0 posts"):
        segments(0, LOADS)
    for loads in ([1.0], [2.0, 3.0], [2.0, 0.0], []):
        with pytest.raises(ConfigError, match="of the levels: give two or more, none rising, all above zero"):
            segments(100, loads)
    with pytest.raises(ConfigError, match="-1 ideal and 5 stable posts"):
        Segments(-1, 5)
    with pytest.raises(ConfigError, match="10 ideal and 0 stable posts"):
        Segments(10, 0)
    with pytest.raises(ConfigError, match="an adaptation period of 0 s"):
        Controller(LEVELS, THREE, period_s=0)
