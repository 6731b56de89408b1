"""Boxes around regions: what an index files, plain enough for a kernel, and never smaller than the region.

A box knows nothing of poles and of the antimeridian. So points are moved to one spelling, and a region gets a box for
every way in which such a point can lie in it.
"""

from math import asin, cos, degrees, radians, sin
from typing import NamedTuple

import numpy as np

from tidegate.index.placed import Degrees
from tidegate.kernels import njit
from tidegate.query.region import EARTH_RADIUS_KM, Circle, Rectangle, Region

_SLACK = 1e-5
"""Degrees, about a metre, by which a box is wider than computed: rounding moves the border of a circle or polygon."""


class Box(NamedTuple):
    """From west to east and from south to north, in degrees."""

    west: float
    south: float
    east: float
    north: float

    @property
    def area(self) -> float:
        """In square degrees: good enough to tell a smaller box from a larger one."""
        return (self.east - self.west) * (self.north - self.south)


def boxes_of(region: Region) -> list[Box]:
    """Return boxes that hold every point of the region, as `normal_longitudes` spells it."""
    if isinstance(region, Rectangle):
        return _boxes(region.west, region.south, region.east, region.north)
    if isinstance(region, Circle):
        return _around(region)
    longitudes, latitudes = zip(*region.corners, strict=True)
    west, east = max(min(longitudes) - _SLACK, -180.0), min(max(longitudes) + _SLACK, 180.0)
    return _boxes(west, min(latitudes), east, max(latitudes))


def smallest_boxes(regions: tuple[Region, ...]) -> list[Box]:
    """Return boxes for points that are in all of these regions: those of the smallest."""
    return min(map(boxes_of, regions), key=lambda boxes: sum(box.area for box in boxes))


@njit(cache=True, nogil=True)
def normal_longitudes(lat: Degrees, lon: Degrees) -> Degrees:
    """Return longitudes of which every point has one: -180 for the antimeridian and for the poles."""
    longitudes = lon.copy()
    for i in range(len(lat)):
        if lon[i] == 180.0 or abs(lat[i]) == 90.0:
            longitudes[i] = -180.0
    return longitudes


def _boxes(west: float, south: float, east: float, north: float) -> list[Box]:
    spans = [(west, east)] if west <= east else [(west, 180.0), (-180.0, east)]
    boxes = [Box(first, south, last, north) for first, last in spans]
    if any(last == 180.0 for _, last in spans) and all(first > -180.0 for first, _ in spans):
        boxes.append(Box(-180.0, south, -180.0, north))
    if all(box.west > -180.0 for box in boxes):
        boxes += [Box(-180.0, pole, -180.0, pole) for pole in (-90.0, 90.0) if south <= pole <= north]
    return boxes


def _around(circle: Circle) -> list[Box]:
    angle = circle.radius_km / EARTH_RADIUS_KM
    up = degrees(angle) + _SLACK
    south, north = circle.lat - up, circle.lat + up
    if south <= -90.0 or north >= 90.0:
        return [Box(-180.0, max(south, -90.0), 180.0, min(north, 90.0))]
    across = degrees(asin(min(1.0, sin(angle) / cos(radians(circle.lat))))) + _SLACK
    west, east = circle.lon - across, circle.lon + across
    west, east = west + 360.0 if west < -180.0 else west, east - 360.0 if east > 180.0 else east
    return _boxes(west, south, east, north)


def box_rows(boxes: list[list[Box]]) -> Degrees:
    """Return all boxes as an array, a row each."""
    return np.array([box for some in boxes for box in some], np.float64).reshape(-1, 4)
