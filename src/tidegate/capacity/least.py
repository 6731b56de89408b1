"""What no allocation can fall below, however pairs are chosen and packed (MCSS).

Two bounds: that of the thesis (Algorithm 13), and one that is never below it. What goes out to a subscriber is no less
than the best choice of its topics brings; and a topic that somebody cannot do without comes in, once at least.
"""

from typing import Any

import numpy as np

from tidegate.capacity.demand import Demand
from tidegate.capacity.fewest import MOST_SUMS, Sums, best_of, no_sums
from tidegate.capacity.pricing import Terms
from tidegate.capacity.provisioning import Bill, filled_up
from tidegate.csr import Csr, Int64
from tidegate.kernels import njit


def least_bill(demand: Demand, satisfied_by: int | Int64, terms: Terms) -> Bill:
    """Return what must come in and go out, whatever is chosen, on machines that are filled up."""
    thresholds = demand.thresholds(satisfied_by)
    sums = no_sums(int(thresholds.max()) if len(thresholds) else 0)
    out, needed = _outgoing(demand.events, demand.topics, thresholds, sums)
    return filled_up(int(out) + int(demand.events[needed].sum()), terms)


def book_bill(demand: Demand, satisfied_by: int | Int64, terms: Terms) -> Bill:
    """Return the bound of the thesis (Algorithm 13): of what goes out, the threshold or the smallest topic."""
    thresholds = demand.thresholds(satisfied_by)
    return filled_up(int(_at_least(demand.events, demand.topics, thresholds)), terms)


@njit(cache=True, nogil=True)
def least_of_row(rates: Int64, wanted: int, threshold: int, sums: Sums) -> int:
    """Return the fewest events that satisfy a subscriber of topics with these rates, `wanted` together."""
    if threshold == wanted:
        return wanted
    if threshold > MOST_SUMS:
        return max(threshold, rates.min())  # type: ignore[no-any-return]
    return best_of(rates, threshold, sums).events  # type: ignore[no-any-return]


@njit(cache=True, nogil=True)
def _outgoing(events: Int64, topics: Csr, thresholds: Int64, sums: Sums) -> Any:
    """Return what goes out at least, and by topic whether somebody cannot do without it."""
    rates = np.empty(np.diff(topics.offsets).max() if len(thresholds) else 0, np.int64)
    needed = np.zeros(len(events), np.bool_)
    out = 0
    for who in range(len(thresholds)):
        row = topics.values[topics.offsets[who] : topics.offsets[who + 1]]
        rates[: len(row)] = events[row]
        own = rates[: len(row)]
        wanted = own.sum()
        out += least_of_row(own, wanted, thresholds[who], sums)
        for i in range(len(row)):
            if wanted - own[i] < thresholds[who]:
                needed[row[i]] = True
    return out, needed


@njit(cache=True, nogil=True)
def _at_least(events: Int64, topics: Csr, thresholds: Int64) -> int:
    sum_ = 0
    for who in range(len(thresholds)):
        least = events[topics.values[topics.offsets[who] : topics.offsets[who + 1]]].min()
        sum_ += max(thresholds[who], least)
    return sum_
