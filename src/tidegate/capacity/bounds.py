"""What no choice of topics can exceed: upper bounds of B3M and F-B3M (thesis, Algorithm 3, Theorems 6.7 and 6.13).

With normalised costs a subscriber pays for an event it gets; with others, its part of what a topic costs, shared evenly
among its followers. Whoever is served at the least such price for its events is no dearer in any choice.
"""

from typing import Any

import numpy as np

from tidegate.capacity.demand import Demand
from tidegate.capacity.selection import checked_costs
from tidegate.csr import Csr, Int64
from tidegate.kernels import njit


def b3m_bound(demand: Demand, satisfied_by: int | Int64, capacity: int, costs: Int64 | None = None) -> int:
    """Return how many subscribers may be satisfied at most."""
    thresholds = demand.thresholds(satisfied_by)
    prices = _whole_prices(demand, thresholds) if costs is None else _covers(demand, thresholds, costs)
    return int(np.searchsorted(np.cumsum(np.sort(prices)), _with_rounding(capacity, costs), side="right"))


def fb3m_bound(demand: Demand, satisfied_by: int | Int64, capacity: int, costs: Int64 | None = None) -> float:
    """Return how much satisfaction there may be at most."""
    thresholds = demand.thresholds(satisfied_by)
    if costs is None:
        gains, prices = np.ones(demand.n_subscribers), _whole_prices(demand, thresholds).astype(np.float64)
    else:
        gains, prices = _pieces(demand, thresholds, costs)
    order = np.argsort(prices / gains, kind="stable")
    spent = np.cumsum(prices[order])
    whole = int(np.searchsorted(spent, _with_rounding(capacity, costs), side="right"))
    satisfaction = float(gains[order[:whole]].sum())
    if whole < len(order):
        left = capacity - (spent[whole - 1] if whole else 0.0)
        satisfaction += float(gains[order[whole]]) * max(left, 0.0) / float(prices[order[whole]])
    return satisfaction


def _with_rounding(capacity: int, costs: Int64 | None) -> float:
    # Parts of costs are rounded; a bound must not fall below the best by that.
    return capacity if costs is None else capacity * (1 + 1e-9)


def _whole_prices(demand: Demand, thresholds: Int64) -> Int64:
    """By subscriber: the events that must be sent to it, as a topic is served as a whole."""
    least: Int64 = _least(demand.topics, demand.events)
    return np.maximum(thresholds, least)


def _covers(demand: Demand, thresholds: Int64, costs: Int64) -> Any:
    """By subscriber: the least price of its threshold, if it could buy parts of topics."""
    _, prices, offsets = _bought(demand.topics, demand.events, _parts(demand, costs), thresholds)
    return np.add.reduceat(prices, offsets[:-1]) if len(prices) else prices


def _pieces(demand: Demand, thresholds: Int64, costs: Int64) -> Any:
    gains, prices, _ = _bought(demand.topics, demand.events, _parts(demand, costs), thresholds)
    return gains, prices


def _parts(demand: Demand, costs: Int64) -> Any:
    return checked_costs(demand, costs) / np.diff(demand.followers.offsets)


@njit(cache=True, nogil=True)
def _least(topics: Csr, events: Int64) -> Int64:
    least = np.empty(len(topics.offsets) - 1, np.int64)
    for who in range(len(least)):
        least[who] = events[topics.values[topics.offsets[who] : topics.offsets[who + 1]]].min()
    return least


@njit(cache=True, nogil=True)
def _bought(topics: Csr, events: Int64, parts: Any, thresholds: Int64) -> Any:
    """Let every subscriber buy events where they are cheapest until it has enough; return the pieces, and whose."""
    gains, prices = np.empty(len(topics.values)), np.empty(len(topics.values))
    offsets = np.zeros(len(thresholds) + 1, np.int64)
    n = 0
    for who in range(len(thresholds)):
        own = topics.values[topics.offsets[who] : topics.offsets[who + 1]]
        left = thresholds[who]
        for at in np.argsort(parts[own] / events[own]):
            if left <= 0:
                break
            topic = own[at]
            bought = min(left, events[topic])
            gains[n], prices[n] = bought / thresholds[who], parts[topic] * bought / events[topic]
            left -= bought
            n += 1
        offsets[who + 1] = n
    return gains[:n], prices[:n], offsets
