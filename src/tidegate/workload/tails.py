"""Laws with long tails, as a figure shows them: what share of values is at least so large, on two logarithmic axes.

A law is drawn by its quantiles and not by chance: whatever is known of it holds in every sample, as near as whole
numbers allow.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
from scipy.optimize import brentq

from tidegate.csr import Int64
from tidegate.errors import ConfigError
from tidegate.workload.terms import Floats

_GRID: Final = 200_000
"""Quantiles that a mean is taken of: every one of the largest, and fewer of those that are nearly alike."""
_SETTLED: Final = 1e-7
_NEAR: Final = 1e-9
"""A value so little below a whole number is that number, but for rounding."""
_LEAST: Final = 1e-15
_FALL: Final = 1e-6
"""Of a line between two knots, in logarithms of shares, at least."""


class Knot(NamedTuple):
    """What is known of a law at a value."""

    value: float
    share: float | None = None
    """Of values that are at least as large; None for what gives the law the mean that is asked for."""
    beyond: float = 1.0
    """Of those, what share is larger: below 1, the others have this very value, and figures show a glitch."""


@dataclass(frozen=True)
class Tail:
    """Whole numbers from 1 on. Between knots, the share of values that are at least x is a straight line in log-log.

    Nothing is above `most`: the law is that of the rest.

    >>> Tail((Knot(1, 1.0), Knot(10, 0.5, 0.5), Knot(1000, 0.001))).quantiles(8).tolist()
    [1, 1, 3, 6, 10, 10, 12, 31]
    """

    knots: tuple[Knot, ...]
    most: float = np.inf

    def quantiles(self, n: int) -> Int64:
        """Return `n` values, rising, each of which stands for as much of the law."""
        return self._at((np.arange(n, 0, -1) - 0.5) / n)

    def mean(self, n: int) -> float:
        """Return the mean of `n` quantiles, to some five digits."""
        edges = np.unique(np.geomspace(1, n + 1, min(n, _GRID) + 1).astype(np.int64)) - 1
        widths = np.diff(edges)
        return float(self._at((edges[:-1] + widths / 2) / n) @ widths / n)

    def settled(self, mean: float, n: int, most: float = np.inf) -> "Tail":
        """Return the law of which `n` quantiles have this mean, cut off at `most`; one share has to be open."""
        reach = self.reach(n, most)
        if not reach[0] <= mean <= reach[1]:
            raise ConfigError(
                f"a mean of {mean:,.4g} is out of reach for {n:,} of at most {min(most, self.knots[-1].value):,.0f}: "
                f"between {reach[0]:,.4g} and {reach[1]:,.4g} it can be had"
            )
        free, low, high = self._free()
        share = brentq(lambda share: self._with(free, share, most).mean(n) - mean, low, high, xtol=_SETTLED)
        return self._with(free, share, most)

    def reach(self, n: int, most: float = np.inf) -> tuple[float, float]:
        """Return the least and the greatest mean that `n` quantiles can be given."""
        free, low, high = self._free()
        return self._with(free, low, most).mean(n), self._with(free, high, most).mean(n)

    def _free(self) -> tuple[int, float, float]:
        """Which knot is open, and between what logarithms of shares."""
        free = next(place for place, knot in enumerate(self.knots) if knot.share is None)
        before, after = self.knots[free - 1], self.knots[free + 1 :]
        low = np.log((after[0].share or _LEAST) / self.knots[free].beyond if after else _LEAST)
        # A line that does not fall at all leaves nothing to cut off: the law would leap there.
        return free, float(low), float(np.log((before.share or 1.0) * before.beyond)) - _FALL

    def _with(self, free: int, log_share: float, most: float) -> "Tail":
        knots = list(self.knots)
        knots[free] = knots[free]._replace(share=float(np.exp(log_share)))
        return replace(self, knots=tuple(knots), most=most)

    @cached_property
    def _line(self) -> tuple[Floats, Floats]:
        """The logarithms of values and of shares, both sides of a glitch."""
        ends = [(knot.value, (knot.share or _LEAST) * side) for knot in self.knots for side in (1.0, knot.beyond)]
        values, shares = np.log(np.array(ends)).T
        return values, shares

    def _at(self, above: Floats) -> Int64:
        """Return the values that these shares of all values are above."""
        values, shares = self._line
        if self.most < self.knots[-1].value:
            beyond = np.exp(np.interp(np.log(self.most), values, shares))
            above = beyond + (1 - beyond) * above
        found = np.exp(np.interp(-np.log(above), -shares, values)) * (1 + _NEAR)
        return np.minimum(found, self.most).astype(np.int64)
