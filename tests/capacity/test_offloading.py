"""Decisions are within capacity, never far from a fresh one, and topics stay where that costs little."""

import numpy as np
import pytest

from tests.capacity.plain import drawn_case
from tidegate.capacity.demand import Demand
from tidegate.capacity.offloading import Goal, Offloading, Rule
from tidegate.capacity.satisfaction import b3m, fb3m
from tidegate.errors import ConfigError


@pytest.mark.parametrize("goal", Goal)
@pytest.mark.parametrize("patience", [0.0, 0.1])
def test_every_window_is_within_capacity_and_near_a_fresh_choice(goal: Goal, patience: float) -> None:
    random = np.random.default_rng(3)
    case = drawn_case(random, 30, 60, 20, priced=False)
    service = Offloading(Rule(12, capacity := int(case.demand.costs.sum()) // 3, goal, patience))
    for _ in range(15):
        events = np.maximum(1, np.array(case.events) + random.integers(-3, 4, len(case.events)))
        demand = Demand(events, case.demand.topics, case.demand.topic_names, case.demand.subscriber_names)
        decision = service.window(demand)
        assert decision.chosen.cost <= capacity
        assert sorted([*decision.serve, *decision.offload]) == demand.topic_names.tolist()
        if goal is Goal.SATISFIED:
            assert decision.chosen.satisfied >= (1 - patience) * b3m(demand, 12, capacity).satisfied
        else:
            assert decision.chosen.satisfaction >= (1 - patience) * fb3m(demand, 12, capacity).satisfaction - 1e-9


def changes(patience: float) -> int:
    random = np.random.default_rng(5)
    case = drawn_case(random, 40, 80, 20, priced=False)
    service, total = Offloading(Rule(12, int(case.demand.costs.sum()) // 3, patience=patience)), 0
    for _ in range(20):
        events = np.maximum(1, np.array(case.events) + random.integers(-2, 3, len(case.events)))
        demand = Demand(events, case.demand.topics, case.demand.topic_names, case.demand.subscriber_names)
        decision = service.window(demand)
        total += decision.came + decision.went
    return total


def test_topics_flap_less_with_patience() -> None:
    assert changes(0.1) < changes(0.0)


def test_the_same_statistics_change_nothing() -> None:
    case = drawn_case(np.random.default_rng(1), 20, 40, 20, priced=False)
    service = Offloading(Rule(12, int(case.demand.costs.sum()) // 3))
    first, second = service.window(case.demand), service.window(case.demand)
    assert first.serve.tolist() == second.serve.tolist()
    assert (second.came, second.went) == (0, 0)


def test_a_patience_that_is_none_is_refused() -> None:
    with pytest.raises(ConfigError, match="a patience of 1"):
        Offloading(Rule(1, 1, patience=1))


@pytest.mark.parametrize("satisfied_by", [0, 2**32])
def test_a_threshold_that_is_none_is_refused_before_the_first_window(satisfied_by: int) -> None:
    with pytest.raises(ConfigError, match=f"a threshold is .* not {satisfied_by:,}"):
        Offloading(Rule(satisfied_by, 1))


def test_topics_may_have_costs_of_their_own_and_what_is_left_of_the_capacity_is_filled() -> None:
    # Everybody is satisfied by the first topic; the others are served as well, the cheap ones first.
    demand, _ = Demand.of([5, 5, 5], [0, 0, 0], [0, 1, 2])
    assert Offloading(Rule(5, 15)).window(demand).serve.tolist() == [0, 1, 2]
    assert Offloading(Rule(5, 14)).window(demand).serve.tolist() == [0, 1]
    assert Offloading(Rule(5, 14)).window(demand, np.array([1, 20, 2])).serve.tolist() == [0, 2]
