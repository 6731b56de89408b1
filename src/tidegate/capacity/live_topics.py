"""What a running deployment tells in real time: topics by name, chosen anew as windows pass.

The statistics are those of the window that has passed: a topic costs as many notifications as there were of it, live or
later. Its subscribers are who was told of it, and each is held to get as many as they got on average, rounded up.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tidegate.capacity.demand import Demand
from tidegate.capacity.offloading import Offloading, Rule
from tidegate.csr import Int64
from tidegate.errors import ConfigError

_PAIR = ["topic", "subscriber"]
_NOTIFICATION = [*_PAIR, "id"]
# A window may have thousands of batches, with the same pairs in them.
_MOST_APART = 64


@dataclass
class Standing:
    """What was decided last, and what has come of it."""

    capacity: int
    windows: int = 0
    """After which topics were chosen."""
    served_topics: int = 0
    offloaded_topics: int = 0
    came: int = 0
    """Topics that are served since the last choice, and were not before."""
    went: int = 0
    subscribers: int = 0
    """Who was told of something in the window that the choice goes by."""
    satisfied: int = 0
    """Of those, who would have got their threshold from what was chosen."""
    live: int = 0
    """Notifications that were told in real time since the start."""
    later: int = 0


class LiveTopics:
    """Belongs to whoever sees all notifications, batch by batch; in one process."""

    def __init__(self, rule: Rule, window_s: float, clock: Callable[[], float]) -> None:
        """Choose by a rule, every `window_s` seconds of a clock, the first of which begins with the first batch."""
        if not (window_s > 0 and math.isfinite(window_s)):
            raise ConfigError(f"a window of {window_s} s: it is above 0")
        if rule.capacity < 0:
            raise ConfigError(f"a capacity of {rule.capacity:,} notifications: it is 0 or more")
        self._rule, self._window_s, self._clock = rule, window_s, clock
        self._offloading = Offloading(rule)
        self._ends: float | None = None
        self._told: list[pa.Table] = []
        self._is_live: dict[str, bool] = {}
        self._numbers: dict[str, int] = {}
        self._next_number = 0
        self._room = rule.capacity
        self.standing = Standing(rule.capacity)

    def batch(self, rows: pa.Table) -> NDArray[np.bool_]:
        """Take in a batch, with columns `topic`, `subscriber` and `id`, and return which rows are told in real time.

        Of topics that the last window did not have, as many are as there is room left for, those with the least to tell
        first; the others wait for the next choice.
        """
        self._pass()
        notifications = rows.select(_NOTIFICATION).group_by(_NOTIFICATION).aggregate([])
        self._told.append(notifications.group_by(_PAIR).aggregate([([], "count_all")]))
        if len(self._told) > _MOST_APART:
            self._told = [self._told_so_far()]
        counts = notifications.group_by("topic").aggregate([([], "count_all")])
        counts = counts.sort_by([("count_all", "ascending"), ("topic", "ascending")])
        for topic, count in zip(counts["topic"].to_pylist(), counts["count_all"].to_pylist(), strict=True):
            self._admit(topic, count)
        topics = pc.unique(rows["topic"])
        is_live = np.array([self._is_live[topic] for topic in topics.to_pylist()], np.bool_)
        return is_live[pc.index_in(rows["topic"], topics).to_numpy()] if len(rows) else is_live

    def _admit(self, topic: str, count: int) -> None:
        """Count what a batch has of a topic, and decide about one that is new."""
        if topic not in self._numbers:
            if topic not in self._is_live:
                self._is_live[topic] = count <= self._room
            self._room -= count if self._is_live[topic] else 0
        if self._is_live[topic]:
            self.standing.live += count
        else:
            self.standing.later += count

    def _pass(self) -> None:
        """Choose anew, if a window has passed."""
        now = self._clock()
        if self._ends is None:
            self._ends = now + self._window_s
        elif now >= self._ends:
            self._ends += self._window_s * math.ceil((now - self._ends + 1e-9) / self._window_s)
            self._choose()

    def _choose(self) -> None:
        demand, names, costs = self._demand()
        decision = self._offloading.window(demand, costs)
        served = np.zeros(len(names), np.bool_)
        served[decision.chosen.topics] = True
        self._is_live = dict(zip(names, served.tolist(), strict=True))
        self._room = self._rule.capacity - decision.chosen.cost
        self._told = []
        self.standing = replace(
            self.standing,
            windows=self.standing.windows + 1,
            served_topics=len(decision.serve),
            offloaded_topics=len(decision.offload),
            came=decision.came,
            went=decision.went,
            subscribers=demand.n_subscribers,
            satisfied=decision.chosen.satisfied,
        )

    def _demand(self) -> tuple[Demand, list[str], Int64]:
        """Return what the window was like, the names of its topics, and how many notifications there were of each."""
        if not self._told:
            self._numbers = {}
            return Demand.of([], [], [])[0], [], np.empty(0, np.int64)
        # In order: of topics that are worth the same, the first is chosen, however batches were cut.
        pairs = self._told_so_far().sort_by([(name, "ascending") for name in _PAIR])
        topics, subscribers = (pairs[name].combine_chunks().dictionary_encode() for name in _PAIR)
        of_topic = topics.indices.to_numpy()
        told = np.bincount(of_topic, pairs["count_all"].to_numpy()).astype(np.int64)
        events = -(-told // np.bincount(of_topic))
        demand, _ = Demand.of(events, subscribers.indices.to_numpy(), of_topic)
        names = topics.dictionary.to_pylist()
        return replace(demand, topic_names=self._numbered(names)), names, told

    def _told_so_far(self) -> pa.Table:
        """How often each subscriber was told of each topic."""
        pairs = pa.concat_tables(self._told).group_by(_PAIR).aggregate([("count_all", "sum")])
        return pairs.rename_columns([*_PAIR, "count_all"])

    def _numbered(self, names: list[str]) -> Int64:
        """Return the numbers of topics, the same as in the window before; older ones are forgotten."""
        numbers = {}
        for name in names:
            numbers[name] = self._numbers.get(name, self._next_number)
            self._next_number += name not in self._numbers
        self._numbers = numbers
        return np.array(list(numbers.values()), np.int64)
