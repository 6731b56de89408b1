"""What serving some topics comes to: cost, subscribers that are satisfied, and shares of what the others want."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tidegate.capacity.demand import Demand
from tidegate.csr import Csr, Int64
from tidegate.errors import ConfigError
from tidegate.kernels import njit


@dataclass(frozen=True)
class Selection:
    """Topics to serve, in the order of their choice."""

    topics: Int64
    cost: int
    satisfied: int
    """Subscribers that get their threshold."""
    satisfaction: float
    """Shares of thresholds that subscribers get, added up."""


def selection(demand: Demand, thresholds: Int64, costs: Int64, topics: Int64) -> Selection:
    """Return what serving these topics comes to."""
    got = received(demand, topics)
    shares = np.minimum(got, thresholds) / thresholds
    return Selection(topics, int(costs[topics].sum()), int(np.count_nonzero(got >= thresholds)), float(shares.sum()))


def received(demand: Demand, topics: Int64) -> Int64:
    """Return by subscriber how many events it gets if these topics are served."""
    served = np.zeros(demand.n_topics, np.int64)
    served[topics] = demand.events[topics]
    return _received(demand.topics, served)  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Course:
    """What a choice comes to, topic by topic."""

    cost: Int64
    satisfied: Int64
    satisfaction: NDArray[np.float64]


def course(demand: Demand, satisfied_by: int | Int64, chosen: Selection, costs: Int64 | None = None) -> Course:
    """Return how cost and satisfaction have grown; it ends with what the selection comes to."""
    prices = checked_costs(demand, costs)
    satisfied, shares = _course(demand.events, demand.followers, demand.thresholds(satisfied_by), chosen.topics)
    return Course(np.cumsum(prices[chosen.topics]), satisfied, shares)


def checked_costs(demand: Demand, costs: Int64 | None) -> Int64:
    """Return these costs of topics, or the normalised ones; each is a whole number above 0."""
    if costs is None:
        return demand.costs
    prices = np.asarray(costs)
    if prices.shape != (demand.n_topics,) or prices.dtype.kind not in "iu":
        raise ConfigError(f"costs are {demand.n_topics:,} whole numbers, one for each topic")
    if prices.size and prices.min() <= 0:
        raise ConfigError(f"topic {np.argmin(prices):,} costs {prices.min():,}: a cost is above 0")
    return prices.astype(np.int64)


@njit(cache=True, nogil=True)
def _received(topics: Csr, served: Int64) -> Int64:
    got = np.zeros(len(topics.offsets) - 1, np.int64)
    for who in range(len(got)):
        for topic in topics.values[topics.offsets[who] : topics.offsets[who + 1]]:
            got[who] += served[topic]
    return got


@njit(cache=True, nogil=True)
def _course(events: Int64, followers: Csr, thresholds: Int64, chosen: Int64) -> Any:
    remaining = thresholds.copy()
    satisfied, shares = np.zeros(len(chosen), np.int64), np.zeros(len(chosen))
    happy, sum_ = 0, 0.0
    for i in range(len(chosen)):
        topic = chosen[i]
        for who in followers.values[followers.offsets[topic] : followers.offsets[topic + 1]]:
            if remaining[who] > 0:
                sum_ += min(events[topic], remaining[who]) / thresholds[who]
                remaining[who] -= events[topic]
                happy += remaining[who] <= 0
        satisfied[i], shares[i] = happy, sum_
    return satisfied, shares
