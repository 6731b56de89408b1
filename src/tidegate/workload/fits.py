"""Is a tail a power law? The fit, and its likelihood against two other laws, by the package `powerlaw`.

Where the tail begins is found on counts, and the package is given an even sample of what is beyond: the time that this
takes does not grow with the workload. What it says of significance is about the sample.
"""

import warnings
from typing import Final, NamedTuple

import numpy as np
import powerlaw

from tidegate.csr import Int64
from tidegate.workload.histogram import Histogram

_SAMPLE: Final = 20_000
_BEGINNINGS: Final = 50
_TAIL: Final = 0.1
"""Of all values, a tail has this share at least: the last few lie on some straight line always."""
_FEWEST: Final = 50
_SIGNIFICANT: Final = 0.05


class Fit(NamedTuple):
    """A power law, from a value on, beside what else it may be."""

    least: int
    """Where it begins."""
    share: float
    """Of all values that are there."""
    exponent: float
    """Of the density: the share of values that are at least x falls with x to the power of 1 less."""
    error: float
    distance: float
    """Kolmogorov and Smirnov's, between the law and the values."""
    over_lognormal: float
    """The logarithm of the likelihood ratio, in standard deviations: above 0, the power law is likelier."""
    lognormal_p: float
    """How often so large a ratio would be chance."""
    over_exponential: float
    exponential_p: float

    @property
    def verdict(self) -> str:
        """What the tests say of the tail."""
        if min(self.over_lognormal, self.over_exponential) < 0:
            worse = self.lognormal_p if self.over_lognormal < self.over_exponential else self.exponential_p
            return "no power law" if worse < _SIGNIFICANT else "power law, or as well another"
        return (
            "power law" if max(self.lognormal_p, self.exponential_p) < _SIGNIFICANT else "power law, or as well another"
        )


def fitted(histogram: Histogram) -> Fit | None:
    """Fit a power law to whole numbers from where it fits best; None if they are too few, or all alike."""
    some = histogram.positive()
    if some.total < _FEWEST or len(some.values) < 3:
        return None
    least = _beginning(some)
    tail = some.above(least - 0.5)
    sample = _even(some, least)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about its own search for parameters
        fit = powerlaw.Fit(sample, discrete=True, xmin=least, verbose=False)
        law = fit.power_law
        lognormal, exponential = (
            fit.distribution_compare("power_law", other, normalized_ratio=True)
            for other in ("lognormal", "exponential")
        )
    figures = (law.alpha, law.sigma, law.D, *lognormal, *exponential)
    return Fit(least, tail / some.total, *(float(figure) for figure in figures))


def _beginning(some: Histogram) -> int:
    """Return from where on the values are nearest to a power law, as Clauset, Shalizi and Newman look for it."""
    latest = max(some.quantile(1 - _TAIL), 1)
    candidates = some.values[some.values <= latest]
    chosen = candidates[np.unique(np.geomspace(1, len(candidates), _BEGINNINGS).astype(np.int64) - 1)]
    return int(min(chosen, key=lambda least: _distance(some, int(least))))


def _distance(some: Histogram, least: int) -> float:
    """Return the largest difference between values from `least` on and the power law that is likeliest for them."""
    place = np.searchsorted(some.values, least)
    values, counts = some.values[place:], some.counts[place:]
    if len(values) < 3:
        return 1.0
    n = counts.sum()
    exponent = n / (counts @ np.log(values / (least - 0.5)))
    expected = ((values - 0.5) / (least - 0.5)) ** -exponent
    return float(np.abs(expected - np.cumsum(counts[::-1])[::-1] / n).max())


def _even(some: Histogram, least: int) -> Int64:
    """Return as many values from `least` on as a fit takes, evenly."""
    place = np.searchsorted(some.values, least)
    ends = np.cumsum(some.counts[place:])
    n = min(int(ends[-1]), _SAMPLE)
    ranks = (np.arange(n) + 0.5) * (ends[-1] / n)
    sample: Int64 = some.values[place:][np.searchsorted(ends, ranks, side="right")]
    return sample
