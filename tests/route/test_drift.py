"""Whether a plan still fits its stream."""

from collections import Counter

import pytest

from tidegate.errors import ConfigError
from tidegate.route.drift import Drift


def test_nothing_is_said_before_the_window_is_full() -> None:
    drift = Drift(2, threshold=0.1, window=100)
    assert not any(drift.observe(9, {0: 9 * n}) for n in range(11))
    assert drift.baseline is None


def test_the_first_full_window_is_what_later_ones_are_compared_with() -> None:
    drift = Drift(4, threshold=0.5, window=100)
    drift.observe(100, {0: 50, 1: 50, 2: 50, 3: 50})
    assert drift.baseline == 2.0, "a spread of two, and perfect balance"
    assert not drift.observe(100, {0: 74, 1: 10, 2: 10, 3: 10})
    assert drift.observe(100, {0: 76, 1: 10, 2: 10, 3: 10})


def test_old_batches_are_forgotten() -> None:
    drift = Drift(2, threshold=0.5, window=100)
    drift.observe(100, {0: 100, 1: 100})
    assert drift.observe(100, {0: 200})
    assert not drift.observe(100, {0: 100, 1: 100})
    assert drift.measured == 2.0


def test_batches_that_are_smaller_than_the_window_are_added_up() -> None:
    drift = Drift(2, threshold=0.5, window=100)
    for _ in range(10):
        assert not drift.observe(10, {0: 10, 1: 10})
    told = [drift.observe(10, Counter({0: 20})) for _ in range(10)]
    assert told == [False] * 5 + [True] * 5


@pytest.mark.parametrize(("matchers", "threshold", "window"), [(0, 0.2, 10), (2, 0.0, 10), (2, 0.2, 0)])
def test_what_cannot_be_watched_for_is_refused(matchers: int, threshold: float, window: int) -> None:
    with pytest.raises(ConfigError):
        Drift(matchers, threshold, window)
