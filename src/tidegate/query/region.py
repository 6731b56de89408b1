"""Places a subscription can ask for: map rectangles and circles, and the points they hold.

Boundaries are inclusive. The formulas are plain, so that a kernel can repeat them operation by operation.
"""

from dataclasses import dataclass
from math import asin, cos, radians, sin, sqrt

EARTH_RADIUS_KM = 6371.0088
"""The mean radius of the Earth (IUGG)."""

MAX_RADIUS_KM = 20_040.0
"""Half the way around the equator, rounded up: a circle of this radius holds every point."""


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


Region = Rectangle | Circle


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
