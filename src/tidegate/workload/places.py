"""Posts and searches with words and places (PS²Stream §VI): two countries of dense cities, queries Q1, Q2 and Q3.

Cities, their sizes and the words each region prefers belong to the country; a seed draws posts and searches from them,
so that streams of different seeds live in one world. No real place or person is in it.
"""

from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidegate.csr import Csr, Int32, Int64, offsets_of
from tidegate.errors import ConfigError
from tidegate.kernels import njit
from tidegate.placed import Placed
from tidegate.workload.alias import Alias, State, alias_table, draw, next_word, random_state
from tidegate.workload.terms import Floats, zipf

VOCABULARY: Final = 1_000_000
FREQUENT: Final = VOCABULARY // 100
"""Terms below this rank are the 1 % most frequent ones. They make up about 93 % of the words of posts."""
REGIONS: Final = 10
"""The extent of a country falls into this many equal columns and as many rows of regions."""
Q1, Q2 = 1, 2
LONGEST_SIDE: Final = {Q1: 50.0, Q2: 100.0}
"""Kilometres; the shortest side is one."""

_CITIES: Final = {"us": 400, "uk": 150}
_LARGEST_SPREAD: Final = {"us": 25.0, "uk": 12.0}  # kilometres, one standard deviation
_RURAL: Final = 0.15  # the share of posts from anywhere
_STOP_WORDS: Final = 20  # commonest ranks of Zipf's law, which no text keeps
# Beyond its kernel of some ten thousand words, a language has a second, steeper law (Dorogovtsev and Mendes, 2001).
_RARE_EXPONENT: Final = 3.2
_LOCAL_WORDS: Final = 15  # that a region has of its own
_LOCAL_SHARE: Final = 0.2  # of the words are drawn from the region's own
_KM_PER_DEGREE: Final = 111.195


class Country(NamedTuple):
    """The extent of a country, in degrees."""

    name: str
    west: float
    south: float
    east: float
    north: float


COUNTRIES: Final = {
    "us": Country("us", -124.8, 24.5, -66.9, 49.4),
    "uk": Country("uk", -8.2, 49.9, 1.8, 59.0),
}


class PlacedQueries(NamedTuple):
    """Queries, each of one or more conjunctions, any of which may match."""

    placed: Placed
    """A row per conjunction."""
    query_of: Int32
    """The query of each conjunction, ascending."""
    queries: int


def objects(n: int, seed: int, country: str = "us") -> tuple[Csr, Floats, Floats]:
    """`n` posts: 3 to 15 distinct terms as ranks, 7 on the average, latitudes and longitudes.

    The same arguments give the same posts.
    """
    world = _world(country)
    generator = np.random.default_rng(seed)
    lat, lon = _positions(world, n, generator)
    offsets = offsets_of(3 + np.minimum(generator.poisson(4.0, n), 12))
    none = np.zeros(n, np.int64)
    return _words(world, regions_of(lat, lon, country), offsets, none, random_state(seed)), lat, lon


def searches(n: int, kind: str, seed: int, country: str = "us", kinds: NDArray[np.int8] | None = None) -> PlacedQueries:
    """`n` queries of kind "q1", "q2" or "q3": 1 to 3 keywords joined by AND or by OR, in a square around some post.

    Keywords follow the law of the posts' words at that place. Q1: sides of 1 to 50 km. Q2: of 1 to 100 km, and each
    conjunction has a keyword at least that is not `FREQUENT`, so that of an OR all are such. (The paper asks it of
    queries. We read it so, for an OR with one frequent keyword matches as many posts as that keyword alone.) Q3: as
    `kinds` says for the region of the centre, by default `kinds_of_regions(seed)`. Squares end at the border of the
    country.
    """
    world = _world(country)
    generator = np.random.default_rng(seed)
    lat, lon = _positions(world, n, generator)
    regions = regions_of(lat, lon, country)
    kind_of = _kinds(kind, kinds if kinds is not None else kinds_of_regions(seed))[regions]
    lengths = generator.integers(1, 4, n)
    either = generator.random(n) < 0.5
    rare = np.where(kind_of == Q2, np.where(either, lengths, 1), 0)
    words = _words(world, regions, offsets_of(lengths), rare, random_state(seed))
    # A conjunction begins with every query and, where the query is an OR, with every word.
    begins = np.repeat(either, lengths)
    begins[words.offsets[:-1]] = True
    starts = np.flatnonzero(begins)
    query_of = np.repeat(np.arange(n, dtype=np.int32), lengths)[starts]
    sides = 1.0 + generator.random(n) * np.where(kind_of == Q2, LONGEST_SIDE[Q2] - 1.0, LONGEST_SIDE[Q1] - 1.0)
    boxes = _squares(lat, lon, sides, world.country)[query_of]
    return PlacedQueries(Placed(Csr(np.append(starts, len(begins)), words.values), boxes), query_of, n)


