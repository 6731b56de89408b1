"""The best there is, by exhaustive search of OR-tools: what greedy choices and bounds are compared with."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from ortools.sat.python import cp_model

from tests.capacity.plain import Case, costs, thresholds
from tidegate.capacity.pricing import Terms


def most_satisfied(case: Case) -> int:
    """How many subscribers can be satisfied (B3M)."""
    model = cp_model.CpModel()
    served = _within_capacity(model, case)
    satisfied = []
    for topics, threshold in zip(case.follows, thresholds(case), strict=True):
        satisfied.append(model.new_bool_var(""))
        model.add(sum(case.events[t] * served[t] for t in topics) >= threshold * satisfied[-1])
    model.maximize(sum(satisfied))
    return round(_solved(model))


def most_satisfaction(case: Case) -> float:
    """How many shares of thresholds subscribers can get (F-B3M)."""
    model = cp_model.CpModel()
    served, wanted = _within_capacity(model, case), thresholds(case)
    # The solver adds up whole numbers: shares are told in parts that all thresholds divide.
    parts = math.lcm(*wanted)
    shares = []
    for topics, threshold in zip(case.follows, wanted, strict=True):
        got = model.new_int_var(0, threshold, "")
        model.add(got <= sum(case.events[t] * served[t] for t in topics))
        shares.append(got * (parts // threshold))
    model.maximize(sum(shares))
    return _solved(model) / parts


def least_cost(case: Case, terms: Terms, machines: int) -> float:
    """What it costs at least to satisfy everybody (MCSS), if so many machines are known to do."""
    model = cp_model.CpModel()
    pairs: list[list[Any]] = [[] for _ in case.events]
    for topics, threshold in zip(case.follows, thresholds(case), strict=True):
        own = {t: model.new_bool_var("") for t in topics}
        model.add(sum(case.events[t] * chosen for t, chosen in own.items()) >= threshold)
        for t, chosen in own.items():
            pairs[t].append(chosen)
    rented = [model.new_bool_var("") for _ in range(machines)]
    for one, next_ in pairwise(rented):
        model.add_implication(next_, one)
    traffic = []
    # Pairs of a topic are alike: it is enough to know how many of them a machine has.
    counts = [[model.new_int_var(0, len(pairs[t]), "") for t in range(len(pairs))] for _ in rented]
    copies = [[model.new_bool_var("") for _ in pairs] for _ in rented]
    for t in range(len(pairs)):
        model.add(sum(count[t] for count in counts) == sum(pairs[t]))
    for is_rented, count, copied in zip(rented, counts, copies, strict=True):
        for t in range(len(pairs)):
            model.add(count[t] <= len(pairs[t]) * copied[t])
        traffic.append(sum(case.events[t] * (count[t] + copied[t]) for t in range(len(pairs))))
        model.add(traffic[-1] <= terms.capacity * is_rented)
    model.minimize(terms.per_machine * sum(rented) + terms.per_event * sum(traffic))
    return _solved(model)


def least_mixed_cost(events: list[int], counts: list[int], kinds: Sequence[Terms], machines: int) -> float:
    """What machines of any kinds cost at least that serve so many pairs of each topic, if so many machines do."""
    model = cp_model.CpModel()
    rented = [[model.new_bool_var("") for _ in kinds] for _ in range(machines)]
    parts = [[model.new_int_var(0, count, "") for count in counts] for _ in rented]
    copies = [[model.new_bool_var("") for _ in counts] for _ in rented]
    for t, count in enumerate(counts):
        model.add(sum(part[t] for part in parts) == count)
    traffic = []
    for kind, part, copied in zip(rented, parts, copies, strict=True):
        model.add(sum(kind) <= 1)
        for t, count in enumerate(counts):
            model.add(part[t] <= count * copied[t])
        traffic.append(sum(events[t] * (part[t] + copied[t]) for t in range(len(counts))))
        model.add(traffic[-1] <= sum(terms.capacity * is_one for terms, is_one in zip(kinds, kind, strict=True)))
    price = sum(terms.per_machine * one for kind in rented for terms, one in zip(kinds, kind, strict=True))
    model.minimize(price + kinds[0].per_event * sum(traffic))
    return _solved(model)


def _within_capacity(model: cp_model.CpModel, case: Case) -> list[Any]:
    served = [model.new_bool_var("") for _ in case.events]
    model.add(sum(cost * chosen for cost, chosen in zip(costs(case), served, strict=True)) <= case.capacity)
    return served


def _solved(model: cp_model.CpModel) -> float:
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    assert solver.solve(model) == cp_model.OPTIMAL
    return float(solver.objective_value)
