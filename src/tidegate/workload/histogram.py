"""Counts by distinct value, which stay small however many values there are, and what figures show of them."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple, Self

import numpy as np

from tidegate.csr import Int64
from tidegate.workload.terms import Floats

_DIGITS: Final = 1_000


@dataclass(frozen=True, eq=False)
class Histogram:
    """Distinct values, rising, how often each occurs, and the sum of something else where it does.

    >>> followers = Histogram.of(np.array([1, 3, 1]), events=np.array([5, 7, 1]))
    >>> followers.values, followers.counts, followers.sums, followers.above(1)
    (array([1, 3]), array([2, 1]), array([6, 7]), 1)
    """

    values: Int64
    counts: Int64
    sums: Int64

    @classmethod
    def of(cls, values: Int64, events: Int64 | None = None) -> Self:
        """Count values; sum up `events`, or the values themselves."""
        sums = values if events is None else events
        return cls._merged(values, np.ones(len(values), np.int64), sums)

    @classmethod
    def merged(cls, parts: Iterable["Histogram"]) -> Self:
        """Return the counts of all values of several."""
        columns = [(part.values, part.counts, part.sums) for part in parts] or [(np.empty(0, np.int64),) * 3]
        return cls._merged(*(np.concatenate(column) for column in zip(*columns, strict=True)))

    @classmethod
    def _merged(cls, values: Int64, counts: Int64, sums: Int64) -> Self:
        distinct, place = np.unique(values, return_inverse=True)
        totals = [np.zeros(len(distinct), np.int64) for _ in range(2)]
        # Sums of weights by `bincount` are floats, and would not be exact.
        for total, column in zip(totals, (counts, sums), strict=True):
            np.add.at(total, place, column)
        return cls(distinct.astype(np.int64), *totals)

    @property
    def total(self) -> int:
        """How many values there are."""
        return int(self.counts.sum())

    @property
    def mean(self) -> float:
        """Their mean; 0 of none."""
        return float(self.values @ self.counts.astype(np.float64)) / max(self.total, 1)

    @property
    def most(self) -> int:
        """The largest; 0 of none."""
        return int(self.values[-1]) if len(self.values) else 0

    @property
    def means(self) -> Floats:
        """By distinct value: the mean of the sums."""
        return self.sums / self.counts

    def above(self, value: float) -> int:
        """Return how many are larger."""
        return int(self.counts[np.searchsorted(self.values, value, side="right") :].sum())

    def count(self, value: int) -> int:
        """Return how many are this very value."""
        return self.above(value - 0.5) - self.above(value)

    def between(self, low: float, high: float) -> float | None:
        """Return the mean of the sums of values from `low` on and below `high`; None of none."""
        which = (self.values >= low) & (self.values < high)
        return float(self.sums[which].sum() / self.counts[which].sum()) if which.any() else None

    def ccdf(self) -> Floats:
        """Return by distinct value what share of all is at least as large."""
        at_least: Floats = np.cumsum(self.counts[::-1])[::-1] / max(self.total, 1)
        return at_least

    def quantile(self, share: float) -> int:
        """Return the smallest value that this share of all values does not exceed; 0 of none."""
        if not len(self.values):
            return 0
        place = int(np.searchsorted(np.cumsum(self.counts), share * self.total))
        return int(self.values[min(place, len(self.values) - 1)])

    def positive(self) -> "Histogram":
        """Return that of the values above 0, which are those on a logarithmic axis."""
        there = self.values > 0
        return Histogram(self.values[there], self.counts[there], self.sums[there])

    def binned(self, per_decade: int) -> tuple[Floats, Floats, Int64]:
        """Return for bins of equal width on a logarithmic axis the mean value, the mean of the sums, and the count."""
        kept = self.positive()
        place = np.floor(np.log10(np.maximum(kept.values, 1)) * per_decade + 1e-9).astype(np.int64)
        counts = np.bincount(place, kept.counts)
        there = counts > 0
        x, y = np.bincount(place, kept.counts * kept.values), np.bincount(place, kept.sums)
        return x[there] / counts[there], y[there] / counts[there], counts[there].astype(np.int64)


def three_digits(values: Int64) -> Int64:
    """Return values rounded down to three digits: as many distinct ones as figures can show, and round ones exact.

    >>> three_digits(np.array([7, 999, 7_000, 12_345]))
    array([    7,   999,  7000, 12300])
    """
    unit = np.ones(len(values), np.int64)
    for _ in range(16):
        unit = np.where(values // unit >= _DIGITS, unit * 10, unit)
    return values // unit * unit


class Moments(NamedTuple):
    """Sums over pairs of numbers, of which their correlation is computed; those of parts are added."""

    n: float = 0.0
    x: float = 0.0
    y: float = 0.0
    xx: float = 0.0
    yy: float = 0.0
    xy: float = 0.0

    @classmethod
    def of(cls, x: Int64, y: Int64) -> Self:
        """Sum up."""
        a, b = x.astype(np.float64), y.astype(np.float64)
        return cls(len(x), float(a.sum()), float(b.sum()), float(a @ a), float(b @ b), float(a @ b))

    def plus(self, other: "Moments") -> "Moments":
        """Add those of another part."""
        return Moments(*(one + another for one, another in zip(self, other, strict=True)))

    @property
    def correlation(self) -> float:
        """Pearson's; 0 where one of both does not vary."""
        across = self.n * self.xy - self.x * self.y
        spread = (self.n * self.xx - self.x**2) * (self.n * self.yy - self.y**2)
        return float(across / spread**0.5) if spread > 0 else 0.0
