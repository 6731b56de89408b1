"""Posts as columns of term ids, and the terms of one post in plain Python, which they are compared with."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tidegate.csr import Csr, Int32
from tidegate.errors import ConfigError
from tidegate.kernels import njit
from tidegate.text.analyzer import Analyzer
from tidegate.text.lexicon import Lexicon
from tidegate.text.profile import surface_of
from tidegate.text.utf8 import mended
from tidegate.text.vocabulary import Vocabulary

HAS_PLACE = "has:place"
"""The term of every post with a place."""

Degrees = NDArray[np.float64]
_Table: TypeAlias = pa.Table | pa.RecordBatch
_Column: TypeAlias = pa.Array | pa.ChunkedArray


@dataclass(frozen=True, slots=True)
class Posts:
    """A batch of posts, ready to be matched: row `i` of every column is post `i`."""

    terms: Csr
    """The distinct ids of a post's subscribed terms: those of its text, then author, language and place."""
    surfaces: Csr | None
    """One id per token, in order, where sequences were asked for."""
    lat: Degrees
    lon: Degrees
    """Degrees north and east; both NaN where a post has no place."""
    truncated: int = 0
    """How many texts were cut at the profile's limit."""
    misplaced: int = 0
    """How many posts lost a place: a coordinate was not on Earth, or no number."""

    def __len__(self) -> int:
        """Return the number of posts."""
        return self.terms.rows


def read_posts(
    table: pa.Table | pa.RecordBatch,
    lexicon: Lexicon,
    *,
    text: str = "text",
    author: str | None = None,
    lang: str | None = None,
    lat: str | None = None,
    lon: str | None = None,
    sequences: bool = False,
) -> Posts:
    """Read posts from the columns of these names; None is the parameter's own name, if there is such a column.

    Any value may be null. A coordinate that is no number, such as the text "north", is not on Earth.
    """
    scan = lexicon.scan(_column(table, text), sequences=sequences)
    lats, lons, misplaced = _places(
        _degrees(table, _chosen(table, lat, "lat")),
        _degrees(table, _chosen(table, lon, "lon")),
    )
    further = [
        _ids(table, _chosen(table, author, "author"), author_term, lexicon.vocabulary),
        _ids(table, _chosen(table, lang, "lang"), lang_term, lexicon.vocabulary),
        np.where(np.isnan(lats), -1, lexicon.vocabulary.id(HAS_PLACE)).astype(np.int32),
    ]
    terms = _with_further(scan.terms, np.stack(further, axis=1))
    return Posts(terms, scan.surfaces, lats, lons, scan.truncated, misplaced)


def off_earth(posts: pa.Table | pa.RecordBatch, lat: str | None = None, lon: str | None = None) -> NDArray[np.bool_]:
    """Tell which posts have coordinates that no place on Earth has; columns are named as for `read_posts`."""
    lats = _degrees(posts, _chosen(posts, lat, "lat"))
    lons = _degrees(posts, _chosen(posts, lon, "lon"))
    return ~(np.isnan(lats) | np.isnan(lons) | _on_earth(lats, lons))


def post_terms(
    analyzer: Analyzer,
    text: str | None,
    author: str | None = None,
    lang: str | None = None,
    place: bool = False,
) -> set[str]:
    """Return the terms of one post, apart from prefixes and exact forms, which only a vocabulary can list.

    >>> sorted(post_terms(Analyzer(), "Storms over #Kiel", author="NASA", lang="en-GB", place=True))
    ['#kiel', 'from:nasa', 'has:place', 'lang:en', 'storm']
    """
    found = {analyzer.term(token.surface) for token in analyzer.tokens(text or "")}
    terms = {term for term in found if term is not None}
    if author:
        terms.add(author_term(author))
    if lang:
        terms.add(lang_term(lang))
    if place:
        terms.add(HAS_PLACE)
    return terms


def author_term(name: str) -> str:
    """Return the term for posts by an account.

    >>> author_term("@NASA")
    'from:nasa'
    """
    return "from:" + surface_of(name.strip().removeprefix("@"))


