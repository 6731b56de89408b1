"""Where chunks end, as they grow and over a whole stream; and how long they are in the mean."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tidegate.errors import ConfigError
from tidegate.overlay.borders import Borders, CommonStretches, EveryCount, EveryPeriod, Point
from tidegate.overlay.needs import chunk_ends

RULES = (
    st.builds(EveryCount, st.integers(1, 30))
    | st.builds(EveryPeriod, st.sampled_from([0.5, 3.0, 20.0, 90.0]))
    | st.builds(CommonStretches, st.integers(1, 30), st.integers(1, 50))
)


def ends_of(positions: NDArray[np.int64], shift: int, rule: Borders) -> list[int]:
    """Where chunks end if the source publishes two posts a second."""
    return [int(end) for end in chunk_ends(positions, positions / 2, shift, rule)]


@given(rule=RULES, shift=st.integers(1, 6), gaps=st.lists(st.integers(1, 9), min_size=1, max_size=80))
def test_a_chunk_as_it_grows_ends_where_that_of_the_whole_stream_does(
    rule: Borders, shift: int, gaps: list[int]
) -> None:
    positions = np.cumsum(gaps)[: len(gaps) - len(gaps) % shift]
    ends, length, began = [], 0, 0.0
    for number, position in enumerate(positions.tolist(), 1):
        began = began if length else position / 2
        length += 1
        is_due = rule.is_due(Point(length, position, began, position / 2), shift)
        if length % shift == 0 and (is_due or number == len(positions)):
            ends.append(number)
            length = 0
    if len(positions):
        assert ends_of(positions, shift, rule) == ends


def test_chunks_by_count_are_as_long_as_windows_in_step_allow() -> None:
    assert ends_of(np.arange(120), 20, EveryCount(50)) == [60, 120]


def test_chunks_by_the_clock_end_once_their_period_is_over_and_windows_are_in_step() -> None:
    # Ten seconds are twenty posts, and windows are in step after every fifteenth.
    assert ends_of(np.arange(150), 15, EveryPeriod(10.0)) == [30, 45, 75, 90, 105, 135, 150]
    every_other = np.arange(0, 100, 2)
    assert ends_of(every_other, 5, EveryPeriod(25.0)) == [30, 50]


@pytest.mark.parametrize("rate", [1.0, 0.3, 0.02])
def test_common_stretches_give_every_feed_chunks_of_the_same_mean_length(rate: float) -> None:
    generator = np.random.default_rng(1)
    positions = np.flatnonzero(generator.random(400_000) < rate)
    positions = positions[: len(positions) // 20 * 20]
    lengths = np.diff(ends_of(positions, 20, CommonStretches(100, 2_000)), prepend=0)
    assert lengths.mean() == pytest.approx(100, rel=0.1)
    assert (lengths % 20 == 0).all()


def test_outside_of_common_stretches_no_chunk_ends() -> None:
    ends = ends_of(np.arange(10_000), 20, CommonStretches(100, 1_000))
    assert {(end - 1) % 1_000 // 100 for end in ends} == {8, 9}


def test_a_feed_of_all_posts_is_cut_by_common_stretches_as_by_count() -> None:
    positions = np.arange(1_000)
    assert ends_of(positions, 20, CommonStretches(100, 100)) == ends_of(positions, 20, EveryCount(100))


def test_what_is_no_length_is_refused() -> None:
    with pytest.raises(ConfigError, match="chunks of 0 events"):
        EveryCount(0)
    with pytest.raises(ConfigError, match="chunks of 0 seconds"):
        EveryPeriod(0.0)
    with pytest.raises(ConfigError, match="chunks of 5 events every 0 posts"):
        CommonStretches(5, 0)
