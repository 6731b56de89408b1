"""Where posts and queries come from: a generated country, or the real posts of a file."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tidegate.csr import Csr, Int32, offsets_of, taken
from tidegate.errors import ConfigError
from tidegate.index.placed import Degrees, Placed, PlacedPosts
from tidegate.route.places.lattice import Bounds
from tidegate.route.sample import Sample
from tidegate.text.analyzer import Analyzer
from tidegate.workload.places import (
    COUNTRIES,
    LONGEST_SIDE,
    Q1,
    Q2,
    REGIONS,
    PlacedQueries,
    kinds_of_regions,
    objects,
    searches,
)

Kinds = NDArray[np.int8]

_FREQUENT: Final = 0.01  # the share of the vocabulary of which Q2 does not ask alone
_KM_PER_DEGREE: Final = 111.195
_MOST_KEYWORDS: Final = 3


@dataclass(frozen=True)
class World(ABC):
    """Posts and queries of one place, drawn anew for every seed."""

    name: str
    bounds: Bounds
    """West, south, east, north."""
    kinds: Kinds
    """Of the regions: Q1 or Q2, for queries of kind Q3."""

    @abstractmethod
    def posts(self, n: int, seed: int) -> PlacedPosts:
        """Draw posts."""

    @abstractmethod
    def searches(self, n: int, kind: str, seed: int) -> PlacedQueries:
        """Draw queries of kind "q1", "q2" or "q3"."""


@dataclass(frozen=True)
class Generated(World):
    """A country with dense cities."""

    @classmethod
    def of(cls, country: str, seed: int) -> Self:
        """Open a country; the seed says which of its regions ask as Q1 and which as Q2."""
        _, *bounds = COUNTRIES[country]
        west, south, east, north = bounds
        return cls(country, (west, south, east, north), kinds_of_regions(seed))

    def posts(self, n: int, seed: int) -> PlacedPosts:
        """Generate posts."""
        return PlacedPosts(*objects(n, seed, self.name))

    def searches(self, n: int, kind: str, seed: int) -> PlacedQueries:
        """Generate queries."""
        return searches(n, kind, seed, self.name, self.kinds)


@dataclass(frozen=True)
class Stored(World):
    """The posts of a file. Even seeds draw from one half of them and odd seeds from the other."""

    stored: PlacedPosts
    words: int
    """How many there are."""

    @classmethod
    def read(cls, path: Path, seed: int) -> Self:
        """Read a Parquet file with columns `text`, `lat` and `lon`; posts without a place or a word are left out."""
        try:
            table = pq.read_table(path, columns=["text", "lat", "lon"])
            lat, lon = (table.column(name).cast(pa.float64()).to_numpy() for name in ("lat", "lon"))
        except (OSError, KeyError, pa.ArrowException) as error:
            raise ConfigError(f"no posts can be read from {path}, which needs text, lat and lon: {error}") from error
        sample = Sample.of(table.select(["text"]), Analyzer())
        placed = (abs(lat) <= 90.0) & (abs(lon) <= 180.0) & (np.diff(sample.posts.offsets) > 0)
        kept = np.random.default_rng(seed).permutation(np.flatnonzero(placed))
        if len(kept) < 2 or len(sample.words) < _MOST_KEYWORDS:
            raise ConfigError(f"{path} has {len(kept)} posts with words and a place: give at least 2, of 3 words")
        lat, lon = lat[kept], lon[kept]
        bounds = (float(lon.min()), float(lat.min()), float(lon.max()), float(lat.max()))
        stored = PlacedPosts(taken(sample.posts, kept), lat, lon)
        return cls(path.stem, bounds, kinds_of_regions(seed), stored, len(sample.words))

    def posts(self, n: int, seed: int) -> PlacedPosts:
        """Draw posts, none twice before all of their half are drawn."""
        half = np.arange(seed % 2, len(self.stored.lat), 2)
        rows = np.resize(np.random.default_rng(seed).permutation(half), n)
        return PlacedPosts(taken(self.stored.terms, rows), self.stored.lat[rows], self.stored.lon[rows])

    def searches(self, n: int, kind: str, seed: int) -> PlacedQueries:
        """Draw queries as PS²Stream does (§VI-A): a square around a post, keywords by the law of all posts' words.

        Sides are to those of a generated country as the extents are. In Q2 every conjunction has a rare keyword.
        """
        generator = np.random.default_rng(seed)
        centres = generator.permutation(np.resize(np.arange(seed % 2, len(self.stored.lat), 2), n))
        lat, lon = self.stored.lat[centres], self.stored.lon[centres]
        is_q2 = self._is_q2(kind, lat, lon)
        lengths = generator.integers(1, _MOST_KEYWORDS + 1, n)
        either = generator.random(n) < 0.5
        used = np.arange(_MOST_KEYWORDS) < lengths[:, None]
        rare = used & is_q2[:, None] & (either[:, None] | (np.arange(_MOST_KEYWORDS) == 0))
        values = self._keywords(rare, generator)[used]
        # A conjunction begins with every query and, where the query is an OR, with every word.
        begins = np.repeat(either, lengths)
        begins[offsets_of(lengths)[:-1]] = True
        starts = np.flatnonzero(begins)
        query_of = np.repeat(np.arange(n, dtype=np.int32), lengths)[starts]
        longest = np.where(is_q2, LONGEST_SIDE[Q2], LONGEST_SIDE[Q1])
        sides = (1.0 + generator.random(n) * (longest - 1.0)) * self._shrinkage
        sets = Csr(np.append(starts, len(values)), values)
        return PlacedQueries(Placed(sets, self._squares(lat, lon, sides)[query_of]), query_of, n)

    @property
    def _shrinkage(self) -> float:
        """The side of this extent over that of the first country, were both squares of the same areas."""
        country = next(iter(COUNTRIES.values()))
        return float(np.sqrt(_area(self.bounds) / _area((country.west, country.south, country.east, country.north))))

    def _is_q2(self, kind: str, lat: Degrees, lon: Degrees) -> NDArray[np.bool_]:
        west, south, east, north = self.bounds
        column = np.clip((lon - west) / max(east - west, 1e-9) * REGIONS, 0, REGIONS - 1).astype(np.int64)
        row = np.clip((lat - south) / max(north - south, 1e-9) * REGIONS, 0, REGIONS - 1).astype(np.int64)
        is_q2: NDArray[np.bool_] = self.kinds[REGIONS * row + column] == Q2
        return is_q2 if kind == "q3" else np.full(len(lat), kind == "q2")

    def _keywords(self, rare: NDArray[np.bool_], generator: np.random.Generator) -> Int32:
        """Draw distinct words for every row, by how often they are in posts; where `rare`, no frequent ones."""
        # As many frequent words as leave three others.
        frequent = min(int(_FREQUENT * self.words), self.words - _MOST_KEYWORDS)
        written = self.stored.terms.values
        seldom = written[written >= frequent]
        drawn = np.empty(rare.shape, np.int32)
        left = np.arange(len(rare))
        while len(left):
            shape = (len(left), rare.shape[1])
            drawn[left] = np.where(rare[left], generator.choice(seldom, shape), generator.choice(written, shape))
            ranked = np.sort(drawn[left], axis=1)
            left = left[(ranked[:, 1:] == ranked[:, :-1]).any(axis=1)]
        return drawn

    def _squares(self, lat: Degrees, lon: Degrees, sides: Degrees) -> Degrees:
        west, south, east, north = self.bounds
        up = sides / 2.0 / _KM_PER_DEGREE
        across = up / np.cos(np.radians(lat))
        corners = np.column_stack((lon - across, lat - up, lon + across, lat + up))
        squares: Degrees = np.clip(corners, [west, south, west, south], [east, north, east, north])
        return squares


def _area(bounds: Bounds) -> float:
    """Of an extent, in square degrees of latitude."""
    west, south, east, north = bounds
    return (east - west) * (north - south) * float(np.cos(np.radians((south + north) / 2)))
