"""A box in one word: its four sides in fifteen bits each, so that one subtraction compares a point with all of them.

Steps are coarse, a few hundred to the side of a usual box: a point in the same step as a side is near it, and whoever
wants to know compares degrees. Rounding keeps the order, so no point of a box is ever found outside.
"""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tidegate.index.placed import EAST, NORTH, SOUTH, WEST, Degrees
from tidegate.kernels import njit

Words = NDArray[np.uint64]

_LAST: Final = 2.0**15 - 1
_TOP: Final = np.uint64(2**15 - 1)
_S, _E, _N = np.uint64(16), np.uint64(32), np.uint64(48)
_ONES: Final = np.uint64(0x0001_0001_0001_0001)
_GUARDS: Final = np.uint64(0x8000_8000_8000_8000)
"""A bit beyond each side, which a point has and a subtraction takes away where the side is the larger one."""
_OUTLIERS: Final = 0.005
_SAMPLE: Final = 1 << 14
_SMALLEST: Final = 1e-6
"""Degrees, so that a single point has an extent too."""


def learned_frame(boxes: Degrees) -> Degrees:
    """Return the west and the south of where boxes are, and how many steps a degree has there.

    What is further out, a few outliers, is in the first or the last step.
    """
    some = np.clip(boxes[:: len(boxes) // _SAMPLE + 1], -360.0, 360.0)
    if not len(some):
        return np.array([0.0, 0.0, 1.0, 1.0])
    west, south = np.quantile(some[:, [WEST, SOUTH]], _OUTLIERS, axis=0)
    east, north = np.quantile(some[:, [EAST, NORTH]], 1.0 - _OUTLIERS, axis=0)
    return np.array([west, south, _LAST / max(east - west, _SMALLEST), _LAST / max(north - south, _SMALLEST)])


@njit(cache=True, nogil=True)
def _step(degrees: float, first: float, per_degree: float) -> Any:
    return np.uint64(min(max((degrees - first) * per_degree, 0.0), _LAST))


@njit(cache=True, nogil=True)
def box_word(frame: Degrees, box: Degrees) -> Any:
    """Return the word of a box. East and north count from the other end: then every side has to be no larger."""
    west, east = _step(box[WEST], frame[0], frame[2]), _TOP - _step(box[EAST], frame[0], frame[2])
    south, north = _step(box[SOUTH], frame[1], frame[3]), _TOP - _step(box[NORTH], frame[1], frame[3])
    return west | (south << _S) | (east << _E) | (north << _N)


@njit(cache=True, nogil=True)
def point_word(frame: Degrees, lat: float, lon: float) -> Any:
    """Return the word of a point: of the box that is it, with guards."""
    x, y = _step(lon, frame[0], frame[2]), _step(lat, frame[1], frame[3])
    return x | (y << _S) | ((_TOP - x) << _E) | ((_TOP - y) << _N) | _GUARDS


@njit(cache=True, nogil=True)
def may_hold(box: Any, point: Any) -> Any:
    """Whether a box may hold a point: false is certain."""
    return (point - box) & _GUARDS == _GUARDS


@njit(cache=True, nogil=True)
def holds(box: Any, point: Any) -> Any:
    """Whether a box holds a point that is not near its sides: true is certain."""
    return (point - _ONES - box) & _GUARDS == _GUARDS


@njit(cache=True, nogil=True)
def is_inside(box: Degrees, lat: float, lon: float) -> Any:
    """Whether a point is in a box, in degrees."""
    return (box[WEST] <= lon) & (lon <= box[EAST]) & (box[SOUTH] <= lat) & (lat <= box[NORTH])
