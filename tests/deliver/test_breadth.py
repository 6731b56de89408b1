"""Estimates of what a subscription would bring, against streams of which it is known; and the bound."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.deliver.breadth import Estimate, TooBroadError, refuse_too_broad


def test_an_estimate_is_the_share_of_recent_posts_times_a_day() -> None:
    assert Estimate(2, 4, 10_000).per_day == 5_000


def test_what_is_too_broad_is_refused_with_the_estimate() -> None:
    complaint = r"about 5,000 posts a day \(4,038 to 5,962\), and 4,999 are allowed"
    with pytest.raises(TooBroadError, match=complaint) as told:
        refuse_too_broad(Estimate(50, 100, 10_000), 4_999)
    assert told.value.estimate.per_day == 5_000
    refuse_too_broad(Estimate(50, 100, 10_000), 5_000)


@pytest.mark.parametrize("sampled", [0, 99])
def test_from_a_few_posts_nothing_is_refused_and_little_promised(sampled: int) -> None:
    unknown = Estimate(sampled, sampled, 1_000)
    refuse_too_broad(unknown, 0)
    assert not unknown.is_known
    assert unknown.low < unknown.high == 1_000


@given(st.integers(0, 500), st.integers(1, 500), st.floats(0, 1e9))
def test_the_interval_holds_the_estimate_and_stays_within_the_stream(matched: int, sampled: int, rate: float) -> None:
    made = Estimate(min(matched, sampled), sampled, rate)
    slack = 1e-9 * rate
    assert 0 <= made.low <= made.per_day + slack
    assert made.per_day - slack <= made.high <= rate


@pytest.mark.parametrize("share", [0.002, 0.05, 0.5])
def test_the_interval_holds_the_truth_as_often_as_it_says(share: float) -> None:
    drawn = random.Random(1)
    trials = [Estimate(sum(drawn.random() < share for _ in range(400)), 400, 1.0) for _ in range(600)]
    assert 0.92 <= sum(trial.low <= share <= trial.high for trial in trials) / len(trials) <= 1
