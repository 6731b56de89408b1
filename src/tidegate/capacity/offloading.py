"""Which topics are served in real time and which are handed on, window by window (thesis, §6.1).

Topics do not flap: where a topic is served it stays, as long as that costs no more than a stated share of the
satisfaction that a choice made afresh would give. Otherwise the fresh choice is taken as a whole. What nobody needs to
be satisfied is served as well, as far as there is room.
"""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from tidegate.capacity.demand import Demand, check_threshold
from tidegate.capacity.satisfaction import b3m, fb3m
from tidegate.capacity.selection import Selection, checked_costs, selection
from tidegate.csr import Int64
from tidegate.errors import ConfigError


class Goal(StrEnum):
    """What is to be as much as possible."""

    SATISFIED = "b3m"
    """Subscribers that get their threshold."""
    SATISFACTION = "fb3m"
    """Shares of thresholds that subscribers get."""


@dataclass(frozen=True)
class Rule:
    """How topics are chosen in every window."""

    satisfied_by: int
    capacity: int
    """Events to subscribers that can be sent in a window."""
    goal: Goal = Goal.SATISFACTION
    patience: float = 0.02
    """What share of the goal may be lost so that topics stay where they are."""


@dataclass(frozen=True)
class Decision:
    """What a window comes to; topics by the numbers that they have in the statistics, rising."""

    serve: Int64
    offload: Int64
    came: int
    """Topics of both windows that are served now, and were not."""
    went: int
    """The other way round."""
    chosen: Selection
    """In the demand's own numbers."""


class Offloading:
    """Decides, window by window; in one process, by whoever has the statistics."""

    def __init__(self, rule: Rule) -> None:
        """Begin with nothing served."""
        if not 0 <= rule.patience < 1:
            raise ConfigError(f"a patience of {rule.patience}: it is a share from 0 to below 1")
        check_threshold(rule.satisfied_by)
        self._rule = rule
        self._served = np.empty(0, np.int64)
        self._offloaded = np.empty(0, np.int64)

    def window(self, demand: Demand, costs: Int64 | None = None) -> Decision:
        """Take in a window's statistics, and say what is served until the next one.

        Topics cost an event to each follower, unless `costs` tells what each does.
        """
        prices = checked_costs(demand, costs)
        chosen = self._filled(demand, prices, self._chosen(demand, prices))
        served = np.zeros(demand.n_topics, np.bool_)
        served[chosen.topics] = True
        serve, offload = demand.topic_names[served], demand.topic_names[~served]
        came = int(np.isin(serve, self._offloaded).sum())
        went = int(np.isin(offload, self._served).sum())
        self._served, self._offloaded = serve, offload
        return Decision(serve, offload, came, went, chosen)

    def _chosen(self, demand: Demand, costs: Int64) -> Selection:
        rule = self._rule
        choose = b3m if rule.goal is Goal.SATISFIED else fb3m
        fresh = choose(demand, rule.satisfied_by, rule.capacity, costs)
        if not len(self._served):
            return fresh
        # What would be chosen anyway comes first, then what was served, then what else would be chosen.
        were = np.isin(demand.topic_names, self._served)
        again = fresh.topics[were[fresh.topics]]
        others = np.setdiff1d(np.flatnonzero(were), again)
        order = np.concatenate((again, others, fresh.topics[~were[fresh.topics]]))
        stays = order[_fitting(costs[order].tolist(), rule.capacity)]
        kept = selection(demand, demand.thresholds(rule.satisfied_by), costs, stays)
        return kept if self._value(kept) >= (1 - rule.patience) * self._value(fresh) else fresh

    def _filled(self, demand: Demand, costs: Int64, chosen: Selection) -> Selection:
        """Serve more: what was served before first, and of the others what costs least."""
        others = np.setdiff1d(np.arange(demand.n_topics), chosen.topics)
        order = others[np.lexsort((costs[others], ~np.isin(demand.topic_names[others], self._served)))]
        more = order[_fitting(costs[order].tolist(), self._rule.capacity - chosen.cost)]
        if not len(more):
            return chosen
        thresholds = demand.thresholds(self._rule.satisfied_by)
        return selection(demand, thresholds, costs, np.concatenate((chosen.topics, more)))

    def _value(self, chosen: Selection) -> float:
        return chosen.satisfied if self._rule.goal is Goal.SATISFIED else chosen.satisfaction


def _fitting(costs: list[int], capacity: int) -> list[int]:
    """Return which of these fit, one after the other."""
    left, taken = capacity, []
    for i, cost in enumerate(costs):
        if cost <= left:
            taken.append(i)
            left -= cost
    return taken
