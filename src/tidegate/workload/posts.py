"""Generated posts with text: a topic each, sentences with filled slots, tags, mentions, links and places.

For the demonstration and for tests. All is done on Arrow and NumPy arrays; no post is a Python object.
"""

import re
from functools import cache
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.csr import Csr, Int32, from_rows, offsets_of
from tidegate.workload import words
from tidegate.workload.alias import Alias, State, alias_table, random_state, sample_table
from tidegate.workload.terms import zipf

INVENTED: Final = 50_000
"""Invented words in use; the commonest are shared by many posts, the rarest by none."""
ACCOUNTS: Final = 5_000
_LINKS: Final = 20_000

_START: Final = np.datetime64("2026-01-01T00:00:00", "us")
_MOST_SENTENCES: Final = 3
_PLACED_SHARE: Final = 0.3
_UNKNOWN_LANGUAGE_SHARE: Final = 0.03
_JITTER_DEGREES: Final = 0.1


def posts(n: int, seed: int, per_second: float = 100.0) -> pa.Table:
    """`n` posts: id, ts, author, text, lang, lat, lon; some have no place, some no language.

    Words follow Zipf laws, and the words of a post share a topic. The same arguments give the same table.
    """
    state, generator = random_state(seed), np.random.default_rng(seed)
    places = sample_table(law(len(words.PLACES)), n, state)
    lat, lon = positions(places, generator)
    waits = generator.exponential(1e6 / per_second, n).astype("timedelta64[us]")
    lang = languages(n, generator)
    author = authors(n, state)
    return pa.table(
        {
            "id": np.arange(n, dtype=np.int64),
            "ts": pa.array(_START + np.cumsum(waits), pa.timestamp("us", tz="UTC")),
            "author": author,
            "text": texts(usual_topics(n, state), places, state),
            "lang": lang,
            "lat": lat,
            "lon": lon,
        }
    )


@cache
def law(size: int, exponent: float = 1.0) -> Alias:
    """The Zipf law over `size` ranks, tabulated once; an exponent of 0 makes all alike."""
    return alias_table(zipf(size, exponent))


def positions(places: Int32, generator: np.random.Generator) -> tuple[pa.Array, pa.Array]:
    """Latitudes and longitudes near the places; most posts do not say where they are."""
    n = len(places)
    lat = np.array([place.lat for place in words.PLACES])[places] + generator.normal(0, _JITTER_DEGREES, n)
    lon = np.array([place.lon for place in words.PLACES])[places] + generator.normal(0, _JITTER_DEGREES, n)
    unplaced = generator.random(n) >= _PLACED_SHARE
    return pa.array(lat, mask=unplaced), pa.array(lon, mask=unplaced)


def languages(n: int, generator: np.random.Generator) -> pa.Array:
    """The language of `n` posts, a few of them unknown."""
    unknown = generator.random(n) < _UNKNOWN_LANGUAGE_SHARE
    return pa.array(np.full(n, "en"), pa.string(), mask=unknown)


def authors(n: int, state: State) -> pa.Array:
    """Who wrote each of `n` posts: some accounts write far more than others."""
    return words.account_names(ACCOUNTS).take(pa.array(sample_table(law(ACCOUNTS, 0.7), n, state)))


def usual_topics(n: int, state: State) -> Int32:
    """What each of `n` posts is about, on a day when nothing happens."""
    return sample_table(law(len(words.TOPICS), 0.5), n, state)


class _Phrasebook(NamedTuple):
    """Every piece that texts are joined from, and the sentences as rows of pieces and slots."""

    pieces: pa.Array
    slots: dict[str, int]
    """Where the fillers of each slot begin among the pieces."""
    sentences: Csr
    """A slot stands as the first of its fillers."""
    laws: dict[str, Alias]
    """How often each filler of a slot is chosen; a place is the post's own."""


@cache
def _phrasebook() -> _Phrasebook:
    topic = words.topic_words()
    fillers = {
        "topic": pa.array(topic),
        "tag": pa.array(["#" + word for word in topic]),
        "quality": pa.array(words.QUALITIES.split()),
        "action": pa.array(words.ACTIONS.split()),
        "place": pa.array([place.name for place in words.PLACES]),
        "name": words.invented_words(INVENTED),
        "account": pc.binary_join_element_wise("@", words.account_names(ACCOUNTS), ""),
        "link": pc.binary_join_element_wise("https://example.org/", words.invented_words(_LINKS), ""),
    }
    *starts, first_literal = offsets_of([len(filler) for filler in fillers.values()]).tolist()
    slots = dict(zip(fillers, starts, strict=True))
    # Splitting at a group alternates literals and the names of slots.
    parts = [re.split(r"\{(\w+)\}", sentence) for sentence in words.SENTENCES]
    literals = sorted({literal for row in parts for literal in row[::2]})
    numbers = {literal: first_literal + i for i, literal in enumerate(literals)}
    rows = [[slots[part] if i % 2 else numbers[part] for i, part in enumerate(row)] for row in parts]
    laws = {
        "topic": law(words.TOPIC_SIZE),
        "tag": law(words.TOPIC_SIZE),
        "quality": law(len(fillers["quality"]), 0.7),
        "action": law(len(fillers["action"]), 0.7),
        "name": law(INVENTED),
        "account": law(ACCOUNTS),
        "link": law(_LINKS, 0.0),
    }
    return _Phrasebook(pa.concat_arrays([*fillers.values(), pa.array(literals)]), slots, from_rows(rows), laws)


def texts(topics: Int32, places: Int32, state: State) -> pa.Array:
    """One text for each topic and place, of one to three sentences."""
    book = _phrasebook()
    n = len(places)
    sentence_offsets = offsets_of(1 + sample_table(law(_MOST_SENTENCES, 0.0), n, state))
    sentences = sample_table(law(book.sentences.rows, 0.0), int(sentence_offsets[-1]), state)
    pieces = _gathered(book.sentences, sentences)
    offsets = pieces.offsets[sentence_offsets]
    post_of_piece = np.repeat(np.arange(n, dtype=np.int32), np.diff(offsets))
    for slot, start in book.slots.items():
        at = np.flatnonzero(pieces.values == start)
        if slot == "place":
            pieces.values[at] += places[post_of_piece[at]]
            continue
        pieces.values[at] += sample_table(book.laws[slot], len(at), state)
        if slot in ("topic", "tag"):
            pieces.values[at] += words.TOPIC_SIZE * topics[post_of_piece[at]]
    joined = pc.binary_join(
        pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), book.pieces.take(pa.array(pieces.values))), ""
    )
    return pc.utf8_rtrim_whitespace(joined)


def _gathered(rows: Csr, wanted: Int32) -> Csr:
    """The wanted rows one after the other, as a copy.

    >>> _gathered(from_rows([[1], [2, 3]]), np.array([1, 0, 1], np.int32)).values.tolist()
    [2, 3, 1, 2, 3]
    """
    lengths = np.diff(rows.offsets)[wanted]
    offsets = offsets_of(lengths)
    at = np.arange(offsets[-1]) + np.repeat(rows.offsets[wanted] - offsets[:-1], lengths)
    return Csr(offsets, rows.values[at])
