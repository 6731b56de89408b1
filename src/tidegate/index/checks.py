"""What an index cannot prune, or not exactly, verified on its answers: excluded terms, phrases, and places.

A conjunction's checks are a short run of int32 words: counts, each followed by what is counted.
"""

from math import asin, cos, radians, sin, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidegate.csr import Csr, Int32
from tidegate.growth import with_room
from tidegate.kernels import njit
from tidegate.query.condition import Phrase
from tidegate.query.conjunction import Conjunction
from tidegate.query.region import EARTH_RADIUS_KM, Circle, Polygon, Rectangle, Region
from tidegate.text.lexicon import Lexicon
from tidegate.text.posts import Posts

NO_CHECKS = -1
_RECTANGLE, _CIRCLE, _POLYGON = 0.0, 1.0, 2.0


class CheckArrays(NamedTuple):
    """What the kernel reads."""

    words: Int32
    """Per conjunction: excluded terms; wanted phrases; unwanted phrases; regions; regions to be outside of."""
    regions: NDArray[np.float64]
    """Per region: its kind and up to four numbers; of a polygon, its first corner and how many it has."""
    corners: NDArray[np.float64]
    """Longitude and latitude."""


class Checks:
    """Grows with the conjunctions that need checking; a conjunction without extras costs nothing."""

    def __init__(self) -> None:
        """Start empty."""
        self._words: Int32 = np.empty(64, np.int32)
        self._used = 0
        self._regions: NDArray[np.float64] = np.empty((8, 5), np.float64)
        self._region_rows: dict[Region, int] = {}
        self._corners: NDArray[np.float64] = np.empty((8, 2), np.float64)
        self._n_corners = 0
        self.reads_phrases = False
        """Whether a post's words are needed in sequence."""

    def add(self, conjunction: Conjunction, lexicon: Lexicon) -> int:
        """Return where the checks of the conjunction begin, or `NO_CHECKS`."""
        words = [len(conjunction.negative), *lexicon.add_terms(conjunction.negative)]
        words += self._phrases(conjunction.phrases, lexicon)
        words += self._phrases(conjunction.without_phrases, lexicon)
        words += [len(conjunction.regions), *map(self._region, conjunction.regions)]
        words += [len(conjunction.outside), *map(self._region, conjunction.outside)]
        if not any(words):
            return NO_CHECKS
        start = self._used
        self._used += len(words)
        self._words = with_room(self._words, self._used)
        self._words[start : self._used] = words
        return start

    @property
    def arrays(self) -> CheckArrays:
        """The checks so far."""
        regions, corners = self._regions[: len(self._region_rows)], self._corners[: self._n_corners]
        return CheckArrays(self._words[: self._used], regions, corners)

    def _phrases(self, phrases: tuple[Phrase, ...], lexicon: Lexicon) -> list[int]:
        self.reads_phrases |= bool(phrases)
        words = [len(phrases)]
        for phrase in phrases:
            words += [len(phrase), *map(lexicon.surface_id, phrase)]
        return words

    def _region(self, region: Region) -> int:
        if region in self._region_rows:
            return self._region_rows[region]
        row = self._region_rows[region] = len(self._region_rows)
        self._regions = with_room(self._regions, row + 1)
        match region:
            case Rectangle(west, south, east, north):
                self._regions[row] = (_RECTANGLE, west, south, east, north)
            case Circle(lat, lon, radius_km):
                self._regions[row] = (_CIRCLE, lat, lon, radius_km, 0.0)
            case Polygon(corners):
                first, self._n_corners = self._n_corners, self._n_corners + len(corners)
                self._corners = with_room(self._corners, self._n_corners)
                self._corners[first : self._n_corners] = corners
                self._regions[row] = (_POLYGON, first, len(corners), 0.0, 0.0)
        return row


