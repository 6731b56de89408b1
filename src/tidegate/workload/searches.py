"""Generated saved searches over the words of the generated posts, in every form the query language has."""

from collections.abc import Callable
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.csr import Int32, offsets_of
from tidegate.workload import words
from tidegate.workload.alias import State, random_state, sample
from tidegate.workload.lengths import web_queries
from tidegate.workload.posts import ACCOUNTS, INVENTED
from tidegate.workload.terms import Floats, uniform, zipf

_SEARCHES_PER_SUBSCRIBER: Final = 3
_PREFIX: Final = 4
_MARGINS: Final = np.array([0.2, 0.5, 1.0, 5.0])
"""Half widths of rectangles, in degrees."""
_RADII: Final = np.array([5.0, 20.0, 50.0, 250.0])
"""Kilometres."""


def saved_searches(n: int, seed: int) -> pa.Table:
    """`n` searches: id, subscriber, query. Popular queries repeat; the same arguments give the same table."""
    state = random_state(seed)
    pool = _queries(max(1, n // 2), state)
    chosen = sample(zipf(len(pool), 0.6), n, state)
    subscribers = sample(uniform(n // _SEARCHES_PER_SUBSCRIBER + 1), n, state)
    return pa.table(
        {
            "id": np.arange(n, dtype=np.int64),
            "subscriber": pc.binary_join_element_wise("reader", pa.array(subscribers).cast(pa.string()), ""),
            "query": pool.take(pa.array(chosen)),
        }
    )


def _queries(n: int, state: State) -> pa.Array:
    """`n` queries, their forms in random order."""
    forms = sample(np.array([share for share, _ in _FORMS]), n, state)
    order = np.argsort(forms, kind="stable")
    counts = np.bincount(forms, minlength=len(_FORMS))
    topics = sample(zipf(len(words.TOPICS), 0.5), n, state)[order]
    ends = np.cumsum(counts)
    queries = [
        form(topics[end - count : end], state) for (_, form), count, end in zip(_FORMS, counts, ends, strict=True)
    ]
    return pa.concat_arrays(queries).take(pa.array(np.argsort(order)))


# A form makes one query for each of the given topics.


def _plain(topics: Int32, state: State) -> pa.Array:
    """Words, as many as web queries have."""
    offsets = offsets_of(sample(web_queries(), len(topics), state))
    listed = _words(np.repeat(topics, np.diff(offsets)), state)
    return pc.binary_join(pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), listed), " ")


def _either(topics: Int32, state: State) -> pa.Array:
    return _joined(_words(topics, state), " OR ", _words(topics, state))


def _grouped(topics: Int32, state: State) -> pa.Array:
    return _joined("(", _either(topics, state), ") ", _topic_words(topics, state), " NOT ", _names(len(topics), state))


def _without(topics: Int32, state: State) -> pa.Array:
    return _joined(_topic_words(topics, state), " -", _names(len(topics), state))


def _phrase(topics: Int32, state: State) -> pa.Array:
    return _joined('"', _qualities(len(topics), state), " ", _topic_words(topics, state), '"')


def _prefix(topics: Int32, state: State) -> pa.Array:
    return _joined(pc.utf8_slice_codeunits(_words(topics, state), 0, _PREFIX), "* ", _topic_words(topics, state))


def _tag(topics: Int32, state: State) -> pa.Array:
    return _joined("#", _topic_words(topics, state))


def _mention(topics: Int32, state: State) -> pa.Array:
    return _joined("@", _accounts(len(topics), state), " ", _topic_words(topics, state))


def _author(topics: Int32, state: State) -> pa.Array:
    return _joined("from:", _accounts(len(topics), state))


def _language(topics: Int32, state: State) -> pa.Array:
    return _joined(_words(topics, state), " lang:en")


def _rectangle(topics: Int32, state: State) -> pa.Array:
    lat, lon = _positions(len(topics), state)
    margin = _MARGINS[sample(uniform(len(_MARGINS)), len(topics), state)]
    east = np.where(lon + margin > 180, lon + margin - 360, lon + margin)  # past the antimeridian: west > east
    corners = _numbers(lon - margin, lat - margin, east, lat + margin)
    return _joined(_topic_words(topics, state), " in:(", corners, ")")


def _circle(topics: Int32, state: State) -> pa.Array:
    lat, lon = _positions(len(topics), state)
    radius = _RADII[sample(uniform(len(_RADII)), len(topics), state)]
    return _joined(_topic_words(topics, state), " near:(", _numbers(lat, lon, radius), ")")


_FORMS: Final[tuple[tuple[float, Callable[[Int32, State], pa.Array]], ...]] = (
    (0.66, _plain),
    (0.06, _either),
    (0.02, _grouped),
    (0.05, _without),
    (0.05, _phrase),
    (0.03, _prefix),
    (0.05, _tag),
    (0.02, _mention),
    (0.03, _author),
    (0.01, _language),
    (0.01, _rectangle),
    (0.01, _circle),
)


def _words(topics: Int32, state: State) -> pa.Array:
    """A word each: mostly of the topic, else a name, a quality, an action or a place."""
    kinds = sample(np.array([0.56, 0.22, 0.10, 0.05, 0.07]), len(topics), state)
    actions = _picked(words.ACTIONS.split(), 0.7, len(topics), state)
    places = _picked([place.name.lower() for place in words.PLACES], 1.0, len(topics), state)
    drawn = (
        _topic_words(topics, state),
        _names(len(topics), state),
        _qualities(len(topics), state),
        actions,
        places,
    )
    return pc.choose(pa.array(kinds).cast(pa.int64()), *drawn)


def _topic_words(topics: Int32, state: State) -> pa.Array:
    ranks = sample(zipf(words.TOPIC_SIZE), len(topics), state)
    return pa.array(words.topic_words()).take(pa.array(words.TOPIC_SIZE * topics + ranks))


def _names(n: int, state: State) -> pa.Array:
    return words.invented_words(INVENTED).take(pa.array(sample(zipf(INVENTED), n, state)))


def _qualities(n: int, state: State) -> pa.Array:
    return _picked(words.QUALITIES.split(), 0.7, n, state)


def _accounts(n: int, state: State) -> pa.Array:
    return words.account_names(ACCOUNTS).take(pa.array(sample(zipf(ACCOUNTS, 0.7), n, state)))


def _positions(n: int, state: State) -> tuple[Floats, Floats]:
    places = sample(zipf(len(words.PLACES)), n, state)
    lat, lon = (np.array([place[i] for place in words.PLACES])[places] for i in (1, 2))
    return lat, lon


def _picked(choices: list[str], exponent: float, n: int, state: State) -> pa.Array:
    return pa.array(choices).take(pa.array(sample(zipf(len(choices), exponent), n, state)))


def _joined(*parts: pa.Array | str) -> pa.Array:
    return pc.binary_join_element_wise(*parts, "")


def _numbers(*columns: Floats) -> pa.Array:
    # Through decimals, so that 151.41 is not written as 151.41000000000003.
    texts = [pa.array(np.round(column, 2)).cast(pa.decimal128(7, 2)).cast(pa.string()) for column in columns]
    return pc.binary_join_element_wise(*texts, ",")
