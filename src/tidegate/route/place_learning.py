"""Learning a place map: the partitionings by words and places, of a sample of posts and of subscriptions."""

from collections.abc import Sequence

import numpy as np

from tidegate.csr import Csr, Int64, offsets_of, taken
from tidegate.errors import ConfigError
from tidegate.index.boxes import box_rows, normal_longitudes, smallest_boxes
from tidegate.index.placed import Degrees, Placed, PlacedPosts
from tidegate.query.conjunction import Conjunction
from tidegate.route.forecast import Evidence
from tidegate.route.place_map import PlaceMap
from tidegate.route.placement import is_wide
from tidegate.route.places.lattice import Bounds
from tidegate.route.places.load import Costs
from tidegate.route.places.partitionings import PARTITIONINGS
from tidegate.route.places.sampled import Workload
from tidegate.route.plan import Plan
from tidegate.route.sample import Points, Sample

# More of either make a plan slower to find, and hardly better.
_MOST_POSTS, _MOST_CONJUNCTIONS = 100_000, 100_000
# Of a hundred posts, those furthest out; a few strays must not make all cells wide.
_STRAYS = 0.1
# Degrees around the posts, so that they have an extent even where all are from one place.
_MARGIN = 0.01


def can_learn_places(sample: Sample, evidence: Evidence) -> bool:
    """Whether posts have places, and subscriptions want them."""
    return sample.points is not None and bool(_placed(evidence))


def learn_places(plan: Plan, sample: Sample, evidence: Evidence) -> PlaceMap:
    """Learn where the queries that want a place should live, by a partitioning of PS²Stream."""
    if sample.points is None:
        raise ConfigError(f"plan {plan} goes by places, and no post has one: name the columns with --lat and --lon")
    wanted = _placed(evidence)
    if not wanted:
        raise ConfigError(f"plan {plan} goes by places, and no subscription wants one: learn another plan")
    workload, words = _workload(sample, sample.points, wanted, evidence)
    costs = evidence.costs
    # Updates cost a matcher nothing here: they come in segments that are compiled elsewhere.
    prices = Costs(c2=costs.visit + costs.read, c3=0.0, c4=0.0)
    return PlaceMap.of(PARTITIONINGS[plan.kind](workload, plan.matchers, costs=prices), words)


def _placed(evidence: Evidence) -> list[Conjunction]:
    return [one for query in evidence.asked.queries for one in query.conjunctions if one.regions]


def _workload(
    sample: Sample, points: Points, wanted: Sequence[Conjunction], evidence: Evidence
) -> tuple[Workload, list[str]]:
    """Return posts and conjunctions in the same terms, by falling frequency, and the terms."""
    posts = _evenly(np.flatnonzero(~np.isnan(points.lat)), _MOST_POSTS)
    chosen = [wanted[number] for number in _evenly(np.arange(len(wanted)), _MOST_CONJUNCTIONS)]
    asked = dict.fromkeys(term for one in chosen for term in one.positive)
    seen = set(sample.words.to_pylist())
    unseen = [term for term in asked if term not in seen]
    # No sample lists what a prefix stands for: to be safe, it is commoner than any word.
    wide = [term for term in unseen if is_wide(term)]
    terms = [*wide, *sample.words.to_pylist(), *(term for term in unseen if not is_wide(term))]
    numbers = {term: number for number, term in enumerate(terms)}

    boxes = [smallest_boxes(one.regions) for one in chosen]
    values = np.array([numbers[term] for one in chosen for term in one.positive], np.int32)
    sets = Csr(offsets_of([len(one.positive) for one in chosen]), values)
    of_box = np.repeat(np.arange(len(chosen)), [len(some) for some in boxes])
    rows = taken(sample.posts, posts)
    lat, lon = points.lat[posts], normal_longitudes(points.lat[posts], points.lon[posts])
    stands_for = evidence.subscriptions / max(len(evidence.asked.ids), 1) * len(wanted) / len(chosen)
    return Workload(
        PlacedPosts(Csr(rows.offsets, rows.values + np.int32(len(wide))), lat, lon),
        Placed(taken(sets, of_box), box_rows(boxes)),
        _bounds(lat, lon),
        stands_for,
    ), terms


def _evenly(rows: Int64, most: int) -> Int64:
    return rows[np.linspace(0, len(rows) - 1, min(most, len(rows))).astype(np.int64)]


def _bounds(lat: Degrees, lon: Degrees) -> Bounds:
    """Return the part of the earth that nearly all of these are in."""
    (south, north), (west, east) = (np.percentile(axis, [_STRAYS, 100 - _STRAYS]).tolist() for axis in (lat, lon))
    return west - _MARGIN, south - _MARGIN, east + _MARGIN, north + _MARGIN
