"""What is told of a workload: the tables of its analysis, for people and for programs."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from tidegate.csr import Int64
from tidegate.workload import figures
from tidegate.workload.analysis import Analysis
from tidegate.workload.figures import Figure
from tidegate.workload.fits import Fit, fitted
from tidegate.workload.histogram import Histogram
from tidegate.workload.hours import Day, Hours, Publications, Subscriptions

Row = dict[str, Any]
_SHARES: Final = (0.5, 0.9, 0.99, 0.999)


@dataclass(frozen=True)
class Account:
    """An analysis, and what is known of traffic by the hour."""

    analysis: Analysis
    publications: Publications | None = None
    subscriptions: Subscriptions | None = None

    @property
    def _laws(self) -> dict[str, Histogram]:
        found = self.analysis
        return {
            "followers of a topic": found.popularity,
            "topics followed by a subscriber": found.sizes,
            "events of a topic": found.rates,
            "events sent to a subscriber": found.received,
        }

    @cached_property
    def fits(self) -> dict[str, Fit | None]:
        """By distribution, how near its tail is to a power law."""
        return {name: fitted(histogram) for name, histogram in self._laws.items()}

    @cached_property
    def days(self) -> dict[str, Day]:
        """The daily patterns of what is counted by the hour."""
        found: dict[str, tuple[Hours, Int64]] = {}
        if (published := self.publications) is not None:
            found |= {f"published, {name}": (published.hours, counts) for name, counts in published.by_service.items()}
        if (changed := self.subscriptions) is not None:
            found |= {
                "subscribed": (changed.hours, changed.subscribed),
                "unsubscribed": (changed.hours, changed.unsubscribed),
            }
        return {name: Day.of(*counted) for name, counted in found.items()}

    @cached_property
    def figures(self) -> list[Figure]:
        """All figures there are data for."""
        return [
            *figures.of_analysis(self.analysis),
            *(figures.of_publications(self.publications) if self.publications else ()),
            *(figures.of_subscriptions(self.subscriptions) if self.subscriptions else ()),
        ]

    def tables(self) -> dict[str, list[Row]]:
        """Return all tables by title; rows of one have the same names."""
        found = self.analysis
        told: dict[str, list[Row]] = {
            "Workload": [
                {
                    "topics": found.topics,
                    "subscribers": found.subscribers,
                    "pairs": found.pairs,
                    "events": found.events,
                    "topics nobody follows": found.popularity.count(0),
                    "pairs there twice": found.repeated,
                    "pairs without a rate": found.unrated,
                    "pairs without a number": found.nulls,
                }
            ],
            "Distributions": [_spread(name, histogram) for name, histogram in self._laws.items()],
            "Correlations": [
                {"of": "followers and events of a topic", "Pearson": found.rate_by_popularity},
                {"of": "topics followed by and events sent to a subscriber", "Pearson": found.received_by_size},
            ],
            "Power laws": [_law(name, fit) for name, fit in self.fits.items() if fit],
        }
        if self.days:
            told["Daily patterns"] = [{"what": name, **day._asdict()} for name, day in self.days.items()]
        if self.publications:
            told["Sites"] = [{"remote events, local being 1": self.publications.remote_share}]
        if self.subscriptions:
            changed = self.subscriptions
            told["Churn"] = [{"unsubscribed, of subscribed": changed.balance, "variation": changed.variation}]
        return told

    def as_json(self) -> dict[str, Any]:
        """Return tables and figures for programs."""
        return {"tables": self.tables(), "figures": [figure.as_json() for figure in self.figures]}


def _spread(name: str, histogram: Histogram) -> Row:
    quantiles = {f"{100 * share:g} %": histogram.quantile(share) for share in _SHARES}
    return {"of": name, "mean": histogram.mean, **quantiles, "most": histogram.most}


def _law(name: str, fit: Fit) -> Row:
    return {
        "of": name,
        "from": fit.least,
        "share": fit.share,
        "exponent": fit.exponent,
        "±": fit.error,
        "distance": fit.distance,
        "over lognormal": fit.over_lognormal,
        "p lognormal": fit.lognormal_p,
        "over exponential": fit.over_exponential,
        "p exponential": fit.exponential_p,
        "verdict": fit.verdict,
    }