class PostColumns(NamedTuple):
    """A batch of posts as the kernel reads it."""

    terms: Csr
    surfaces: Csr
    lat: NDArray[np.float64]
    lon: NDArray[np.float64]


def post_columns(posts: Posts) -> PostColumns:
    """The arrays of `posts`; surfaces are empty where no phrase needs them."""
    surfaces = posts.surfaces or Csr(np.zeros(len(posts) + 1, np.int64), np.empty(0, np.int32))
    return PostColumns(posts.terms, surfaces, posts.lat, posts.lon)


@njit(cache=True, nogil=True)
def passes(checks: CheckArrays, at: int, posts: PostColumns, row: int, held: Int32) -> bool:
    """Whether post `row` passes the checks that begin at `at`; `held[t] == row + 1` marks the terms it has."""
    words = checks.words
    for i in range(at + 1, at + 1 + words[at]):
        if held[words[i]] == row + 1:
            return False
    at += 1 + words[at]
    surfaces = posts.surfaces.values[posts.surfaces.offsets[row] : posts.surfaces.offsets[row + 1]]
    for wanted in (True, False):
        n_phrases = words[at]
        at += 1
        for _ in range(n_phrases):
            if _occurs(words[at + 1 : at + 1 + words[at]], surfaces) != wanted:
                return False
            at += 1 + words[at]
    for wanted in (True, False):
        for i in range(at + 1, at + 1 + words[at]):
            if _is_in(checks, checks.regions[words[i]], posts.lat[row], posts.lon[row]) != wanted:
                return False
        at += 1 + words[at]
    return True


@njit(cache=True, nogil=True)
def _occurs(phrase: Int32, surfaces: Int32) -> bool:
    for start in range(len(surfaces) - len(phrase) + 1):
        same = True
        for i in range(len(phrase)):
            same = same and surfaces[start + i] == phrase[i]
        if same:
            return True
    return False


@njit(cache=True, nogil=True)
def _is_in(checks: CheckArrays, region: NDArray[np.float64], lat: float, lon: float) -> bool:
    """The twin of the regions' own `contains`, operation by operation; NaN is nowhere."""
    if np.isnan(lat):
        return False
    if region[0] == _RECTANGLE:
        west, south, east, north = region[1], region[2], region[3], region[4]
        if not south <= lat <= north:
            return False
        return abs(lat) == 90.0 or _spans(west, east, lon) or (abs(lon) == 180.0 and _spans(west, east, -lon))
    if region[0] == _POLYGON:
        corners = checks.corners[int(region[1]) : int(region[1]) + int(region[2])]
        if abs(lat) == 90.0:
            return bool(np.any(corners[:, 1] == lat))
        return _surrounds(corners, lat, lon) or (abs(lon) == 180.0 and _surrounds(corners, lat, -lon))
    up = sin(radians(lat - region[1]) / 2)
    across = sin(radians(lon - region[2]) / 2)
    chord = up * up + cos(radians(region[1])) * cos(radians(lat)) * across * across
    return bool(2 * EARTH_RADIUS_KM * asin(min(1.0, sqrt(chord))) <= region[3])


@njit(cache=True, nogil=True)
def _spans(west: float, east: float, lon: float) -> bool:
    if west <= east:
        return west <= lon <= east
    return lon >= west or lon <= east


@njit(cache=True, nogil=True)
def _surrounds(corners: NDArray[np.float64], lat: float, lon: float) -> bool:
    is_inside = False
    west, south = corners[-1, 0], corners[-1, 1]
    for i in range(len(corners)):
        east, north = corners[i, 0], corners[i, 1]
        turn = (east - west) * (lat - south) - (north - south) * (lon - west)
        spans = min(west, east) <= lon <= max(west, east) and min(south, north) <= lat <= max(south, north)
        if turn == 0.0 and spans:
            return True
        if (south > lat) != (north > lat) and (turn > 0.0) == (north > south):
            is_inside = not is_inside
        west, south = east, north
    return is_inside
