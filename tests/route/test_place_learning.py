"""Plans by words and places, learned from posts with places and subscriptions that want them."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from tidegate.errors import ConfigError
from tidegate.index.asked import Asked
from tidegate.route.costs import Cluster, Costs
from tidegate.route.forecast import Evidence, forecast, visited
from tidegate.route.learning import Learned, alternatives, best, learned, readjusted
from tidegate.route.place_learning import adjusted_places, can_learn_places
from tidegate.route.place_map import PlaceMap
from tidegate.route.placement import place
from tidegate.route.plan import BY_PLACE, Plan
from tidegate.route.sample import Sample
from tidegate.text.analyzer import Analyzer

ANALYZER = Analyzer()
WORDS = np.array(["storm", "flood", "rain", "wind", "goal", "match", "train", "pizza"])
COSTS = Costs(0.5, 0.2, 2.0, (100.0, 1_000_000.0), (0.1, 5.0), 60.0)


def posts(n: int, seed: int, side: float = 10.0) -> pa.Table:
    """Posts of three words out of eight from anywhere in a square, by default of ten degrees; a tenth from nowhere."""
    generator = np.random.default_rng(seed)
    texts = [" ".join(WORDS[generator.choice(len(WORDS), 3, replace=False)]) for _ in range(n)]
    nowhere = np.arange(n) % 10 == 0
    lat, lon = (pa.array(generator.uniform(0, side, n), mask=nowhere) for _ in range(2))
    return pa.table({"text": texts, "lat": lat, "lon": lon})


def searches(n: int, seed: int) -> list[str]:
    """One common word in a small rectangle."""
    generator = np.random.default_rng(seed)
    corners = generator.uniform(0, 9.5, (n, 2)).round(3)
    words = WORDS[generator.integers(0, len(WORDS), n)]
    return [f"{word} in:({w},{s},{w + 0.4:.3f},{s + 0.4:.3f})" for word, (w, s) in zip(words, corners, strict=True)]


def evidence(queries: list[str], host_bytes: float = float("inf"), side: float = 10.0) -> Evidence:
    asked, refused = Asked.read([str(number) for number in range(len(queries))], queries, ANALYZER)
    assert not refused
    sample = Sample.of(posts(1_000, 3, side), ANALYZER)
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
    with pytest.raises(ConfigError, match="plan hybrid:4 goes by places, and no post has one: name the"):
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


def test_a_map_is_adjusted_to_where_posts_come_from_now() -> None:
    current = learned(Plan("hybrid", 4), SAMPLE, evidence(SEARCHES))
    assert current.places is not None
    # From now on, nobody is in the north or in the east.
    moved, given = Sample.of(posts(3_000, 5, side=5.0), ANALYZER), evidence(SEARCHES, side=5.0)
    before = forecast(current.plan, current.words, given, current.places)
    adjusted = adjusted_places(current.plan, current.places, moved, given)
    after = forecast(current.plan, current.words, given, adjusted)
    assert before.imbalance > 2.5, "one matcher had the whole quarter"
    assert after.imbalance < 0.6 * before.imbalance
    assert after.throughput > 1.3 * before.throughput
    same = np.count_nonzero(adjusted.grid.where == current.places.grid.where)
    assert same > 0.5 * adjusted.lattice.cells, "most cells stay where they are"


def test_a_plan_is_learned_anew_only_where_that_is_worth_it() -> None:
    given = evidence(SEARCHES)
    current = learned(Plan("hybrid", 4), SAMPLE, given)
    again = readjusted(current, SAMPLE, given)
    assert again.words is current.words
    one_for_all = replace(current, places=everything_at_one(current))
    better = readjusted(one_for_all, SAMPLE, given)
    assert better.forecast.throughput > 0.9 * current.forecast.throughput
    with pytest.raises(ConfigError, match="plan hash:4 does not go by places"):
        readjusted(learned(Plan.hash(4), SAMPLE, given), SAMPLE, given)


def everything_at_one(current: Learned) -> PlaceMap:
    assert current.places is not None
    grid = current.places.grid
    return PlaceMap(replace(grid, where=np.zeros_like(grid.where)), current.places.words)
