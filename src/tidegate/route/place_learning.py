"""Learning a place map: the partitionings by words and places, of a sample of posts and of subscriptions."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tidegate.csr import Csr, Int64, offsets_of, taken
from tidegate.errors import ConfigError
from tidegate.index.boxes import box_rows, normal_longitudes, smallest_boxes
from tidegate.index.placed import Degrees, Placed, PlacedPosts
from tidegate.query.conjunction import Conjunction
from tidegate.route.forecast import Evidence
from tidegate.route.place_map import PlaceMap
from tidegate.route.placement import is_wide
from tidegate.route.places.adjustment import adjusted_locally
from tidegate.route.places.counts import Weights, counted
from tidegate.route.places.lattice import Bounds
from tidegate.route.places.load import Costs
from tidegate.route.places.partitionings import PARTITIONINGS
from tidegate.route.places.sampled import Workload
from tidegate.route.plan import Plan
from tidegate.route.sample import Sample

# More of either make a plan slower to find, and hardly better.
_MOST_POSTS, _MOST_CONJUNCTIONS = 100_000, 100_000
# Of a hundred posts, those furthest out; a few strays must not make all cells wide.
_STRAYS = 0.1
# Degrees around the posts, so that they have an extent even where all are from one place.
_MARGIN = 0.01
# Local adjustment ends at this ratio of the highest load to the lowest, or after so many rounds by matcher.
_SIGMA, _ROUNDS = 1.1, 4


def can_learn_places(sample: Sample, evidence: Evidence) -> bool:
    """Whether posts have places, and subscriptions want them."""
    return sample.points is not None and bool(_placed(evidence))


def learn_places(plan: Plan, sample: Sample, evidence: Evidence) -> PlaceMap:
    """Learn where the queries that want a place should live, by a partitioning of PS²Stream."""
    wanted = _checked(plan, sample, evidence)
    terms = _terms(sample, wanted)
    workload = _workload(sample, wanted, terms, evidence)
    grid = PARTITIONINGS[plan.kind](workload, plan.matchers, costs=_prices(evidence))
    # Routers hear whatever the partitioning was planned for.
    return PlaceMap.of(replace(grid, hears=True), terms)


def adjusted_places(plan: Plan, current: PlaceMap, sample: Sample, evidence: Evidence) -> PlaceMap:
    """Change a plan's map as little as its balance needs, by what is asked for and posted now (PS²Stream, §V-A)."""
    wanted = _checked(plan, sample, evidence)
    known = current.knowing(_terms(sample, wanted))
    workload = _workload(sample, wanted, known.words.to_pylist(), evidence)
    prices = _prices(evidence)
    weights = Weights(prices.c1 * workload.stands_for, prices.check * workload.stands_for, prices.c2)
    counts = counted(known.grid, workload.posts, workload.placed)
    adjusted = adjusted_locally(known.grid, counts, _SIGMA, rounds=_ROUNDS * plan.matchers, weights=weights)
    return PlaceMap(adjusted.grid, known.words)


def _checked(plan: Plan, sample: Sample, evidence: Evidence) -> list[Conjunction]:
    """Return some of the conjunctions that want a place, or refuse to learn of places that there are not."""
    if sample.points is None:
        raise ConfigError(f"plan {plan} goes by places, and no post has one: name the columns they are in")
    wanted = _placed(evidence)
    if not wanted:
        raise ConfigError(f"plan {plan} goes by places, and no subscription wants one: learn another plan")
    return [wanted[number] for number in _evenly(np.arange(len(wanted)), _MOST_CONJUNCTIONS)]


def _placed(evidence: Evidence) -> list[Conjunction]:
    return [one for query in evidence.asked.queries for one in query.conjunctions if one.regions]


def _prices(evidence: Evidence) -> Costs:
    """The prices of Definition 1: a visit as measured here, checks as fitted once and for all.

    Updates cost a matcher nothing, as segments are compiled elsewhere.
    """
    return Costs(c2=evidence.costs.visit + evidence.costs.read, c3=0.0, c4=0.0)


def _terms(sample: Sample, wanted: Sequence[Conjunction]) -> list[str]:
    """Return the words of the posts and of the conjunctions by falling frequency."""
    words = sample.words.to_pylist()
    seen = set(words)
    unseen = [term for term in dict.fromkeys(term for one in wanted for term in one.positive) if term not in seen]
    # No sample lists what a prefix stands for: to be safe, it is commoner than any word.
    return [*filter(is_wide, unseen), *words, *(term for term in unseen if not is_wide(term))]


def _workload(sample: Sample, wanted: Sequence[Conjunction], terms: Sequence[str], evidence: Evidence) -> Workload:
    """Return posts and conjunctions in the same terms."""
    numbers = {term: number for number, term in enumerate(terms)}
    boxes = [smallest_boxes(one.regions) for one in wanted]
    values = np.array([numbers[term] for one in wanted for term in one.positive], np.int32)
    sets = Csr(offsets_of([len(one.positive) for one in wanted]), values)
    of_box = np.repeat(np.arange(len(wanted)), [len(some) for some in boxes])

    posts = _evenly(np.flatnonzero(~np.isnan(sample.at.lat)), _MOST_POSTS)
    rows, at = taken(sample.posts, posts), sample.at.only(posts)
    number_of = np.array([numbers[word] for word in sample.words.to_pylist()], np.int32)
    lon = normal_longitudes(at.lat, at.lon)
    return Workload(
        PlacedPosts(Csr(rows.offsets, number_of[rows.values]), at.lat, lon),
        Placed(taken(sets, of_box), box_rows(boxes)),
        _bounds(at.lat, lon),
        evidence.subscriptions / max(len(evidence.asked.ids), 1) * len(_placed(evidence)) / len(wanted),
    )


def _evenly(rows: Int64, most: int) -> Int64:
    return rows[np.linspace(0, len(rows) - 1, min(most, len(rows))).astype(np.int64)]


def _bounds(lat: Degrees, lon: Degrees) -> Bounds:
    """Return the part of the earth that nearly all of these are in."""
    (south, north), (west, east) = (np.percentile(axis, [_STRAYS, 100 - _STRAYS]).tolist() for axis in (lat, lon))
    return west - _MARGIN, south - _MARGIN, east + _MARGIN, north + _MARGIN
