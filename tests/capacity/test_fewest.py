"""The best choice of a subscriber's topics is the best of all choices, and what follows from it is a bound."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.capacity.plain import Case, cases, drawn_case, thresholds
from tests.capacity.test_provisioning import terms
from tidegate.capacity import fewest
from tidegate.capacity.demand import Demand
from tidegate.capacity.fewest import fewest_pairs
from tidegate.capacity.least import book_bill, least_bill
from tidegate.capacity.pairs import greedy_pairs
from tidegate.capacity.provisioning import excess


def plain_least(case: Case, who: int) -> int:
    """Try every choice."""
    rates = [case.events[t] for t in case.follows[who]]
    sums = (sum(some) for n in range(len(rates) + 1) for some in combinations(rates, n))
    return min(found for found in sums if found >= thresholds(case)[who])


def plain_bound(case: Case) -> int:
    out = sum(plain_least(case, who) for who in range(len(case.follows)))
    needed = {
        t
        for topics, threshold in zip(case.follows, thresholds(case), strict=True)
        for t in topics
        if sum(case.events[u] for u in topics - {t}) < threshold
    }
    return out + sum(case.events[t] for t in needed)


@given(cases())
def test_nobody_can_be_satisfied_with_fewer_events(case: Case) -> None:
    chosen = fewest_pairs(case.demand, case.threshold)
    for who in range(chosen.rows):
        row = chosen.row(who).tolist()
        assert set(row) <= case.follows[who]
        assert len(set(row)) == len(row)
        assert sum(case.events[t] for t in row) == plain_least(case, who)


@given(cases())
def test_the_least_is_what_must_go_out_and_the_topics_that_somebody_needs(case: Case) -> None:
    least = least_bill(case.demand, case.threshold, terms(60))
    assert least.events == plain_bound(case) >= book_bill(case.demand, case.threshold, terms(60)).events


@given(st.lists(st.integers(1, 300), min_size=2, max_size=12), st.integers(1, 700))
def test_sums_go_on_from_word_to_word(rates: list[int], threshold: int) -> None:
    case = Case(rates, [set(range(len(rates)))], threshold, 0, None)
    over = excess(case.demand, threshold, fewest_pairs(case.demand, threshold))
    assert over.tolist() == [plain_least(case, 0) - thresholds(case)[0]]


@pytest.mark.parametrize("seed", range(5))
def test_thresholds_of_their_own_leave_nothing_behind_for_the_next_subscriber(seed: int) -> None:
    random = np.random.default_rng(seed)
    case = drawn_case(random, 9, 60, 400, priced=False)
    own = random.integers(1, 900, len(case.follows))
    chosen = fewest_pairs(case.demand, own)
    for who, topics in enumerate(case.follows):
        alone = Case(case.events, [topics], int(own[who]), 0, None)
        assert sum(case.events[t] for t in chosen.row(who)) == plain_least(alone, 0)


def test_where_there_are_too_many_sums_the_choice_is_greedy_and_the_bound_that_of_the_book() -> None:
    rates = [fewest.MOST_SUMS, 5, fewest.MOST_SUMS + 1]
    demand, _ = Demand.of(rates, [0, 0, 0], [0, 1, 2])
    threshold = fewest.MOST_SUMS + 1
    assert fewest_pairs(demand, threshold).values.tolist() == greedy_pairs(demand, threshold).values.tolist()
    assert least_bill(demand, threshold, terms(2**20)).events == book_bill(demand, threshold, terms(2**20)).events
    assert fewest_pairs(demand, fewest.MOST_SUMS).values.tolist() == [0]
