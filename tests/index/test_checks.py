"""The kernel that verifies places is the twin of the definition, down to the last bit."""

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from tidegate.csr import from_rows
from tidegate.index.checks import NO_CHECKS, Checks, passes, post_columns
from tidegate.query.conjunction import Conjunction
from tidegate.query.region import Circle, Rectangle, Region, circle, rectangle
from tidegate.text.analyzer import Analyzer
from tidegate.text.lexicon import Lexicon
from tidegate.text.posts import Posts

latitudes = st.one_of(st.sampled_from([-90.0, 0.0, 90.0]), st.floats(-90, 90))
longitudes = st.one_of(st.sampled_from([-180.0, 0.0, 180.0]), st.floats(-180, 180))
rectangles = st.builds(
    lambda w, e, s, n: Rectangle(w, min(s, n), e, max(s, n)), longitudes, longitudes, latitudes, latitudes
)
circles = st.builds(Circle, latitudes, longitudes, st.floats(0.001, 20_040))


def kernel_contains(region: Region, lat: float, lon: float) -> bool:
    checks = Checks()
    at = checks.add(Conjunction(("has:place",), regions=(region,)), Lexicon(Analyzer()))
    empty = from_rows([[]])
    posts = Posts(empty, None, np.array([lat]), np.array([lon]))
    return bool(passes(checks.arrays, at, post_columns(posts), 0, np.zeros(1, np.int32)))


@given(st.one_of(rectangles, circles), latitudes, longitudes)
@example(rectangle(170, -20, -170, 20), 0.0, -180.0)
@example(circle(0, 179, 300), 0.0, -179.5)
@example(circle(90, 0, 1), 90.0, 123.0)
def test_a_place_is_where_the_definition_says(region: Region, lat: float, lon: float) -> None:
    assert kernel_contains(region, lat, lon) == region.contains(lat, lon)


def test_a_post_without_a_place_is_in_no_region() -> None:
    assert not kernel_contains(rectangle(-180, -90, 180, 90), np.nan, np.nan)


def test_a_conjunction_of_words_alone_has_no_checks() -> None:
    checks = Checks()
    assert checks.add(Conjunction(("storm",)), Lexicon(Analyzer())) == NO_CHECKS
    assert not checks.reads_phrases


def test_more_regions_than_the_first_buffer_holds_are_kept_apart() -> None:
    lexicon = Lexicon(Analyzer())
    checks = Checks()
    regions = [rectangle(i, 0, i + 1, 1) for i in range(40)]
    starts = [checks.add(Conjunction(("has:place",), regions=(region,)), lexicon) for region in regions]
    posts = Posts(from_rows([[]]), None, np.array([0.5]), np.array([7.5]))
    inside = [bool(passes(checks.arrays, at, post_columns(posts), 0, np.zeros(1, np.int32))) for at in starts]
    assert [i for i, is_inside in enumerate(inside) if is_inside] == [7]


def test_checks_end_where_they_end() -> None:
    checks = Checks()
    checks.add(Conjunction(("has:place",), regions=(rectangle(0, 0, 10, 10),)), Lexicon(Analyzer()))
    assert checks.arrays.words.tolist() == [0, 0, 0, 1, 0, 0]
    assert checks.arrays.regions.shape == (1, 5)
