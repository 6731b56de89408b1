"""Plans by words and places, learned from posts with places and subscriptions that want them."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from tidegate.errors import ConfigError
from tidegate.index.asked import Asked
from tidegate.route.costs import Cluster, Costs
from tidegate.route.forecast import Evidence, visited
from tidegate.route.learning import alternatives, best, learned
from tidegate.route.place_learning import can_learn_places
from tidegate.route.placement import place
from tidegate.route.plan import BY_PLACE, Plan
from tidegate.route.sample import Sample
from tidegate.text.analyzer import Analyzer

ANALYZER = Analyzer()
WORDS = np.array(["storm", "flood", "rain", "wind", "goal", "match", "train", "pizza"])
COSTS = Costs(0.5, 0.2, 2.0, (100.0, 1_000_000.0), (0.1, 5.0), 60.0)


def posts(n: int, seed: int) -> pa.Table:
    """Posts of three words out of eight from anywhere in a square of ten degrees, one in ten without a place."""
    generator = np.random.default_rng(seed)
    texts = [" ".join(WORDS[generator.choice(len(WORDS), 3, replace=False)]) for _ in range(n)]
    nowhere = np.arange(n) % 10 == 0
    lat, lon = (pa.array(generator.uniform(0, 10, n), mask=nowhere) for _ in range(2))
    return pa.table({"text": texts, "lat": lat, "lon": lon})


def searches(n: int, seed: int) -> list[str]:
    """One common word in a small rectangle."""
    generator = np.random.default_rng(seed)
    corners = generator.uniform(0, 9.5, (n, 2)).round(3)
    words = WORDS[generator.integers(0, len(WORDS), n)]
    return [f"{word} in:({w},{s},{w + 0.4:.3f},{s + 0.4:.3f})" for word, (w, s) in zip(words, corners, strict=True)]


def evidence(queries: list[str], host_bytes: float = float("inf")) -> Evidence:
    asked, refused = Asked.read([str(number) for number in range(len(queries))], queries, ANALYZER)
    assert not refused
    sample = Sample.of(posts(1_000, 3), ANALYZER)
    return Evidence(sample, asked, 1_000_000, COSTS, Cluster(4, 1, host_bytes))


SAMPLE = Sample.of(posts(3_000, 1), ANALYZER)
SEARCHES = searches(2_000, 2)


def test_where_common_words_are_asked_for_in_small_places_hybrid_is_chosen() -> None:
    every = {one.plan.kind: one for one in alternatives(SAMPLE, evidence(SEARCHES, host_bytes=30e6))}
    assert list(every) == ["replicate", "hash", "salb", "refined", "headtail", "hybrid", "kd_tree"]
    assert best(list(every.values())).plan.kind == "hybrid"
    assert every["hybrid"].forecast.throughput > 1.5 * every["refined"].forecast.throughput
    assert every["hybrid"].forecast.spread < 1.2, "a post visits hardly more than the matcher of its cell"


@pytest.mark.parametrize("kind", BY_PLACE)
def test_every_partitioning_makes_a_plan_that_shares_out_the_work(kind: str) -> None:
    given = evidence(SEARCHES)
    found = learned(Plan(kind, 4), SAMPLE, given)
    assert found.words is not None
    assert found.places is not None
    assert found.places.matchers == 4
    placement = place(given.asked.queries, found.plan, found.words, places=found.places)
    assert np.bincount(placement.homes.values, minlength=4).min() > 0
    assert visited(placement, given.posts).loads.min() > 0
    assert (np.diff(placement.homes.offsets) >= 1).all()


def test_posts_without_a_place_visit_nobody_for_the_sake_of_one() -> None:
    given = evidence(SEARCHES)
    found = learned(Plan("hybrid", 4), SAMPLE, given)
    placement = place(given.asked.queries, found.plan, found.words, places=found.places)
    assert visited(placement, replace(given.posts, points=None)).loads.sum() == 0


def test_without_places_there_is_nothing_to_go_by() -> None:
    nowhere = Sample.of(posts(100, 1).select(["text"]), ANALYZER)
    assert not can_learn_places(nowhere, evidence(SEARCHES))
    assert not can_learn_places(SAMPLE, evidence(["storm", "flood rain"]))
    with pytest.raises(ConfigError, match="plan hybrid:4 goes by places, and no post has one: name the columns"):
        learned(Plan("hybrid", 4), nowhere, evidence(SEARCHES))
    with pytest.raises(ConfigError, match="plan grid:4 goes by places, and no subscription wants one"):
        learned(Plan("grid", 4), SAMPLE, evidence(["storm", "flood rain"]))


def test_a_sample_keeps_the_points_of_its_posts() -> None:
    part = SAMPLE.only([7, 20, 3])
    assert part.points is not None
    assert np.array_equal(part.points.lat, SAMPLE.at.lat[[7, 20, 3]], equal_nan=True)
    nowhere = Sample.of(pa.table({"text": ["storm", "flood"]}), ANALYZER)
    assert nowhere.points is None
    joined = Sample.joined([nowhere, part])
    assert np.array_equal(joined.at.lon[2:], part.points.lon, equal_nan=True)
    assert np.isnan(joined.at.lat[:2]).all()
