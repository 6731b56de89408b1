from math import isclose, pi

import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from tidegate.query.region import (
    EARTH_RADIUS_KM,
    MAX_RADIUS_KM,
    Circle,
    Polygon,
    Rectangle,
    RegionError,
    great_circle_km,
    polygon,
    rectangle,
)

latitudes = st.floats(-90, 90)
longitudes = st.floats(-180, 180)


@pytest.mark.parametrize(
    ("lat", "lon", "inside"),
    [
        (0, 175, True),
        (0, -175, True),
        (0, 180, True),
        (0, -180, True),
        (0, 170, True),
        (0, 169.9, False),
        (0, 0, False),
    ],
)
def test_west_above_east_is_across_the_antimeridian(lat: float, lon: float, inside: bool) -> None:
    assert Rectangle(170, -10, -170, 10).contains(lat, lon) is inside


def test_the_antimeridian_bounds_a_rectangle_under_both_its_names() -> None:
    assert Rectangle(170, -10, 180, 10).contains(0, -180)
    assert Rectangle(-180, -10, -170, 10).contains(0, 180)
    assert not Rectangle(170, -10, 179, 10).contains(0, -180)


def test_a_pole_is_in_every_rectangle_that_reaches_it() -> None:
    assert Rectangle(0, 80, 10, 90).contains(90, -120)
    assert not Rectangle(0, 80, 10, 89).contains(90, 5)


def test_boundaries_are_inside() -> None:
    square = Rectangle(0, 0, 10, 10)
    assert all(square.contains(lat, lon) for lat in (0, 10) for lon in (0, 10))
    assert not square.contains(10.000001, 5)
    quarter = great_circle_km(0, 0, 0, 90)
    assert Circle(0, 0, quarter).contains(0, 90)


def test_a_circle_over_the_pole_holds_points_of_every_longitude() -> None:
    arctic = Circle(89, 0, 500)
    assert all(arctic.contains(87, lon) for lon in range(-180, 181, 30))


def test_distances_are_those_of_the_sphere() -> None:
    assert isclose(great_circle_km(0, 0, 0, 180), pi * EARTH_RADIUS_KM)
    assert isclose(great_circle_km(90, 17, -90, -4), pi * EARTH_RADIUS_KM)
    # Paris to London.
    assert great_circle_km(48.8566, 2.3522, 51.5074, -0.1278) == pytest.approx(343.6, abs=0.5)


@settings(deadline=None)
@given(latitudes, longitudes, latitudes, longitudes)
def test_the_largest_circle_holds_every_point(lat: float, lon: float, lat2: float, lon2: float) -> None:
    assert Circle(lat, lon, MAX_RADIUS_KM).contains(lat2, lon2)


@settings(deadline=None)
@given(st.tuples(latitudes, latitudes).map(sorted), longitudes, longitudes, latitudes, longitudes)
def test_a_rectangle_and_the_rest_of_its_zone_share_only_their_edges(
    zone: list[float], west: float, east: float, lat: float, lon: float
) -> None:
    south, north = zone
    if south == north or west == east or abs(west) == 180 or abs(east) == 180:
        return
    inside = rectangle(west, south, east, north).contains(lat, lon)
    in_rest = rectangle(east, south, west, north).contains(lat, lon)
    assert (inside or in_rest) is (south <= lat <= north)
    assert not (inside and in_rest) or lon in (west, east) or abs(lat) == 90


@settings(deadline=None)
@given(longitudes, st.floats(1, 20000), latitudes)
def test_a_circle_around_a_pole_is_a_cap(lon: float, radius: float, lat: float) -> None:
    distance = (90 - lat) / 180 * pi * EARTH_RADIUS_KM
    if not isclose(distance, radius, rel_tol=1e-6):
        assert Circle(90, 0, radius).contains(lat, lon) is (distance <= radius)


grid = st.integers(-6, 6).map(float)


@given(st.lists(st.tuples(grid, grid), min_size=3, max_size=9), grid, grid)
def test_a_polygon_holds_what_shapely_says_borders_included(
    corners: list[tuple[float, float]], lat: float, lon: float
) -> None:
    try:
        region = polygon(corners)
    except RegionError:
        return
    assert region.contains(lat, lon) == shapely.intersects_xy(shapely.Polygon(corners), lon, lat)


@given(st.lists(st.tuples(grid, grid), min_size=3, max_size=6), st.integers(0, 5), st.booleans())
def test_a_polygon_has_one_spelling(corners: list[tuple[float, float]], turn: int, backwards: bool) -> None:
    try:
        region = polygon(corners)
    except RegionError:
        return
    other = corners[turn % len(corners) :] + corners[: turn % len(corners)]
    assert polygon([*other, other[0]][:: -1 if backwards else 1]) == region


def test_a_polygon_knows_poles_and_the_antimeridian() -> None:
    assert Polygon(((0, 80), (10, 80), (5, 90))).contains(90, -120)
    assert not Polygon(((0, 80), (10, 80), (5, 89))).contains(90, 5)
    assert Polygon(((170, -10), (180, -10), (180, 10), (170, 10))).contains(0, -180)


@pytest.mark.parametrize(
    ("corners", "problem"),
    [
        ([(0, 0), (1, 1)], "no area"),
        ([(0, 0), (1, 1), (0, 0)], "no area"),
        ([(0, 0), (1, 1), (2, 2)], "cross or touch"),
        ([(0, 0), (2, 2), (2, 0), (0, 2)], "self-intersection"),
        ([(0, 0), (181, 2), (2, 0)], "no longitude of 181"),
        ([(0, 0), (18, 91), (2, 0)], "no latitude of 91"),
        ([(170, 0), (-170, 0), (-170, 5), (170, 5)], "more than half around the Earth"),
        ([(i / 100, (i % 2) / 10) for i in range(1_001)], "1001 corners"),
    ],
)
def test_what_is_no_polygon_is_refused(corners: list[tuple[float, float]], problem: str) -> None:
    with pytest.raises(RegionError) as refusal:
        polygon(corners)
    assert problem in refusal.value.problem
