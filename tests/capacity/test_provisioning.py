"""Pairs and packings are those of the book, and feasible; what they cost is not below the least."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.capacity.plain import Case, cases, thresholds
from tidegate.capacity.least import least_bill
from tidegate.capacity.packing import Order, Packer, Packing, Spread, first_fit, followers_of, packed
from tidegate.capacity.pairs import greedy_pairs, random_pairs
from tidegate.capacity.pricing import Machine, Pricing, Terms
from tidegate.capacity.provisioning import bill, excess
from tidegate.csr import Csr, from_rows
from tidegate.errors import ConfigError

packers = st.builds(Packer, st.sampled_from(Order), st.sampled_from(Spread), st.booleans())


def terms(capacity: int, per_machine: float = 5.0, per_event: float = 0.25) -> Terms:
    """Machines that take so many events a period, of a second: messages are of a megabyte."""
    machine = Machine("m", per_machine * 3600, 8.0 * capacity)
    return Terms(machine, Pricing("p", "USD", per_event * 1000, (machine,)), 1.0, 1_000_000, 1.0)


def plain_pairs(case: Case, who: int) -> list[int]:
    """Take what is worth most for its cost, again and again; ties by events, then by number."""
    left, waiting, chosen = thresholds(case)[who], set(case.follows[who]), list[int]()
    while left > 0:
        best = max(waiting, key=lambda t: (min(1, case.events[t] / left) / (2 * case.events[t]), case.events[t], -t))
        worth = min(1, case.events[best] / left) / (2 * case.events[best])
        # Rounding must not decide between those that fit.
        fitting = [t for t in waiting if case.events[t] <= left]
        assert not fitting or worth == pytest.approx(1 / (2 * left))
        best = max(fitting, key=lambda t: (case.events[t], -t)) if fitting else best
        waiting.remove(best)
        chosen.append(best)
        left -= case.events[best]
    return chosen


@given(cases())
def test_pairs_are_chosen_as_in_the_book(case: Case) -> None:
    chosen = greedy_pairs(case.demand, case.threshold)
    assert [sorted(chosen.row(v)) for v in range(chosen.rows)] == [
        sorted(plain_pairs(case, v)) for v in range(len(case.follows))
    ]


@given(cases(), st.integers(0, 5))
def test_chosen_pairs_satisfy_everybody_and_random_ones_are_no_more_than_needed(case: Case, seed: int) -> None:
    for chosen in (greedy_pairs(case.demand, case.threshold), random_pairs(case.demand, case.threshold, seed)):
        assert (excess(case.demand, case.threshold, chosen) >= 0).all()
        for who in range(chosen.rows):
            row = chosen.row(who).tolist()
            assert set(row) <= case.follows[who]
            assert len(set(row)) == len(row)
            assert sum(case.events[t] for t in row[:-1]) < thresholds(case)[who]


def plain_packed(events: list[int], counts: list[int], terms: Terms, packer: Packer) -> list[dict[int, int]]:
    """By machine, how many pairs of which topic: Algorithms 11 and 12 as they must be read."""
    keys = {
        Order.NUMBER: lambda t: (0, t),
        Order.TRAFFIC: lambda t: (-events[t] * counts[t], t),
        Order.EVENTS: lambda t: (-events[t], t),
    }
    machines: list[dict[int, int]] = []

    def free(machine: dict[int, int]) -> int:
        return terms.capacity - sum((n + 1) * events[t] for t, n in machine.items())

    for t in sorted((t for t in range(len(events)) if counts[t]), key=keys[packer.order]):
        size, left = events[t], counts[t]
        if machines and (left + 1) * size <= free(machines[-1]):
            machines[-1][t] = left
            continue
        order = {
            Spread.NOWHERE: [],
            Spread.FIRST: machines,
            Spread.MOST_FREE: sorted(machines, key=lambda m: -free(m)),
        }[packer.spread]
        spread = []
        for machine in order:
            n = min(left, free(machine) // size - 1)
            if n >= 1:
                spread.append((machine, n))
                left -= n
        most = terms.capacity // size - 1
        new, extra = -(-counts[t] // most), -(-left // most)
        spread_cost = terms.cost(extra, (counts[t] + len(spread) + extra) * size)
        cheaper = spread_cost < terms.cost(new, (counts[t] + new) * size)
        if spread and (cheaper or not packer.by_cost):
            for machine, n in spread:
                machine[t] = n
        else:
            left = counts[t]
        while left > 0:
            machines.append({t: min(left, most)})
            left -= machines[-1][t]
    return machines


def by_machine(packing: Packing) -> list[dict[int, int]]:
    machines: list[dict[int, int]] = [{} for _ in packing.used]
    for machine, topic, pairs in zip(*(part.tolist() for part in packing.parts), strict=True):
        assert topic not in machines[machine]
        machines[machine][topic] = pairs
    return machines


def assert_feasible(packing: Packing, events: list[int], counts: list[int], capacity: int) -> None:
    served: Counter[int] = Counter()
    for machine, used in zip(by_machine(packing), packing.used.tolist(), strict=True):
        assert sum((n + 1) * events[t] for t, n in machine.items()) == used <= capacity
        served.update(machine)
    assert [served[t] for t in range(len(events))] == counts


topics = st.lists(st.tuples(st.integers(1, 20), st.integers(0, 12)), min_size=1, max_size=12)


@given(topics, st.integers(40, 90), packers, st.sampled_from([0.0, 0.01, 0.25, 2.0]))
def test_topics_are_packed_as_in_the_book(
    drawn: list[tuple[int, int]], capacity: int, packer: Packer, per_event: float
) -> None:
    events, counts = [rate for rate, _ in drawn], [count for _, count in drawn]
    prices = terms(capacity, per_event=per_event)
    assert prices.capacity == capacity
    packing = packed(np.array(events), np.array(counts), prices, packer)
    assert by_machine(packing) == plain_packed(events, counts, prices, packer)
    assert_feasible(packing, events, counts, capacity)


def plain_first_fit(events: list[int], pairs: list[int], capacity: int) -> list[dict[int, int]]:
    machines: list[dict[int, int]] = []
    for t in pairs:
        for machine in machines:
            free = capacity - sum((n + 1) * events[u] for u, n in machine.items())
            if events[t] * (1 if t in machine else 2) <= free:
                machine[t] = machine.get(t, 0) + 1
                break
        else:
            machines.append({t: 1})
    return machines


@given(
    st.lists(st.integers(1, 20), min_size=1, max_size=8).flatmap(
        lambda events: st.tuples(st.just(events), st.lists(st.integers(0, len(events) - 1), max_size=60))
    ),
    st.integers(40, 90),
)
def test_pairs_are_put_where_there_is_room_first(drawn: tuple[list[int], list[int]], capacity: int) -> None:
    events, pairs = drawn
    packing = first_fit(np.array(events), from_rows([pairs]), terms(capacity))
    assert by_machine(packing) == plain_first_fit(events, pairs, capacity)
    assert_feasible(packing, events, [pairs.count(t) for t in range(len(events))], capacity)


@given(cases(), packers)
def test_nothing_is_cheaper_than_the_least(case: Case, packer: Packer) -> None:
    demand, prices = case.demand, terms(60)
    least = least_bill(demand, case.threshold, prices)
    for chosen in (greedy_pairs(demand, case.threshold), random_pairs(demand, case.threshold, 1)):
        counts = followers_of(chosen, demand.n_topics)
        for packing in (packed(demand.events, counts, prices, packer), first_fit(demand.events, chosen, prices)):
            assert_feasible(packing, case.events, counts.tolist(), 60)
            assert bill(packing, prices).cost >= least.cost - 1e-9
            assert bill(packing, prices).machines >= least.machines


def test_a_topic_that_no_machine_can_take_is_named_with_the_remedy() -> None:
    with pytest.raises(ConfigError, match=r"topic 1 has 31 events.* a m takes 60 .*choose a larger machine"):
        packed(np.array([5, 31]), np.array([1, 1]), terms(60))
    packed(np.array([5, 31]), np.array([1, 0]), terms(60))
    with pytest.raises(ConfigError, match="topic 0 has 31 events"):
        first_fit(np.array([31]), Csr(np.array([0, 1]), np.array([0], np.int32)), terms(60))


def test_the_prices_of_the_thesis_come_along() -> None:
    prices = Pricing.read("ec2-2014")
    large = Terms(prices.machine("c3.large"), prices, 3600.0, 200, 10 * 86400.0)
    assert large.capacity == 144_000_000
    assert large.per_machine == pytest.approx(36.0)
    assert large.cost(2, 5_000_000) == pytest.approx(72 + 240 * 5e6 * 200 / 1e9 * 0.12)


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ([], "prices are an object"),
        ({"name": "x", "currency": "USD", "per_gb": 1, "machines": []}, "at least one"),
        (
            {"name": "x", "currency": "USD", "per_gb": -1, "machines": [{"name": "m", "per_hour": 1, "mbit_per_s": 1}]},
            "per_gb of x is -1: a number not below 0",
        ),
        (
            {"name": "x", "currency": "USD", "per_gb": 1, "machines": [{"name": "m", "per_hour": -1, "mbit_per_s": 1}]},
            "per_hour of machine 'm' is -1",
        ),
        (
            {"name": "x", "currency": "USD", "per_gb": 1, "machines": [{"name": "m", "per_hour": 1, "mbit_per_s": 0}]},
            "mbit_per_s of machine 'm' is 0: a number above 0",
        ),
        (
            {
                "name": "x",
                "currency": "USD",
                "per_gb": 1,
                "machines": 2 * [{"name": "m", "per_hour": 1, "mbit_per_s": 1}],
            },
            "two machines have the name 'm'",
        ),
    ],
)
def test_prices_that_are_none_are_refused(value: object, complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        Pricing.from_json(value)


def test_what_is_not_there_is_named() -> None:
    with pytest.raises(ConfigError, match="no prices 'dear': name a JSON file, or one of ec2-2014"):
        Pricing.read("dear")
    with pytest.raises(ConfigError, match="has no machine 'c9'"):
        Pricing.read("ec2-2014").machine("c9")
