"""Who asks for what: subscriptions read into distinct queries, the bad ones set aside."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tidegate.csr import Int32
from tidegate.errors import ConfigError, TidegateError
from tidegate.index.refusal import Refusal, nameless, taken
from tidegate.index.strings import strings
from tidegate.query.conjunction import Query
from tidegate.query.normal import Limits
from tidegate.query.parse import parse_many
from tidegate.text.analyzer import Analyzer


@dataclass(frozen=True)
class Asked:
    """Accepted subscriptions, in their order, and the distinct queries they ask for."""

    ids: pa.LargeStringArray
    """By subscription."""
    holders: pa.LargeStringArray
    """By subscription: who holds it; empty where nobody is named."""
    query_of: Int32
    """By subscription: the number of its query."""
    queries: list[Query]
    rankings: pa.LargeStringArray | None = None
    """By subscription: how its matches are ranked, null where they are not; None: nobody's are."""

    @classmethod
    def read(
        cls,
        subscriptions: Iterable[str | None],
        queries: Iterable[str | None],
        analyzer: Analyzer,
        *,
        holders: Iterable[str | None] | None = None,
        rankings: Iterable[str | None] | None = None,
        limits: Limits | None = None,
    ) -> tuple[Self, list[Refusal]]:
        """Read ids and queries (sequences or Arrow arrays); return what was refused, and why, beside the rest.

        Every distinct text is parsed once; nothing else is done in Python per subscription.
        """
        try:
            ids, texts = strings(subscriptions).fill_null(""), strings(queries)
        except pa.ArrowException as error:
            raise ConfigError(f"subscription ids and queries are text, and these are not: {error}") from error
        if len(ids) != len(texts):
            raise ConfigError(f"{len(ids)} subscription ids for {len(texts)} queries: give as many of each")
        named = pa.repeat(pa.scalar("", pa.large_string()), len(ids)) if holders is None else strings(holders)
        distinct, query_of, refused = _read(ids, texts, analyzer, limits or Limits())
        accepted = np.flatnonzero(query_of >= 0)
        rows = pa.array(accepted)
        ranked = None if rankings is None else strings(rankings).take(rows)
        return cls(ids.take(rows), named.fill_null("").take(rows), query_of[accepted], distinct, ranked), refused

    def only(self, wanted: NDArray[np.bool_]) -> Self:
        """Return the queries marked in `wanted`, and the subscriptions that ask for them."""
        numbers = np.cumsum(wanted, dtype=np.int32) - 1
        kept = np.flatnonzero(wanted[self.query_of])
        rows = pa.array(kept)
        queries = [self.queries[number] for number in np.flatnonzero(wanted)]
        return type(self)(
            self.ids.take(rows),
            self.holders.take(rows),
            numbers[self.query_of[kept]].astype(np.int32),
            queries,
            None if self.rankings is None else self.rankings.take(rows),
        )


def _read(
    ids: pa.LargeStringArray, texts: pa.LargeStringArray, analyzer: Analyzer, limits: Limits
) -> tuple[list[Query], Int32, list[Refusal]]:
    """Return the distinct queries, the query of every subscription (-1: refused), and the refusals by row."""
    encoded = texts.fill_null("").dictionary_encode()
    parsed, errors = parse_many(encoded.dictionary.to_pylist(), analyzer, limits)
    numbers: dict[str, int] = {}
    distinct: list[Query] = []
    by_text = np.empty(len(parsed), np.int32)
    problems: dict[int, TidegateError] = {}
    reasons = iter(errors)
    for text, query in enumerate(parsed):
        if query is None:
            by_text[text], problems[text] = -1, next(reasons)
            continue
        by_text[text] = numbers.setdefault(query.id, len(distinct))
        if by_text[text] == len(distinct):
            distinct.append(query)
    text_of = encoded.indices.to_numpy()
    query_of = by_text[text_of]
    refused = {int(row): problems[int(text_of[row])] for row in np.flatnonzero(query_of < 0)}
    for row in np.flatnonzero(pc.equal(ids, "").to_numpy(zero_copy_only=False) & (query_of >= 0)):
        refused[int(row)] = nameless()
        query_of[row] = -1
    accepted = np.flatnonzero(query_of >= 0)
    holders = ids.take(pa.array(accepted)).dictionary_encode().indices.to_numpy(zero_copy_only=False)
    again = np.setdiff1d(np.arange(len(accepted)), np.unique(holders, return_index=True)[1])
    for row in accepted[again]:
        refused[int(row)] = taken(ids[int(row)].as_py())
        query_of[row] = -1
    # A query that only refused subscriptions ask for is nobody's.
    wanted, renumbered = np.unique(query_of[query_of >= 0], return_inverse=True)
    query_of[query_of >= 0] = renumbered
    refusals = [Refusal(row, ids[row].as_py(), refused[row]) for row in sorted(refused)]
    return [distinct[number] for number in wanted], query_of, refusals
