"""What a subscription may ask for: the one check that single calls, batches, imports and streams all go through."""

from collections.abc import Iterable
from datetime import datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.csr import Int64
from tidegate.errors import ConfigError, QueryError, TidegateError
from tidegate.index.strings import strings
from tidegate.query.conjunction import Query
from tidegate.query.parse import parse
from tidegate.query.syntax import Group, syntax_tree
from tidegate.rank.ranking import checked_ranking
from tidegate.rank.score import Scorable
from tidegate.store.schema import beyond_calendar, whole_query
from tidegate.text.analyzer import Analyzer
from tidegate.text.utf8 import is_utf8, mended


def checked_query(query: str, region: str | None, analyzer: Analyzer) -> Query:
    """Return the whole query of a subscription, or raise `QueryError` if it or its region cannot be accepted.

    >>> checked_query("storm OR flood", "in:(-10,36,4,44)", Analyzer()).canonical
    'flood in:(-10,36,4,44) OR storm in:(-10,36,4,44)'
    """
    alone = parse(query, analyzer)
    if not region:
        return alone
    if not _is_one_place(region):
        hint = "write in:(west,south,east,north) or near:(lat,lon,radius_km)"
        raise QueryError("a region is one place and nothing else", region, 0, hint)
    try:
        return parse(whole_query(query, region), analyzer)
    except QueryError:
        parse(region, analyzer)  # where the region is to blame, its own text is the one to point into
        raise


def query_errors(
    queries: Iterable[str | None], regions: Iterable[str | None], analyzer: Analyzer
) -> dict[int, QueryError]:
    """Return by row, rising, why a query and its region (sequences or Arrow arrays) cannot be accepted.

    Every distinct pair is checked once; nothing else is done in Python per row that is good.
    """
    texts, places = (strings(given).fill_null("").dictionary_encode() for given in (queries, regions))
    n_places = max(1, len(places.dictionary))
    pairs = texts.indices.to_numpy().astype(np.int64) * n_places + places.indices.to_numpy()
    distinct = pa.array(pairs).dictionary_encode()
    text_of, place_of = np.divmod(distinct.dictionary.to_numpy(), n_places)
    wrong: dict[int, QueryError] = {}
    asked = zip(texts.dictionary.take(text_of).to_pylist(), places.dictionary.take(place_of).to_pylist(), strict=True)
    for number, (query, region) in enumerate(asked):
        try:
            checked_query(query, region, analyzer)
        except QueryError as error:
            wrong[number] = error
    numbers = distinct.indices.to_numpy()
    return {int(row): wrong[int(numbers[row])] for row in np.flatnonzero(np.isin(numbers, list(wrong)))}


def ranking_errors(rankings: Iterable[str | None], known: Scorable) -> dict[int, ConfigError]:
    """Return by row, rising, why a ranking cannot be accepted; every distinct one is looked at once."""
    texts = strings(rankings).dictionary_encode()
    wrong: dict[int, ConfigError] = {}
    for number, text in enumerate(texts.dictionary.to_pylist()):
        try:
            checked_ranking(text, known)
        except ConfigError as error:
            wrong[number] = error
    numbers = texts.indices.fill_null(-1).to_numpy()
    return {int(row): wrong[int(numbers[row])] for row in np.flatnonzero(np.isin(numbers, list(wrong)))}


def subscription_errors(rows: pa.Table, analyzer: Analyzer, known: Scorable) -> dict[int, TidegateError]:
    """Return by row why a subscription cannot be accepted: what it asks for, or that nobody asks.

    `known` is what scores can go by.
    """
    found: dict[int, TidegateError] = {}
    for name in ("id", "subscriber", "query", "region", "ranking"):
        for row in np.flatnonzero(~is_utf8(strings(rows.column(name)))):
            found[int(row)] = ConfigError(f"its {name} is no UTF-8: decode it first")
    queries, regions, rankings = (mended(strings(rows.column(name))) for name in ("query", "region", "ranking"))
    found = {**ranking_errors(rankings, known), **query_errors(queries, regions, analyzer), **found}
    nobody = pc.equal(strings(rows.column("subscriber")).fill_null(""), "")
    for row in np.flatnonzero(nobody.to_numpy(zero_copy_only=False)):
        found.setdefault(int(row), ConfigError("a subscription has no subscriber: name whose it is"))
    for name in ("created", "expires"):
        for row in _beyond_calendar(rows.column(name)).tolist():
            found.setdefault(row, beyond_calendar(name, rows.column(name)[row].cast(pa.string()).as_py()))
    return found


def _beyond_calendar(times: pa.ChunkedArray) -> Int64:
    """The rows with a time that Arrow has and Python has not."""
    first, last = (pa.scalar(moment, pa.timestamp("us")).value for moment in (datetime.min, datetime.max))
    counted = times.cast(pa.int64())
    outside = pc.or_(pc.less(counted, first), pc.greater(counted, last))
    return np.flatnonzero(outside.fill_null(False).to_numpy())


def _is_one_place(text: str) -> bool:
    """Tell whether the text is a single place: with an operator in it, a query beside it would not be held inside."""
    try:
        tree = syntax_tree(text)
    except QueryError:
        return False
    return not isinstance(tree, Group) and tree.type == "PLACE"
