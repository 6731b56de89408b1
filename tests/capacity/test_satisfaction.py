"""Greedy choices are those of the book, and bounds are bounds."""

import math

import numpy as np
import pytest
from hypothesis import given, settings

from tests.capacity.plain import Case, cases, costs, greedy, satisfaction, share, thresholds, towards
from tidegate.capacity.bounds import b3m_bound, fb3m_bound
from tidegate.capacity.demand import Demand
from tidegate.capacity.satisfaction import By, b3m, fb3m, fb3m_by
from tidegate.capacity.selection import course
from tidegate.csr import Int64
from tidegate.errors import ConfigError


def priced(case: Case) -> Int64 | None:
    return None if case.costs is None else np.array(case.costs)


@given(cases())
def test_b3m_is_the_greedy_choice(case: Case) -> None:
    found = b3m(case.demand, case.threshold, case.capacity, priced(case))
    assert found.topics.tolist() == greedy(case, towards, ratio=True)
    assert (found.satisfied, found.satisfaction) == pytest.approx(satisfaction(case, found.topics.tolist()))
    assert found.cost == sum(costs(case)[t] for t in found.topics) <= case.capacity


@given(cases())
def test_fb3m_is_the_better_of_two_greedy_choices_lazy_or_not(case: Case) -> None:
    for by in By:
        plain = greedy(case, share, ratio=by is By.RATIO)
        for lazy in (True, False):
            found = fb3m_by(by, case.demand, case.threshold, case.capacity, priced(case), lazy=lazy)
            assert found.topics.tolist() == plain
    best = max(satisfaction(case, greedy(case, share, ratio=ratio))[1] for ratio in (True, False))
    assert fb3m(case.demand, case.threshold, case.capacity, priced(case)).satisfaction == pytest.approx(best)


@settings(max_examples=300)
@given(cases())
def test_no_choice_exceeds_the_bounds_and_fb3m_is_near_the_best(case: Case) -> None:
    prices, demand = costs(case), case.demand
    choices = [
        [t for t in range(len(prices)) if chosen >> t & 1]
        for chosen in range(1 << len(prices))
        if sum(prices[t] for t in range(len(prices)) if chosen >> t & 1) <= case.capacity
    ]
    counts, shares = zip(*(satisfaction(case, choice) for choice in choices), strict=True)
    assert max(counts) <= b3m_bound(demand, case.threshold, case.capacity, priced(case))
    assert max(shares) <= fb3m_bound(demand, case.threshold, case.capacity, priced(case)) + 1e-9
    found = fb3m(demand, case.threshold, case.capacity, priced(case)).satisfaction
    assert found >= (1 - 1 / math.e) / 2 * max(shares) - 1e-6


@given(cases())
def test_the_course_ends_with_what_was_chosen(case: Case) -> None:
    found = b3m(case.demand, case.threshold, case.capacity, priced(case))
    grown = course(case.demand, case.threshold, found, priced(case))
    for n in range(1, len(found.topics) + 1):
        assert (grown.satisfied[n - 1], grown.satisfaction[n - 1]) == pytest.approx(
            satisfaction(case, found.topics[:n].tolist())
        )
    assert grown.cost[-1:].tolist() == ([found.cost] if len(found.topics) else [])


@given(cases())
def test_thresholds_are_what_is_asked_or_all_there_is(case: Case) -> None:
    assert case.demand.thresholds(case.threshold).tolist() == thresholds(case)
    each = np.arange(1, len(case.follows) + 1)
    assert case.demand.thresholds(each).tolist() == [
        min(len_, sum(case.events[t] for t in topics)) for len_, topics in zip(each, case.follows, strict=True)
    ]


def test_without_capacity_nothing_is_served_and_with_all_of_it_everybody_is_satisfied() -> None:
    case = Case([3, 4, 5], [{0, 1}, {1, 2}, {2}], 6, 0, None)
    assert b3m(case.demand, 6, 0).topics.tolist() == fb3m(case.demand, 6, 0).topics.tolist() == []
    everything = int(case.demand.costs.sum())
    assert b3m(case.demand, 6, everything).satisfied == fb3m(case.demand, 6, everything).satisfied == 3


@pytest.mark.parametrize(
    ("threshold", "capacity", "prices", "complaint"),
    [
        (0, 10, None, "a threshold is a number of events from 1"),
        (2**32, 10, None, "a threshold is a number of events from 1"),
        (np.array([5, 2**32]), 10, None, "not 4,294,967,296"),
        (5, -1, None, "a capacity of -1"),
        (5, 10, np.array([1, 0]), "topic 1 costs 0"),
        (5, 10, np.array([1.5, 2.0]), "costs are 2 whole numbers"),
        (np.array([1, 2, 3]), 10, None, "3 thresholds for 2 subscribers"),
    ],
)
def test_what_is_no_problem_is_refused(
    threshold: int | Int64, capacity: int, prices: Int64 | None, complaint: str
) -> None:
    demand = Case([3, 4], [{0}, {1}], 1, 1, None).demand
    with pytest.raises(ConfigError, match=complaint):
        b3m(demand, threshold, capacity, prices)


def test_numbers_that_cannot_be_told_apart_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"subscriber 1,152,921,504,606,846,976 is beyond .* number them from 0 on"):
        Demand.of([5] * 1_000, [2**60, 0], [0, 1])
    with pytest.raises(ConfigError, match="subscribers have 18,446,744,073,709,551,615 among them"):
        Demand.of([5], np.array([2**64 - 1], np.uint64), [0])
    demand, _ = Demand.of([5] * 1_000, [2**53, 2**53 + 1], [999, 999])
    assert demand.subscriber_names.tolist() == [2**53, 2**53 + 1]


def test_thresholds_of_which_an_event_is_no_share_are_refused() -> None:
    demand, _ = Demand.of([1, 2**31], [0, 0], [0, 1])
    for choose in (fb3m, lambda *asked: fb3m_by(By.GAIN, *asked)):
        assert choose(demand, 2**30, 4).topics.tolist() == [0]
        with pytest.raises(
            ConfigError, match=r"a threshold of 1,073,741,825 events: shares can be told of 1,073,741,824"
        ):
            choose(demand, 2**30 + 1, 4)
