"""Against the best there is, on hundreds of small random instances: what is promised holds, without an exception."""

import math

import numpy as np
import pytest

from tests.capacity.exact import least_cost, least_mixed_cost, most_satisfaction, most_satisfied
from tests.capacity.plain import Case, drawn_case, satisfaction
from tests.capacity.test_provisioning import assert_feasible, terms
from tidegate.capacity.bounds import b3m_bound, fb3m_bound
from tidegate.capacity.fewest import fewest_pairs
from tidegate.capacity.least import book_bill, least_bill
from tidegate.capacity.packing import first_fit, followers_of, packed
from tidegate.capacity.pairs import greedy_pairs, random_pairs
from tidegate.capacity.provisioning import bill, cheapest_kinds, excess, filled_up_by_any, mixed
from tidegate.capacity.satisfaction import b3m, fb3m

SEEDS = range(10)
EACH = 40


def instances(seed: int, *, topics: int = 12, subscribers: int = 20, most: int = 40) -> list[Case]:
    """Every other one has its own costs; events are alike in some, in others they differ a lot."""
    random = np.random.default_rng(seed)
    return [drawn_case(random, topics, subscribers, most, priced=bool(i % 2)) for i in range(EACH)]


@pytest.mark.parametrize("seed", SEEDS)
def test_no_choice_is_above_its_bound_and_the_greedy_one_is_near_the_best(seed: int) -> None:
    for case in instances(seed):
        costs = None if case.costs is None else np.array(case.costs)
        best = most_satisfied(case)
        found = b3m(case.demand, case.threshold, case.capacity, costs)
        assert found.satisfied <= best <= b3m_bound(case.demand, case.threshold, case.capacity, costs)
        most = most_satisfaction(case)
        shared = fb3m(case.demand, case.threshold, case.capacity, costs)
        assert shared.satisfaction >= (1 - 1 / math.e) / 2 * most - 1e-9
        assert shared.satisfaction <= most + 1e-9
        assert most <= fb3m_bound(case.demand, case.threshold, case.capacity, costs) + 1e-6
        assert shared.satisfaction == pytest.approx(satisfaction(case, shared.topics.tolist())[1])


@pytest.mark.parametrize("seed", SEEDS)
def test_everybody_is_satisfied_at_no_less_than_the_least_cost(seed: int) -> None:
    capacity, per_event = 50, (0.01, 0.25, 2.0)[seed % 3]
    prices = terms(capacity, per_event=per_event)
    for case in instances(seed, topics=5, subscribers=5, most=20):
        demand, naive = case.demand, random_pairs(case.demand, case.threshold, seed)
        chosen = greedy_pairs(demand, case.threshold)
        assert (excess(demand, case.threshold, chosen) >= 0).all()
        counts = followers_of(chosen, demand.n_topics)
        packing = packed(demand.events, counts, prices)
        assert_feasible(packing, case.events, counts.tolist(), capacity)
        fewest = packed(demand.events, followers_of(fewest_pairs(demand, case.threshold), demand.n_topics), prices)
        bills = bill(packing, prices), bill(fewest, prices), bill(first_fit(demand.events, naive, prices), prices)
        least = least_bill(demand, case.threshold, prices)
        assert least.cost >= book_bill(demand, case.threshold, prices).cost
        known = min(one.cost for one in bills)
        # The best one's traffic costs no more than what is left of a known cost; and no two of its machines fit on one.
        traffic = (known - prices.per_machine * least.machines) / prices.per_event
        rented = (known - prices.per_event * least.events) / prices.per_machine
        best = least_cost(case, prices, int(min(2 * traffic / capacity + 1, rented) + 1e-9))
        assert least.cost - 1e-6 <= best <= known + 1e-6


def test_mixed_kinds_cost_no_more_than_one_kind_and_not_much_more_than_the_best() -> None:
    random = np.random.default_rng(8)
    over, beaten = [], 0
    for _ in range(EACH):
        events, counts = (random.integers(1, most, 4).tolist() for most in (12, 7))
        # The larger kind is cheaper for what it can take.
        kinds = [terms(capacity, price, 0.05) for capacity, price in ((30, 3.0), (70, 6.0))]
        packings = [(packed(np.array(events), np.array(counts), kind), kind) for kind in kinds]
        packing, _ = mixed(packings, kinds)
        names, cost = cheapest_kinds(packing, kinds)
        single = min(bill(*one).cost for one in packings)
        best = least_mixed_cost(events, counts, kinds, packing.machines + 1)
        assert len(names) == packing.machines
        assert best - 1e-6 <= cost <= single + 1e-9
        least = filled_up_by_any(int(np.array(events) @ (np.array(counts) + 1)), kinds)
        assert least.cost <= best + 1e-6
        assert least.machines <= packing.machines
        beaten += cost < single - 1e-9
        over.append(cost / best - 1)
    print(f"{beaten} of {EACH} cheaper than one kind; over the best: {np.mean(over):.1%}, {max(over):.1%} at most")
    assert beaten >= EACH // 8
    assert np.mean(over) < 0.05
