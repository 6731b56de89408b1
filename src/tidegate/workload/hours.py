"""What is published and subscribed to by the hour: which hours of the day are busy, and whether weekends differ."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from tidegate.csr import Int64

Hours = NDArray[np.datetime64]


class Day(NamedTuple):
    """The daily pattern of something that is counted by the hour."""

    peak: int
    """The hour of the day with most of it."""
    trough: int
    """The hour with least."""
    swing: float
    """The most over the least, in the mean over days."""
    weekend: float
    """A day of a weekend, weekdays being 1."""

    @classmethod
    def of(cls, hours: Hours, counts: Int64) -> Self:
        """Find the pattern; hours are in one time zone."""
        of_day = hours.astype("datetime64[h]").astype(np.int64) % 24
        days = hours.astype("datetime64[D]").astype(np.int64)
        by_hour = np.bincount(of_day, counts, 24) / np.maximum(np.bincount(of_day, minlength=24), 1)
        there = np.bincount(of_day, minlength=24) > 0
        peak = int(np.argmax(np.where(there, by_hour, -1)))
        trough = int(np.argmin(np.where(there, by_hour, np.inf)))
        # The first of January 1970 was a Thursday.
        weekend = (days + 3) % 7 >= 5
        means = [float(counts[which].mean()) if which.any() else 0.0 for which in (weekend, ~weekend)]
        return cls(peak, trough, _ratio(by_hour[peak], by_hour[trough]), _ratio(*means))


@dataclass(frozen=True)
class Publications:
    """Events by the hour."""

    hours: Hours
    by_service: Mapping[str, Int64]
    """Those that were published."""
    local: Int64
    """Those that were published at the site that notifies."""
    remote: Int64
    """Those that came from another."""

    @property
    def remote_share(self) -> float:
        """What comes from other sites, over what is published at the site itself."""
        return _ratio(float(self.remote.sum()), float(self.local.sum()))


@dataclass(frozen=True)
class Subscriptions:
    """Changes by the hour."""

    hours: Hours
    subscribed: Int64
    unsubscribed: Int64
    standing: Mapping[str, Int64]
    """By service."""

    @property
    def variation(self) -> float:
        """How much the number of subscriptions varies: the most over the least, less 1."""
        total = sum(self.standing.values())
        return _ratio(float(np.max(total)), float(np.min(total))) - 1

    @property
    def balance(self) -> float:
        """Unsubscriptions over subscriptions."""
        return _ratio(float(self.unsubscribed.sum()), float(self.subscribed.sum()))


def pivoted(hours: Any, names: Any, counts: Any) -> tuple[Hours, dict[str, Int64]]:
    """Return the distinct hours, rising, and for each name its counts in them.

    >>> hours, counts = pivoted(np.array([2, 1, 2], "M8[h]"), np.array(["a", "a", "b"]), np.array([5, 6, 7]))
    >>> len(hours), counts
    (2, {'a': array([6, 5]), 'b': array([0, 7])})
    """
    distinct, place = np.unique(np.asarray(hours).astype("datetime64[h]"), return_inverse=True)
    kinds, kind = np.unique(np.asarray(names).astype(str), return_inverse=True)
    table = np.zeros((len(kinds), len(distinct)), np.int64)
    np.add.at(table, (kind, place), np.asarray(counts))
    return distinct, dict(zip(kinds.tolist(), table, strict=True))


def _ratio(one: float, other: float) -> float:
    return float(one / other) if other else 0.0
