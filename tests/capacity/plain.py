"""Satisfaction by the book, in plain Python: what the kernels are compared with."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np
from hypothesis import strategies as st

from tidegate.capacity.demand import Demand
from tidegate.capacity.satisfaction import WHOLE


@dataclass(frozen=True)
class Case:
    """An instance of the problem."""

    events: list[int]
    follows: list[set[int]]
    threshold: int
    capacity: int
    costs: list[int] | None

    @property
    def demand(self) -> Demand:
        pairs = [(who, topic) for who, topics in enumerate(self.follows) for topic in sorted(topics)]
        demand, _ = Demand.of(self.events, [who for who, _ in pairs], [topic for _, topic in pairs])
        return demand


@st.composite
def cases(draw: st.DrawFn, topics: int = 7, subscribers: int = 9, priced: bool | None = None) -> Case:
    """Small ones, in which every topic is followed."""
    n = draw(st.integers(1, topics))
    events = draw(st.lists(st.integers(1, 12), min_size=n, max_size=n))
    follows = draw(st.lists(st.sets(st.integers(0, n - 1), min_size=1), min_size=1, max_size=subscribers))
    unheard = set(range(n)) - set().union(*follows)
    follows += [unheard] if unheard else []
    costs = draw(st.lists(st.integers(1, 30), min_size=n, max_size=n))
    normalised = [events[t] * sum(t in topics for topics in follows) for t in range(n)]
    own = draw(st.booleans()) if priced is None else priced
    most = sum(costs if own else normalised)
    return Case(events, follows, draw(st.integers(1, 25)), draw(st.integers(0, most)), costs if own else None)


def drawn_case(random: np.random.Generator, topics: int, subscribers: int, most: int, *, priced: bool) -> Case:
    """One with up to so many topics, subscribers and events of a topic; every topic is followed."""
    n, size = int(random.integers(1, topics + 1)), int(random.integers(1, subscribers + 1))
    events = [int(rate) for rate in random.integers(1, random.integers(2, most + 1), n)]
    follows = [set(random.choice(n, random.integers(1, n + 1), replace=False).tolist()) for _ in range(size)]
    unheard = set(range(n)) - set().union(*follows)
    follows += [unheard] if unheard else []
    case = Case(events, follows, int(random.integers(1, most + 1)), 0, random.integers(1, 99, n).tolist())
    case = case if priced else replace(case, costs=None)
    return replace(case, capacity=int(random.integers(0, sum(costs(case)) + 1)))


def thresholds(case: Case) -> list[int]:
    return [min(case.threshold, sum(case.events[t] for t in topics)) for topics in case.follows]


def costs(case: Case) -> list[int]:
    followers = [sum(t in topics for topics in case.follows) for t in range(len(case.events))]
    return case.costs or [rate * count for rate, count in zip(case.events, followers, strict=True)]


def satisfaction(case: Case, served: Iterable[int]) -> tuple[int, float]:
    """Who gets its threshold, and the shares of all added up."""
    chosen, count, shares = set(served), 0, 0.0
    for topics, threshold in zip(case.follows, thresholds(case), strict=True):
        got = sum(case.events[t] for t in topics & chosen)
        count += got >= threshold
        shares += min(1.0, got / threshold)
    return count, shares


def greedy(case: Case, gain: Callable[[int, int, int], int], *, ratio: bool) -> list[int]:
    """The best topic for its cost (or the best), again and again; all gains are computed anew each time."""
    prices, wanted, waiting, chosen = costs(case), thresholds(case), set(range(len(case.events))), list[int]()
    while waiting:
        gains = {
            t: sum(
                gain(case.events[t], wanted[v] - sum(case.events[u] for u in topics if u in chosen), wanted[v])
                for v, topics in enumerate(case.follows)
                if t in topics
            )
            for t in waiting
        }
        best = max(waiting, key=lambda t: (gains[t] / (prices[t] if ratio else 1), -t))
        if gains[best] == 0:
            break
        waiting.remove(best)
        if prices[best] + sum(prices[t] for t in chosen) <= case.capacity:
            chosen.append(best)
    return chosen


def towards(events: int, remaining: int, _threshold: int) -> int:
    return 0 if remaining <= 0 else WHOLE if events >= remaining else int(events * (WHOLE / remaining))


def share(events: int, remaining: int, threshold: int) -> int:
    return int(max(0, min(events, remaining)) * (WHOLE / threshold))
