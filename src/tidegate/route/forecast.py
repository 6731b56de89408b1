"""Forecasts: what a plan would do to a cluster, from a sample of its posts and subscriptions.

Posts and subscriptions are really placed and routed; only the clock is a model.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tidegate.csr import Int64
from tidegate.index.asked import Asked
from tidegate.route.costs import Cluster, Costs, in_terms_of
from tidegate.route.hot_words import post_hashes
from tidegate.route.measures import Measured
from tidegate.route.place_map import PlaceMap
from tidegate.route.placement import HEAD, Placement, place
from tidegate.route.plan import Plan
from tidegate.route.router import Router
from tidegate.route.sample import Sample
from tidegate.route.word_map import WordMap
from tidegate.text.analyzer import Analyzer


@dataclass(frozen=True)
class Forecast:
    """Of one plan."""

    plan: Plan
    spread: float
    """Visits of a post."""
    imbalance: float
    """The visits of the busiest matcher over the mean."""
    head: float
    """The share of subscriptions that every host has."""
    router_us: float
    """By post: what receiving and routing it costs, and matching the head."""
    matcher_us: float
    """By post: what it costs the busiest matcher."""
    throughput: float
    """Posts a second, of all matchers together."""
    host_bytes: float
    """The most that a host needs for subscriptions."""
    fits: bool


@dataclass(frozen=True)
class Evidence:
    """What a forecast goes by."""

    posts: Sample
    """Not those that a map was learned from, if it is to be fair."""
    asked: Asked
    """Subscriptions, or a sample of them."""
    subscriptions: int
    """How many there are in all."""
    costs: Costs
    cluster: Cluster


def forecast(plan: Plan, words: WordMap | None, evidence: Evidence, places: PlaceMap | None = None) -> Forecast:
    """Return what a plan would do, with the maps that it has learned."""
    costs, cluster = evidence.costs, evidence.cluster
    if not plan.partitions:
        router_us = costs.read + costs.match(evidence.subscriptions)
        host_bytes = costs.subscription_bytes * evidence.subscriptions
        throughput = 1e6 * cluster.matchers / router_us
        return Forecast(plan, 0.0, 1.0, 1.0, router_us, 0.0, throughput, host_bytes, host_bytes <= cluster.host_bytes)
    placement = place(evidence.asked.queries, plan, words, _asking(evidence.asked), places)
    measured = visited(placement, evidence.posts)
    held = _held(placement, evidence)
    router_us = costs.read + costs.route + costs.match(held[HEAD])
    each = [costs.visit + costs.read + costs.match(held[matcher]) for matcher in range(plan.matchers)]
    matcher_us = float(np.max(measured.loads * each) / max(measured.posts, 1))
    throughput = 1e6 / (router_us / cluster.matchers + matcher_us)
    most = np.sort(held[: plan.matchers])[::-1][: cluster.per_host].sum()
    host_bytes = costs.subscription_bytes * float(held[HEAD] + most)
    return Forecast(
        plan,
        measured.spread,
        measured.imbalance,
        float(held[HEAD] / max(evidence.subscriptions, 1)),
        router_us,
        matcher_us,
        throughput,
        host_bytes,
        host_bytes <= cluster.host_bytes,
    )


def visited(placement: Placement, posts: Sample) -> Measured:
    """Route posts to a placement and count the visits; a post's number stands for its id."""
    router = Router.build(placement, Analyzer())
    hashes = post_hashes(pa.array(np.arange(len(posts)))) if router.draws else None
    visits = router.route_read(in_terms_of(posts, router.keys), hashes, posts.points)
    return Measured(len(posts), np.bincount(visits.matchers.values, minlength=placement.matchers))


def _asking(asked: Asked) -> Int64:
    return np.bincount(asked.query_of, minlength=len(asked.queries))


def _held(placement: Placement, evidence: Evidence) -> Int64:
    """By matcher, and last, where `HEAD` points, for the head: how many of all subscriptions it holds."""
    asking = np.repeat(_asking(evidence.asked), np.diff(placement.homes.offsets))
    held = np.bincount(placement.homes.values % (placement.matchers + 1), asking, placement.matchers + 1)
    scale = evidence.subscriptions / max(len(evidence.asked.ids), 1)
    return (held * scale).astype(np.int64)
