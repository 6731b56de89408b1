"""What it costs to satisfy everybody (MCSS; thesis, chapter 7)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tidegate.capacity.demand import Demand
from tidegate.capacity.optimisations import Optimisation
from tidegate.capacity.packing import Packing, first_fit, followers_of, packed, packer_without
from tidegate.capacity.pricing import Terms
from tidegate.csr import Csr, Int64
from tidegate.errors import ConfigError


@dataclass(frozen=True)
class Bill:
    """Machines and traffic, and what they cost."""

    machines: int
    events: int
    """That come in or go out in a period."""
    cost: float


def bill(packing: Packing, terms: Terms) -> Bill:
    """Return what an allocation costs."""
    return Bill(packing.machines, packing.events, terms.cost(packing.machines, packing.events))


def filled_up(events: int, terms: Terms) -> Bill:
    """Return what so many events cost on machines that are filled up."""
    machines = -(-events // terms.capacity) if events else 0
    return Bill(machines, events, terms.cost(machines, events))


def filled_up_by_any(events: int, kinds: Sequence[Terms]) -> Bill:
    """Return what so many events cost at least on machines of any of these kinds, or of several at once.

    As if parts of machines could be rented, of the kind that takes an event at the least price; but what whole machines
    cost an hour is a multiple of what all prices are multiples of.
    """
    able = [kind for kind in kinds if kind.capacity > 0] if events else []
    if not able:
        return Bill(0, events, 0.0)
    prices = [Fraction(str(kind.machine.per_hour)) for kind in able]
    parts = events * min(price / kind.capacity for price, kind in zip(prices, able, strict=True))
    unit = math.lcm(*(price.denominator for price in prices))
    step = Fraction(math.gcd(*(int(price * unit) for price in prices)), unit)
    per_hour = math.ceil(parts / step) * step if step else 0
    machines = -(-events // max(kind.capacity for kind in able))
    return Bill(machines, events, able[0].rent(float(per_hour)) + able[0].per_event * events)


def excess(demand: Demand, satisfied_by: int | Int64, chosen: Csr) -> Int64:
    """Return by subscriber how many events the chosen pairs bring above its threshold; below 0 it is not satisfied."""
    events = np.concatenate(([0], np.cumsum(demand.events[chosen.values])))
    return np.diff(events[chosen.offsets]) - demand.thresholds(satisfied_by)


def mixed(packings: Sequence[tuple[Packing, Terms]], kinds: Sequence[Terms]) -> tuple[Packing, Terms]:
    """Return the packing, each made for one kind, that is cheapest once its machines are of the cheapest kinds.

    It costs no more than the best of one kind, since every machine may stay of the kind it was packed for.
    """
    return min(packings, key=lambda one: cheapest_kinds(one[0], kinds)[1])


def cheapest_kinds(packing: Packing, kinds: Sequence[Terms]) -> tuple[list[str], float]:
    """Return for each busy machine the cheapest kind that can take what it has, and what all of them cost together.

    So machines of several kinds are mixed: what was packed for a large kind may leave some of them with little to do.
    """
    room, prices = np.array([kind.capacity for kind in kinds]), np.array([kind.per_machine for kind in kinds])
    fitting = np.where(packing.used[packing.used > 0, None] <= room, prices, np.inf)
    if not np.isfinite(fitting.min(axis=1)).all():
        raise ConfigError("a machine has more to do than any kind can take")
    names = [kinds[i].machine.name for i in fitting.argmin(axis=1)]
    return names, float(fitting.min(axis=1).sum()) + kinds[0].per_event * packing.events


def steps(events: Int64, chosen: Csr, naive: Csr, terms: Terms, fewest: Csr | None = None) -> list[tuple[str, Bill]]:
    """Return what each optimisation comes to, from the naive way on (thesis, Figures 7.4 and 7.5).

    With the pairs that bring the `fewest` events, one more than the thesis has.
    """
    counts = followers_of(chosen, len(events))
    _, c, d, e = Optimisation
    packers = {
        "(b) by topic": packer_without({c, d, e}),
        "(c) dear topics first": packer_without({d, e}),
        "(d) most free first": packer_without({e}),
        "(e) by cost": packer_without(()),
    }
    beyond = [] if fewest is None else [("(f) fewest events", followers_of(fewest, len(events)))]
    return [
        ("naive: random pairs, first fit", bill(first_fit(events, naive, terms), terms)),
        ("(a) greedy pairs, first fit", bill(first_fit(events, chosen, terms), terms)),
        *((name, bill(packed(events, counts, terms, packer), terms)) for name, packer in packers.items()),
        *((name, bill(packed(events, own, terms), terms)) for name, own in beyond),
    ]
