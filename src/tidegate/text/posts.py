"""Posts as columns of term ids, and the terms of one post in plain Python, which they are compared with."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numba import njit
from numpy.typing import NDArray

from tidegate.csr import Csr, Int32
from tidegate.errors import ConfigError
from tidegate.text.analyzer import Analyzer
from tidegate.text.lexicon import Lexicon
from tidegate.text.profile import surface_of

HAS_PLACE = "has:place"
"""The term of every post with a place."""

Degrees = NDArray[np.float64]


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
    """How many posts lost a place that is not on Earth."""

    def __len__(self) -> int:
        """Return the number of posts."""
        return self.terms.rows


def read_posts(
    table: pa.Table | pa.RecordBatch,
    lexicon: Lexicon,
    *,
    text: str = "text",
    author: str = "author",
    lang: str = "lang",
    lat: str = "lat",
    lon: str = "lon",
    sequences: bool = False,
) -> Posts:
    """Read posts from the named columns; all but the text may be missing, and any value may be null."""
    if text not in table.schema.names:
        raise ConfigError(f"posts have no column {text!r}: the columns are {', '.join(table.schema.names)}")
    scan = lexicon.scan(table.column(text), sequences=sequences)
    lats, lons, misplaced = _places(_degrees(table, lat), _degrees(table, lon))
    further = [_ids(table, author, author_term, lexicon), _ids(table, lang, lang_term, lexicon)]
    further.append(np.where(np.isnan(lats), -1, lexicon.vocabulary.id(HAS_PLACE)).astype(np.int32))
    terms = _with_further(scan.terms, np.stack(further, axis=1))
    return Posts(terms, scan.surfaces, lats, lons, scan.truncated, misplaced)


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


def _ids(table: pa.Table | pa.RecordBatch, name: str, term: Callable[[str], str], lexicon: Lexicon) -> Int32:
    """Return per post the id of the term of its value in a column, or -1; distinct values are read once."""
    column = _column(table, name, pa.large_string())
    if column is None:
        return np.full(table.num_rows, -1, dtype=np.int32)
    encoded = column.dictionary_encode()
    values = encoded.dictionary.to_pylist()
    ids = np.array([*(lexicon.vocabulary.id(term(value)) for value in values), -1], dtype=np.int32)
    looked_up: Int32 = ids[encoded.indices.fill_null(len(values)).to_numpy()]
    return looked_up


def _degrees(table: pa.Table | pa.RecordBatch, name: str) -> Degrees:
    column = _column(table, name, pa.float64())
    if column is None:
        return np.full(table.num_rows, np.nan)
    return pc.fill_null(column, np.nan).to_numpy()  # type: ignore[no-any-return]


def _column(table: pa.Table | pa.RecordBatch, name: str, wanted: pa.DataType) -> pa.Array | None:
    """Return a column as one array of the wanted type, or None if there is no such column."""
    if name not in table.schema.names:
        return None
    column = table.column(name)
    try:
        column = column.cast(wanted)
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as error:
        raise ConfigError(f"column {name!r} is of type {column.type}: {wanted} is needed ({error})") from error
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _places(lat: Degrees, lon: Degrees) -> tuple[Degrees, Degrees, int]:
    """Return the places with both coordinates, on Earth, and how many were not on Earth."""
    given = ~(np.isnan(lat) | np.isnan(lon))
    on_earth = (np.abs(lat) <= 90) & (np.abs(lon) <= 180)
    misplaced = int(np.count_nonzero(given & ~on_earth))
    return np.where(on_earth, lat, np.nan), np.where(on_earth, lon, np.nan), misplaced


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
