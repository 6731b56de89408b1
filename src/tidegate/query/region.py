"""Places a subscription can ask for: map rectangles, circles and polygons, and the points they hold.

Boundaries are inclusive. The formulas are plain, so that a kernel can repeat them operation by operation.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import asin, cos, radians, sin, sqrt

import shapely

EARTH_RADIUS_KM = 6371.0088
"""The mean radius of the Earth (IUGG)."""

MAX_RADIUS_KM = 20_040.0
"""Half the way around the equator, rounded up: a circle of this radius holds every point."""

MAX_CORNERS = 1_000
"""Of a polygon."""


@dataclass(frozen=True, slots=True)
class Rectangle:
    """From `west` eastwards to `east` and from `south` up to `north`, in degrees.

    `west > east` crosses the antimeridian. A pole, which has every longitude, is in each rectangle that
    reaches it; so is a point of the antimeridian, whichever of -180 and 180 names it.

    >>> Rectangle(170, -20, -170, 0).contains(-17.7, 178.1)
    True
    """

    west: float
    south: float
    east: float
    north: float

    def contains(self, lat: float, lon: float) -> bool:
        """Tell whether the point lies inside or on the boundary."""
        if not self.south <= lat <= self.north:
            return False
        return abs(lat) == 90.0 or self._spans(lon) or (abs(lon) == 180.0 and self._spans(-lon))

    def _spans(self, lon: float) -> bool:
        if self.west <= self.east:
            return self.west <= lon <= self.east
        return lon >= self.west or lon <= self.east

    def __str__(self) -> str:
        """Return the rectangle as the subscription language writes it."""
        return f"in:({','.join(map(_plain, (self.west, self.south, self.east, self.north)))})"


@dataclass(frozen=True, slots=True)
class Circle:
    """The points at most `radius_km` from (`lat`, `lon`) along a great circle.

    >>> Circle(48.86, 2.35, 350).contains(51.51, -0.13)
    True
    """

    lat: float
    lon: float
    radius_km: float

    def contains(self, lat: float, lon: float) -> bool:
        """Tell whether the point lies inside or on the boundary."""
        return great_circle_km(self.lat, self.lon, lat, lon) <= self.radius_km

    def __str__(self) -> str:
        """Return the circle as the subscription language writes it."""
        return f"near:({','.join(map(_plain, (self.lat, self.lon, self.radius_km)))})"


@dataclass(frozen=True, slots=True)
class Polygon:
    """The area inside a ring of corners, each a longitude and a latitude, whose sides are straight on the map.

    As with rectangles, a pole is in each polygon that reaches it, and the antimeridian has two names.

    >>> Polygon(((0, 0), (10, 0), (0, 10))).contains(2, 3), Polygon(((0, 0), (10, 0), (0, 10))).contains(8, 8)
    (True, False)
    """

    corners: tuple[tuple[float, float], ...]

    def contains(self, lat: float, lon: float) -> bool:
        """Tell whether the point lies inside or on the boundary."""
        if abs(lat) == 90.0:
            return any(corner[1] == lat for corner in self.corners)
        return self._surrounds(lat, lon) or (abs(lon) == 180.0 and self._surrounds(lat, -lon))

    def _surrounds(self, lat: float, lon: float) -> bool:
        """A line to the east crosses the ring an odd number of times."""
        is_inside = False
        west, south = self.corners[-1]
        for east, north in self.corners:
            turn = (east - west) * (lat - south) - (north - south) * (lon - west)
            if (
                turn == 0.0
                and min(west, east) <= lon <= max(west, east)
                and min(south, north) <= lat <= max(south, north)
            ):
                return True
            if (south > lat) != (north > lat) and (turn > 0.0) == (north > south):
                is_inside = not is_inside
            west, south = east, north
        return is_inside

    def __str__(self) -> str:
        """Return the polygon as the subscription language writes it."""
        return f"within:({','.join(f'{_plain(lon)} {_plain(lat)}' for lon, lat in self.corners)})"


Region = Rectangle | Circle | Polygon


class RegionError(ValueError):
    """Numbers that bound no region: what is wrong, with which of them (None: with all), the remedy."""

    def __init__(self, problem: str, argument: int | None, hint: str) -> None:
        """Name the argument by its place in the list."""
        super().__init__(problem, argument, hint)
        self.problem = problem
        self.argument = argument
        self.hint = hint


def great_circle_km(lat1: float, lon1: float, lat2: float, lon2: float) -> float:
    """Return the distance of two points by the haversine formula, which is stable for near points.

    >>> round(great_circle_km(0, 179, 0, -179))
    222
    """
    up = sin(radians(lat2 - lat1) / 2)
    across = sin(radians(lon2 - lon1) / 2)
    chord = up * up + cos(radians(lat1)) * cos(radians(lat2)) * across * across
    # Rounding may lift the chord of antipodes above 1, where asin has no value.
    return 2 * EARTH_RADIUS_KM * asin(min(1.0, sqrt(chord)))


def rectangle(west: float, south: float, east: float, north: float) -> Rectangle:
    """Return the checked rectangle in its one spelling, or raise `RegionError`.

    >>> rectangle(180, 0, -170, 10)
    Rectangle(west=-180.0, south=0, east=-170, north=10)
    """
    for argument, number in enumerate((west, south, east, north)):
        (_check_longitude, _check_latitude)[argument % 2](number, argument)
    if south > north:
        problem = f"the rectangle is inside out: south {_plain(south)} is above north {_plain(north)}"
        raise RegionError(problem, 1, "the order is in:(west,south,east,north)")
    if south == north or west == east or (west, east) == (180.0, -180.0):
        raise RegionError("the rectangle has no area", None, "to ask for a point, use near:(lat,lon,radius_km)")
    return Rectangle(-180.0 if west == 180.0 else west, south, 180.0 if east == -180.0 else east, north)


def circle(lat: float, lon: float, radius_km: float) -> Circle:
    """Return the checked circle in its one spelling, or raise `RegionError`."""
    _check_latitude(lat, 0)
    _check_longitude(lon, 1)
    if not 0.0 < radius_km <= MAX_RADIUS_KM:
        problem = f"a radius of {_plain(radius_km)} km is not possible"
        raise RegionError(problem, 2, f"give more than 0 and at most {_plain(MAX_RADIUS_KM)} km")
    return Circle(lat, 180.0 if lon == -180.0 else lon, radius_km)


def polygon(corners: Sequence[tuple[float, float]]) -> Polygon:
    """Return the checked polygon in its one spelling (counterclockwise from its least corner), or raise `RegionError`.

    >>> str(polygon([(4, 44), (-10, 44), (-10, 36)]))
    'within:(-10 36,4 44,-10 44)'
    """
    for corner, (lon, lat) in enumerate(corners):
        _check_longitude(lon, corner)
        _check_latitude(lat, corner)
    before = [*corners[-1:], *corners[:-1]]
    kept = [number for number, corner in enumerate(corners) if corner != before[number]]
    ring = [corners[number] for number in kept]
    if len(set(ring)) < 3:
        raise RegionError("the polygon has no area", None, "give at least three corners, each as longitude latitude")
    if len(ring) > MAX_CORNERS:
        raise RegionError(f"the polygon has {len(ring)} corners", None, f"give at most {MAX_CORNERS}")
    for number, (lon, _), (last, _) in zip(kept, ring, [ring[-1], *ring[:-1]], strict=True):
        if abs(lon - last) > 180.0:
            problem = f"a side goes from longitude {_plain(last)} to {_plain(lon)}, more than half around the Earth"
            raise RegionError(problem, number, "cut the polygon at the antimeridian, and join the parts with OR")
    outline = shapely.Polygon(ring)
    if not outline.is_valid:
        problem = f"the sides of the polygon cross or touch: {shapely.is_valid_reason(outline).lower()}"
        raise RegionError(problem, None, "give the corners in the order of the ring, each once")
    if not outline.exterior.is_ccw:
        ring.reverse()
    first = ring.index(min(ring))
    return Polygon(tuple((lon + 0.0, lat + 0.0) for lon, lat in ring[first:] + ring[:first]))


def _check_latitude(number: float, argument: int) -> None:
    if not abs(number) <= 90.0:
        hint = "latitudes go from -90 to 90; is the order of the numbers right?"
        raise RegionError(f"there is no latitude of {_plain(number)}", argument, hint)


def _check_longitude(number: float, argument: int) -> None:
    if not abs(number) <= 180.0:
        raise RegionError(f"there is no longitude of {_plain(number)}", argument, "longitudes go from -180 to 180")


def _plain(number: float) -> str:
    """Return the shortest text that reads back as the same number, without a trailing `.0`."""
    return repr(number + 0.0).removesuffix(".0")
