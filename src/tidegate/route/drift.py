"""Drift (S³-TM §6.4): whether a plan still fits the stream, told by what the stream does under it.

Throughput falls with spread times imbalance, so their product is watched: over the first posts under a plan it is the
baseline, and over the last ones it must not have grown by more than a threshold.
"""

from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from tidegate.errors import ConfigError


@dataclass
class Drift:
    """Watches one plan; told of every batch.

    >>> drift = Drift(matchers=2, threshold=0.2, window=100)
    >>> drift.observe(100, {0: 100, 1: 100}), drift.observe(100, {0: 100, 1: 100})
    (False, False)
    >>> drift.observe(100, {0: 200, 1: 40})
    True
    """

    matchers: int
    threshold: float = 0.2
    """By how much spread times imbalance may grow: 0.2 is a fifth."""
    window: int = 100_000
    """Over how many posts it is measured."""
    baseline: float | None = None
    _batches: deque[tuple[int, Counter[int]]] = field(default_factory=deque)
    _posts: int = 0
    _loads: Counter[int] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        """Refuse what cannot be watched for."""
        if self.matchers < 1 or self.window < 1 or not self.threshold > 0:
            raise ConfigError(f"drift over {self.window} posts by {self.threshold}: give both above 0")

    @property
    def measured(self) -> float | None:
        """Spread times imbalance of late: the load of the busiest matcher, as if all had it, by post."""
        if self._posts < self.window:
            return None
        return max(self._loads.values(), default=0) * self.matchers / self._posts

    def observe(self, posts: int, loads: Mapping[int, int]) -> bool:
        """Take note of a batch: how many posts, and by matcher how much work; tell whether the plan has decayed."""
        self._batches.append((posts, Counter(loads)))
        self._posts += posts
        self._loads.update(loads)
        while self._posts - self._batches[0][0] >= self.window:
            gone, load = self._batches.popleft()
            self._posts -= gone
            self._loads.subtract(load)
        measured = self.measured
        if measured is None:
            return False
        if self.baseline is None:
            self.baseline = measured
        return measured > self.baseline * (1 + self.threshold)
