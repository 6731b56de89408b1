"""The figures of a workload as data: few enough points to draw, to print and to keep."""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from tidegate.csr import Int64
from tidegate.workload.analysis import Analysis
from tidegate.workload.histogram import Histogram
from tidegate.workload.hours import Publications, Subscriptions
from tidegate.workload.terms import Floats

_POINTS: Final = 200
_PER_DECADE: Final = 10


@dataclass(frozen=True)
class Figure:
    """Lines of y over x, and points besides."""

    title: str
    x: str
    y: str
    lines: dict[str, tuple[Any, Any]]
    points: tuple[Any, Any] | None = None
    log: str = "xy"
    """Which axes are logarithmic."""

    def as_json(self) -> dict[str, Any]:
        """Return its lines."""
        lines = {name: [np.asarray(x).tolist(), np.asarray(y).tolist()] for name, (x, y) in self.lines.items()}
        return {"title": self.title, "x": self.x, "y": self.y, "lines": lines}


def popularity(analysis: Analysis) -> Figure:
    """The share of topics that have at least so many followers."""
    line = _ccdf(analysis.popularity)
    return Figure("Topic popularity", "followers", "share of topics with at least as many", {"followers": line})


def subscription_sizes(analysis: Analysis) -> Figure:
    """The share of subscribers that follow at least so many topics."""
    line = _ccdf(analysis.sizes)
    return Figure("Subscription size", "topics followed", "share of subscribers", {"followings": line})


def event_rates(analysis: Analysis) -> Figure:
    """The share of topics that have at least so many events."""
    return Figure("Event rate", "events", "share of topics with at least as many", {"events": _ccdf(analysis.rates)})


def notification_rates(analysis: Analysis) -> Figure:
    """The share of subscribers that are sent at least this percentage of all events."""
    x, y = _ccdf(analysis.received)
    return Figure(
        "Normalised notification rate", "NNR, % of all events", "share of subscribers", {"NNR": (analysis.share(x), y)}
    )


def rate_by_popularity(analysis: Analysis) -> Figure:
    """The mean events of topics by their followers."""
    x, y, _ = analysis.popularity.binned(_PER_DECADE)
    return Figure(
        "Event rate by popularity", "followers", "events", {"mean": (x, y)}, points=tuple(analysis.topic_sample)
    )


def rate_by_size(analysis: Analysis) -> Figure:
    """The mean notification rate of subscribers by how many topics they follow."""
    x, y, _ = analysis.sizes.binned(_PER_DECADE)
    sizes, events = analysis.subscriber_sample
    return Figure(
        "NNR by subscription size",
        "topics followed",
        "NNR, %",
        {"mean": (x, analysis.share(y))},
        points=(sizes, analysis.share(events)),
    )


def of_analysis(analysis: Analysis) -> list[Figure]:
    """Return all figures of who follows what."""
    drawn = (popularity, subscription_sizes, event_rates, notification_rates, rate_by_size, rate_by_popularity)
    return [figure(analysis) for figure in drawn]


def of_publications(traffic: Publications) -> list[Figure]:
    """Return the figures of events by the hour."""
    hours = _since(traffic.hours)
    services = {name: (hours, counts) for name, counts in traffic.by_service.items()}
    sites = {"local": (hours, traffic.local), "remote": (hours, traffic.remote)}
    return [
        Figure("Publications by service", "hours", "events an hour", services, log="y"),
        Figure("Publications within and across sites", "hours", "events an hour", sites, log="y"),
    ]


def of_subscriptions(traffic: Subscriptions) -> list[Figure]:
    """Return the figures of subscriptions by the hour."""
    hours = _since(traffic.hours)
    total = sum(traffic.standing.values())
    rates = {"subscribed": (hours, traffic.subscribed), "unsubscribed": (hours, traffic.unsubscribed)}
    shares = {name: (hours, 100 * counts / np.max(total)) for name, counts in traffic.standing.items()}
    return [
        Figure("Subscriptions and unsubscriptions", "hours", "an hour", rates, log=""),
        Figure("Standing subscriptions", "hours", "% of the most there were", shares, log="y"),
    ]


def _ccdf(histogram: Histogram) -> tuple[Int64, Floats]:
    """Return points of a CCDF, evenly on a logarithmic axis: all of the first values, and fewer later."""
    shares = histogram.ccdf()
    there = histogram.values > 0
    values, shares = histogram.values[there], shares[there]
    if not len(values):
        return values, shares
    steps = np.searchsorted(values, np.geomspace(values[0], values[-1], _POINTS))
    kept = np.unique(np.append(steps, len(values) - 1))
    return values[kept], shares[kept]


def _since(hours: Any) -> Int64:
    counted: Int64 = (hours - hours[0]).astype(np.int64) if len(hours) else np.empty(0, np.int64)
    return counted