def kinds_of_regions(seed: int) -> NDArray[np.int8]:
    """Q1 or Q2 for each of the 100 regions, half of them each. What switches kind is three minus what it was."""
    kinds = np.repeat(np.array([Q1, Q2], np.int8), REGIONS * REGIONS // 2)
    return np.random.default_rng(seed).permutation(kinds)


def regions_of(lat: Floats, lon: Floats, country: str = "us") -> Int32:
    """The region of each point of a country: its row from the south times 10 and its column from the west."""
    extent = _country(country)
    column = (lon - extent.west) / (extent.east - extent.west) * REGIONS
    row = (lat - extent.south) / (extent.north - extent.south) * REGIONS
    inside = [np.clip(place.astype(np.int32), 0, REGIONS - 1) for place in (row, column)]
    return REGIONS * inside[0] + inside[1]


def lifetimes(n: int, mu: float, seed: int) -> Int64:
    """How many queries arrive between the insertion and the deletion of each: normal, of deviation 0.2 `mu`, >= 1."""
    drawn = np.random.default_rng(seed).normal(mu, 0.2 * mu, n)
    return np.maximum(1, np.rint(drawn)).astype(np.int64)


class _World(NamedTuple):
    """What all posts of a country have in common."""

    country: Country
    cities: Floats
    """A row each: latitude, longitude, spread in kilometres, share of the people."""
    common: Alias
    """The law of frequent words, and of all others together as the last: a table that fits a cache."""
    rare: Alias
    """The law of these others."""
    common_terms: Int32
    """The rank of each word of the common law."""
    local: Alias
    local_terms: NDArray[np.int32]
    """Row per region: the ranks of its own words, its commonest first."""


@lru_cache(maxsize=len(COUNTRIES))
def _world(name: str) -> _World:
    country = _country(name)
    generator = np.random.default_rng(list(COUNTRIES).index(name))
    people = zipf(_CITIES[name], 0.8)
    margin, n = 0.05, len(people)
    cities = np.column_stack(
        (
            country.south + (country.north - country.south) * generator.uniform(margin, 1.0 - margin, n),
            country.west + (country.east - country.west) * generator.uniform(margin, 1.0 - margin, n),
            _LARGEST_SPREAD[name] * np.sqrt(people / people[0]),  # areas grow with their people
            people,
        )
    )
    law, local = _text_law(VOCABULARY), _text_law(_LOCAL_WORDS)
    owned = generator.permutation(VOCABULARY)[: REGIONS**2 * _LOCAL_WORDS].reshape(REGIONS**2, -1)
    nothing = np.empty(0, np.int32)
    world = _World(country, cities, *_common(law), nothing, alias_table(local), nothing.reshape(0, 0))
    # A rank counts the whole country: how common a region's own word is depends on how many people live there.
    lived_in = np.bincount(regions_of(*_positions(world, 200_000, generator), name), minlength=REGIONS**2) / 200_000
    shares = (1.0 - _LOCAL_SHARE) * law
    shares[owned] += _LOCAL_SHARE * np.outer(lived_in, local)
    ranks = np.empty(VOCABULARY, np.int32)
    ranks[np.argsort(-shares, kind="stable")] = np.arange(VOCABULARY, dtype=np.int32)
    return world._replace(common_terms=ranks, local_terms=ranks[owned])


def _country(name: str) -> Country:
    if name not in COUNTRIES:
        raise ConfigError(f"no country {name!r}: there are {', '.join(COUNTRIES)}")
    return COUNTRIES[name]


def _kinds(kind: str, mixed: NDArray[np.int8]) -> NDArray[np.int8]:
    """The kind of each region."""
    if kind == "q3":
        if mixed.shape != (REGIONS**2,) or not np.isin(mixed, (Q1, Q2)).all():
            raise ConfigError(f"kinds of regions: {REGIONS**2} numbers, each {Q1} or {Q2}, are needed")
        return mixed
    if kind not in ("q1", "q2"):
        raise ConfigError(f"no queries of kind {kind!r}: there are q1, q2 and q3")
    return np.full(REGIONS**2, Q1 if kind == "q1" else Q2, np.int8)


def _text_law(n: int) -> Floats:
    """Zipf's law without stop words, the frequent ones of exponent 1 and beyond them steeper, without a step."""
    law: Floats = zipf(n + _STOP_WORDS)[_STOP_WORDS:]
    law[FREQUENT:] = law[FREQUENT - 1 : FREQUENT] * (FREQUENT / np.arange(FREQUENT + 1, n + 1)) ** _RARE_EXPONENT
    return law / np.sum(law)


def _common(law: Floats) -> tuple[Alias, Alias]:
    """Return a law in two steps: frequent words or any other, and which other."""
    others = law[FREQUENT:].sum()
    return alias_table(np.append(law[:FREQUENT], others)), alias_table(law[FREQUENT:] / others)


def _positions(world: _World, n: int, generator: np.random.Generator) -> tuple[Floats, Floats]:
    country = world.country
    cities = world.cities[generator.choice(len(world.cities), n, p=world.cities[:, 3])]
    lat, lon, spread = cities[:, :3].T
    degrees = spread / _KM_PER_DEGREE
    lat = lat + degrees * generator.standard_normal(n)
    lon = lon + degrees * generator.standard_normal(n) / np.cos(np.radians(lat))
    rural = np.flatnonzero(generator.random(n) < _RURAL)
    lat[rural] = generator.uniform(country.south, country.north, len(rural))
    lon[rural] = generator.uniform(country.west, country.east, len(rural))
    return np.clip(lat, country.south, country.north), np.clip(lon, country.west, country.east)


def _squares(lat: Floats, lon: Floats, sides: Floats, country: Country) -> Floats:
    up = sides / 2.0 / _KM_PER_DEGREE
    across = up / np.cos(np.radians(lat))
    corners = np.column_stack((lon - across, lat - up, lon + across, lat + up))
    return np.clip(corners, [country.west, country.south] * 2, [country.east, country.north] * 2)


def _words(world: _World, regions: Int32, offsets: Int64, rare: Int64, state: State) -> Csr:
    """Rows of distinct terms, drawn by the law of each row's region; at least `rare` of them are not frequent."""
    values = np.empty(offsets[-1], np.int32)
    _draw_words(world, regions, Csr(offsets, values), rare, state)
    return Csr(offsets, values)


@njit(cache=True)
def _draw_words(world: Any, regions: Int32, rows: Csr, rare: Int64, state: State) -> None:
    """Draw each row whole, again until it is as it must be."""
    values = rows.values
    for row in range(len(regions)):
        start, stop = rows.offsets[row], rows.offsets[row + 1]
        # Where all must be rare, the law is the same if each is drawn until it is, and that takes far fewer draws.
        least = FREQUENT if rare[row] == stop - start else 0
        accepted = False
        while not accepted:
            accepted = True
            found = 0
            for at in range(start, stop):
                term = _word(world, regions[row], state)
                while term < least:
                    term = _word(world, regions[row], state)
                for earlier in range(start, at):
                    accepted &= values[earlier] != term
                values[at] = term
                found += term >= FREQUENT
            accepted &= found >= rare[row]


@njit(cache=True)
def _word(world: Any, region: int, state: State) -> Any:
    if next_word(state) < np.uint64(_LOCAL_SHARE * 2.0**64):
        return world.local_terms[region, draw(world.local, state)]
    word = draw(world.common, state)
    return world.common_terms[word if word < FREQUENT else FREQUENT + draw(world.rare, state)]
