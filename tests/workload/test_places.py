"""Generated posts and searches have the words, the places and the mixture that PS²Stream §VI describes."""

import numpy as np
import pytest

from tidegate.errors import ConfigError
from tidegate.index.placed import EAST, NORTH, SOUTH, WEST
from tidegate.workload import places
from tidegate.workload.places import COUNTRIES, FREQUENT, Q1, Q2, PlacedQueries, kinds_of_regions, objects, searches

KM = 111.195
every_country = pytest.mark.parametrize("country", COUNTRIES)


def sides(found: PlacedQueries, country: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Height and width in kilometres, and the region of the centre, of every square that no border cuts."""
    extent, boxes = COUNTRIES[country], found.placed.boxes
    whole = (
        (boxes[:, WEST] > extent.west)
        & (boxes[:, EAST] < extent.east)
        & (boxes[:, SOUTH] > extent.south)
        & (boxes[:, NORTH] < extent.north)
    )
    boxes = boxes[whole]
    lat, lon = (boxes[:, SOUTH] + boxes[:, NORTH]) / 2, (boxes[:, WEST] + boxes[:, EAST]) / 2
    height = KM * (boxes[:, NORTH] - boxes[:, SOUTH])
    width = KM * np.cos(np.radians(lat)) * (boxes[:, EAST] - boxes[:, WEST])
    return height, width, places.regions_of(lat, lon, country)


def rarest(found: PlacedQueries) -> np.ndarray:
    """The highest rank of every conjunction."""
    sets = found.placed.sets
    return np.maximum.reduceat(sets.values, sets.offsets[:-1])


@every_country
def test_posts_have_three_to_fifteen_distinct_terms_and_a_place_in_the_country(country: str) -> None:
    terms, lat, lon = objects(20_000, seed=1, country=country)
    assert set(np.diff(terms.offsets).tolist()) == set(range(3, 16))
    assert np.diff(terms.offsets).mean() == pytest.approx(7.0, abs=0.1)
    assert all(len(set(terms.row(i).tolist())) == len(terms.row(i)) for i in range(2000))
    assert 0 <= terms.values.min() <= terms.values.max() < places.VOCABULARY
    extent = COUNTRIES[country]
    assert ((extent.west <= lon) & (lon <= extent.east) & (extent.south <= lat) & (lat <= extent.north)).all()


@every_country
def test_most_people_live_in_little_of_the_country(country: str) -> None:
    _, lat, lon = objects(100_000, seed=1, country=country)
    extent = COUNTRIES[country]
    edges = [(extent.south, extent.north), (extent.west, extent.east)]
    counts = np.sort(np.histogram2d(lat, lon, 100, edges)[0].ravel())[::-1]
    assert counts[:100].sum() > 0.3 * len(lat), "the densest hundredth of the area"
    assert np.count_nonzero(counts) > 5000, "and yet somebody lives nearly everywhere"


@every_country
def test_a_term_is_the_less_frequent_the_higher_its_rank(country: str) -> None:
    terms, _, _ = objects(200_000, seed=1, country=country)
    counts = np.bincount(terms.values, minlength=places.VOCABULARY)
    by_octave = [counts[2**k - 1 : 2 ** (k + 1) - 1].mean() for k in range(16)]
    assert (np.diff(by_octave) < 0).all()
    assert 0.02 < counts[0] / terms.rows < 0.1
    assert 0.92 < counts[:FREQUENT].sum() / counts.sum() < 0.94, "the top 1 %"


def test_beyond_the_frequent_terms_the_law_is_steeper_but_has_no_step() -> None:
    terms, _, _ = objects(500_000, seed=1)
    counts = np.bincount(terms.values, minlength=places.VOCABULARY)

    def often(rank: int) -> float:
        return float(counts[rank * 9 // 10 : rank * 11 // 10].mean())

    assert often(1000) / often(4000) == pytest.approx(4.0, rel=0.2), "exponent 1"
    assert often(20_000) / often(40_000) > 2**2.5, "exponent 3 or so"
    assert often(9000) / often(11_000) < 2.5


def test_regions_prefer_words_of_their_own() -> None:
    terms, lat, lon = objects(300_000, seed=1)
    regions = np.repeat(places.regions_of(lat, lon), np.diff(terms.offsets))
    first, second = np.argsort(np.bincount(regions))[-2:]
    law = [np.bincount(terms.values[regions == region], minlength=places.VOCABULARY) for region in (first, second)]
    shares = [counts / counts.sum() for counts in law]
    local = np.argsort(shares[0] - shares[1])[-10:]
    assert (shares[0][local] > 5 * shares[1][local]).all()
    common = np.minimum(*shares).sum()
    assert 0.5 < common < 0.9, "the share of words that two regions have in common"


@every_country
@pytest.mark.parametrize(("kind", "longest"), [("q1", 50.0), ("q2", 100.0)])
def test_squares_have_sides_from_one_kilometre_to_the_longest_alike(country: str, kind: str, longest: float) -> None:
    height, width, _ = sides(searches(20_000, kind, seed=1, country=country), country)
    assert np.allclose(height, width, rtol=1e-6)
    assert 1.0 - 1e-6 <= height.min() < 1.5
    assert longest - 1.0 < height.max() <= longest + 1e-6
    quarters = np.histogram(height, 4, (1.0, longest))[0] / len(height)
    assert np.abs(quarters - 0.25).max() < 0.03  # squares that a border cuts are the larger ones


@every_country
def test_boxes_end_at_the_border(country: str) -> None:
    extent, boxes = COUNTRIES[country], searches(20_000, "q2", seed=1, country=country).placed.boxes
    assert (boxes[:, [WEST, SOUTH]] >= [extent.west, extent.south]).all()
    assert (boxes[:, [EAST, NORTH]] <= [extent.east, extent.north]).all()
    assert (boxes[:, [WEST, SOUTH]] < boxes[:, [EAST, NORTH]]).all()


def test_one_to_three_keywords_are_joined_by_and_or_by_or_alike() -> None:
    found = searches(30_000, "q1", seed=1)
    words = np.bincount(found.query_of, np.diff(found.placed.sets.offsets), minlength=found.queries)
    conjunctions = np.bincount(found.query_of, minlength=found.queries)
    assert np.abs(np.bincount(words.astype(int))[1:] / found.queries - 1 / 3).max() < 0.02
    several = words > 1
    either, all_of = conjunctions == words, conjunctions == 1
    assert (either | all_of).all()
    assert abs(either[several].mean() - 0.5) < 0.02
    assert (np.diff(found.query_of) >= 0).all()


def test_the_keywords_of_a_query_are_distinct_and_its_conjunctions_share_its_square() -> None:
    found = searches(3000, "q1", seed=1)
    sets, boxes = found.placed
    for query in range(found.queries):
        rows = np.flatnonzero(found.query_of == query).tolist()
        words = np.concatenate([sets.row(row) for row in rows])
        assert len(set(words.tolist())) == len(words)
        assert (boxes[rows] == boxes[rows[0]]).all()


def test_keywords_of_q1_follow_the_words_of_posts() -> None:
    terms, _, _ = objects(50_000, seed=1)
    keywords = searches(200_000, "q1", seed=2).placed.sets.values
    edges = [0, 10, 100, 1000, 10_000, places.VOCABULARY]
    posts, queries = (np.histogram(values, edges)[0] / len(values) for values in (terms.values, keywords))
    assert np.abs(posts - queries).max() < 0.01


def test_every_conjunction_of_q2_asks_for_a_term_that_is_not_frequent() -> None:
    assert rarest(searches(20_000, "q2", seed=1)).min() >= FREQUENT
    assert 0.85 < (rarest(searches(20_000, "q1", seed=1)) < FREQUENT).mean() < 0.95


def test_further_keywords_of_q2_are_frequent_where_all_are_asked_for_and_never_where_any_is() -> None:
    found = searches(50_000, "q2", seed=1)
    lengths, conjunctions = np.diff(found.placed.sets.offsets), np.bincount(found.query_of)
    frequent = np.bincount(np.repeat(np.arange(len(lengths)), lengths), found.placed.sets.values < FREQUENT)
    assert 0.85 < frequent[lengths == 2].mean() < 0.98
    assert frequent[conjunctions[found.query_of] > 1].sum() == 0


def test_regions_of_q3_are_of_one_kind_each() -> None:
    kinds = kinds_of_regions(5)
    assert np.bincount(kinds).tolist() == [0, 50, 50]
    found = searches(60_000, "q3", seed=1, kinds=kinds)
    height, _, regions = sides(found, "us")
    longest = np.zeros(100)
    np.maximum.at(longest, regions, height)
    assert (longest[kinds == Q1] <= 50.0 + 1e-6).all()
    assert (longest[kinds == Q2] > 50.0).mean() > 0.9
    switched = searches(60_000, "q3", seed=1, kinds=(Q1 + Q2 - kinds).astype(np.int8))
    assert not np.array_equal(switched.placed.boxes, found.placed.boxes)


def test_kinds_are_those_of_the_seed_unless_given() -> None:
    by_default, given = searches(500, "q3", 7), searches(500, "q3", 7, kinds=kinds_of_regions(7))
    assert np.array_equal(by_default.placed.boxes, given.placed.boxes)
    alike = searches(500, "q3", 7, kinds=np.full(100, Q2, np.int8))
    assert np.array_equal(alike.placed.boxes, searches(500, "q2", 7).placed.boxes)


def test_lifetimes_are_normal_about_their_mean_and_at_least_one() -> None:
    lives = places.lifetimes(100_000, 10_000, seed=1)
    assert abs(lives.mean() - 10_000) < 30
    assert abs(lives.std() - 2000) < 30
    assert places.lifetimes(1000, 1, seed=1).min() == 1


@every_country
def test_a_seed_determines_posts_searches_and_lifetimes(country: str) -> None:
    def drawn(seed: int) -> list[np.ndarray]:
        terms, lat, lon = objects(300, seed, country)
        found = searches(300, "q3", seed, country)
        return [terms.values, lat, lon, found.placed.sets.values, found.placed.boxes, places.lifetimes(300, 100, seed)]

    assert all(np.array_equal(once, again) for once, again in zip(drawn(3), drawn(3), strict=True))
    assert not any(np.array_equal(once, other) for once, other in zip(drawn(3), drawn(4), strict=True))


def test_none_are_none() -> None:
    assert objects(0, seed=1)[0].rows == 0
    assert searches(0, "q1", seed=1).placed.rows == 0


def test_unknown_countries_and_kinds_are_refused_by_name() -> None:
    with pytest.raises(ConfigError, match="no country 'atlantis': there are us, uk"):
        objects(1, seed=1, country="atlantis")
    with pytest.raises(ConfigError, match="no queries of kind 'q4'"):
        searches(1, "q4", seed=1)
    with pytest.raises(ConfigError, match="100 numbers, each 1 or 2"):
        searches(1, "q3", seed=1, kinds=np.zeros(100, np.int8))
