"""Placement: at which matcher every query lives, and to which matchers a word leads (S³-TM's word ownership).

Words are owned by hash, before anything is learned from the stream. A query lives at exactly one matcher, so that
what the matchers find is simply put together: no match is found twice.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from zlib import crc32

import numpy as np

from tidegate.csr import Csr, Int32, Int64, offsets_of
from tidegate.query.conjunction import Query
from tidegate.route.plan import Plan


@dataclass(frozen=True)
class Placement:
    """Where queries live, and the way there."""

    homes: Int32
    """By query: the matcher it lives at."""
    keys: list[str]
    """The terms that lead anywhere, in alphabetical order."""
    routes: Csr
    """By key: the matchers a post that holds it must visit, rising."""
    matchers: int


def owner(term: str, matchers: int) -> int:
    """Return the matcher that owns a term: the same in every process, on every machine, in every version.

    Python's own hash is salted anew in each process. CRC-32 is a standard, one call, and its remainder spreads words,
    names and numbered tags as evenly as chance would.

    >>> owner("storm", 16), owner("#eclipse", 16)
    (5, 13)
    """
    return crc32(term.encode()) % matchers


def place(queries: Sequence[Query], plan: Plan) -> Placement:
    """Find a home for every query, so that a post which visits the routes of its terms reaches all it satisfies.

    The key of a conjunction is the rarest of its positive terms (the fewest conjunctions have it), and a query lives
    where most of its keys are owned. Each key leads to the homes of all queries that have it. Proof: a post that
    satisfies a query satisfies one of its conjunctions, hence holds that one's key, which leads to the query's home.

    The order of the queries makes no difference.
    """
    conjunctions = [conjunction for query in queries for conjunction in query.conjunctions]
    count = Counter(chain.from_iterable(conjunction.positive for conjunction in conjunctions))
    # Positive terms are sorted: among equally rare ones, the first in the alphabet is taken.
    chosen = [min(conjunction.positive, key=count.__getitem__) for conjunction in conjunctions]
    keys = sorted(set(chosen))
    numbers = {key: number for number, key in enumerate(keys)}
    key_of = np.fromiter(map(numbers.__getitem__, chosen), np.int64, len(chosen))
    query_of = np.repeat(np.arange(len(queries)), [len(query.conjunctions) for query in queries])
    owners = np.array([owner(key, plan.matchers) for key in keys], np.int64)
    homes = _homes(query_of, key_of, owners, plan.matchers)
    return Placement(homes, keys, _routes(key_of, homes[query_of], len(keys), plan.matchers), plan.matchers)


def _homes(query_of: Int64, key_of: Int64, owners: Int64, matchers: int) -> Int32:
    """Return for every query the matcher that owns most of its distinct keys, the lowest on ties."""
    query, key, _ = _pairs(query_of, key_of, len(owners))
    query, matcher, votes = _pairs(query, owners[key], matchers)
    order = np.lexsort((-votes, query))  # stable: matchers rise within a query already
    _, first = np.unique(query[order], return_index=True)
    return matcher[order[first]].astype(np.int32)


def _routes(key_of: Int64, home_of: Int32, n_keys: int, matchers: int) -> Csr:
    """Return for every key the distinct homes beside it."""
    key, home, _ = _pairs(key_of, home_of, matchers)
    return Csr(offsets_of(np.bincount(key, minlength=n_keys)), home.astype(np.int32))


def _pairs(rows: Int64, values: Int64 | Int32, n_values: int) -> tuple[Int64, Int64, Int64]:
    """Return the distinct pairs, by row and then by value, and how often each occurs."""
    packed, counts = np.unique(rows * n_values + values, return_counts=True)
    row, value = np.divmod(packed, max(n_values, 1))
    return row, value, counts