def lang_term(code: str) -> str:
    """Return the term for posts in a language: the primary subtag of its code.

    >>> lang_term("pt-BR"), lang_term("EN_us")
    ('lang:pt', 'lang:en')
    """
    return "lang:" + code.strip().replace("_", "-").partition("-")[0].lower()


def _chosen(posts: _Table, given: str | None, usual: str) -> str | None:
    """Return the name of the column to read, or None if none is given and the usual one is not there."""
    return usual if given is None and usual in posts.schema.names else given


def _column(posts: _Table, name: str) -> _Column:
    names = posts.schema.names
    if name not in names:
        raise ConfigError(f"posts have no column {name!r}: the columns are {', '.join(names)}")
    if names.count(name) > 1:
        raise ConfigError(f"posts have {names.count(name)} columns {name!r}: only one may be called so")
    return posts.column(name)


def _ids(posts: _Table, name: str | None, term: Callable[[str], str], vocabulary: Vocabulary) -> Int32:
    """Return per post the id of the term of its value in a column, or -1."""
    if name is None:
        return np.full(posts.num_rows, -1, dtype=np.int32)
    column = _column(posts, name)
    try:
        column = column.cast(pa.large_string())
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as error:
        raise ConfigError(f"column {name!r} is of type {column.type}: strings are needed ({error})") from error
    return _by_value(column, lambda value: vocabulary.id(term(value)), -1).astype(np.int32)


def _degrees(posts: _Table, name: str | None) -> Degrees:
    """Return the numbers of a column: NaN where there is none, and infinity for what cannot be read as one."""
    if name is None:
        return np.full(posts.num_rows, np.nan)
    column = _column(posts, name)
    try:
        # Not the safe cast: an integer so large that a float rounds it is far from Earth in any case.
        return pc.fill_null(column.cast(pa.float64(), safe=False), np.nan).to_numpy()  # type: ignore[no-any-return]
    except pa.ArrowNotImplementedError as error:
        raise ConfigError(f"column {name!r} is of type {column.type}: numbers are needed ({error})") from error
    except pa.ArrowInvalid:
        return _by_value(column.cast(pa.large_binary()), _number, np.nan)


def _number(written: bytes) -> float:
    """Read a number just as a whole column is read: what one post says must not change how another is read."""
    try:
        return pa.scalar(written).cast(pa.float64()).as_py()  # type: ignore[no-any-return]
    except pa.ArrowInvalid:
        return np.inf


def _by_value(column: _Column, read: Callable[[Any], float], nothing: float) -> NDArray[Any]:
    """Return what is read from each value of a column, or `nothing` for a null; equal values are read once."""
    encoded = (column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column).dictionary_encode()
    dictionary = encoded.dictionary
    values = (mended(dictionary) if pa.types.is_large_string(dictionary.type) else dictionary).to_pylist()
    readings = np.array([*map(read, values), nothing])
    return readings[encoded.indices.fill_null(len(values)).to_numpy()]  # type: ignore[no-any-return]


def _places(lat: Degrees, lon: Degrees) -> tuple[Degrees, Degrees, int]:
    """Return the places with both coordinates, on Earth, and how many were not on Earth."""
    given = ~(np.isnan(lat) | np.isnan(lon))
    on_earth = _on_earth(lat, lon)
    misplaced = int(np.count_nonzero(given & ~on_earth))
    return np.where(on_earth, lat, np.nan), np.where(on_earth, lon, np.nan), misplaced


def _on_earth(lat: Degrees, lon: Degrees) -> NDArray[np.bool_]:
    return (np.abs(lat) <= 90) & (np.abs(lon) <= 180)


@njit(cache=True)
def _with_further(terms: Csr, further: NDArray[np.int32]) -> Csr:
    """Append to each row its ids in `further` that are not -1."""
    offsets = np.zeros_like(terms.offsets)
    values = np.empty(len(terms.values) + further.size, np.int32)
    count = 0
    for row in range(len(further)):
        for k in range(terms.offsets[row], terms.offsets[row + 1]):
            values[count] = terms.values[k]
            count += 1
        for term_id in further[row]:
            if term_id >= 0:
                values[count] = term_id
                count += 1
        offsets[row + 1] = count
    return Csr(offsets, values[:count])
