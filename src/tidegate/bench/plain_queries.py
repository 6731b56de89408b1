"""Queries that are words and nothing else: what subscriptions of benchmarks ask for."""

from collections.abc import Iterator

from tidegate.csr import Csr
from tidegate.query.conjunction import Conjunction, Query, id_of


def plain_queries(sets: Csr, words: list[str]) -> Iterator[Query]:
    """Yield the query of every row of word numbers, each word of which is its own stem."""
    for row in range(sets.rows):
        terms = tuple(sorted(words[word] for word in sets.row(row).tolist()))
        canonical = " ".join(terms)
        yield Query((Conjunction(terms),), canonical, id_of(canonical))
