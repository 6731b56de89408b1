"""Conjunctions by number: which query each belongs to, and what is to be checked when an index proposes it.

Shared by the matcher that changes and the one that is compiled; a conjunction is numbered as the index's entry.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tidegate.csr import Csr, Int32, offsets_of
from tidegate.growth import with_room
from tidegate.index.checks import NO_CHECKS, CheckArrays, Checks, PostColumns, passes, post_columns
from tidegate.kernels import njit
from tidegate.query.conjunction import Conjunction, Query
from tidegate.text.lexicon import Lexicon
from tidegate.text.posts import Posts


class Verification(NamedTuple):
    """What verifying proposed conjunctions needs, in arrays."""

    query_of: Int32
    """By conjunction."""
    check_of: Int32
    """By conjunction: where its checks begin, or `NO_CHECKS`."""
    checks: CheckArrays

    def queries(self, proposed: Csr, posts: Posts, n_terms: int, n_queries: int) -> Csr:
        """Return for every post the distinct queries of its proposed conjunctions whose checks it passes."""
        held, reported = np.zeros(n_terms, np.int32), np.zeros(n_queries, np.int32)
        return Csr(*_verified(self, proposed, post_columns(posts), held, reported))


class Conjunctions:
    """Grows with the queries of a matcher."""

    def __init__(self, lexicon: Lexicon) -> None:
        """Number terms and surface forms by this lexicon."""
        self._lexicon = lexicon
        self._checks = Checks()
        self._rows = 0
        self._query_of: Int32 = np.empty(64, np.int32)
        self._check_of: Int32 = np.empty(64, np.int32)

    @property
    def reads_phrases(self) -> bool:
        """Whether a post's words are needed in sequence."""
        return self._checks.reads_phrases

    @property
    def verification(self) -> Verification:
        """The conjunctions so far."""
        return Verification(self._query_of[: self._rows], self._check_of[: self._rows], self._checks.arrays)

    def prepare(self, queries: Sequence[Query]) -> tuple[Csr, list[int]]:
        """Return the term set of every conjunction of the queries, one after the other, and where its checks begin.

        Nothing is numbered yet: that is for `append`, when whatever else can fail has not.
        """
        conjunctions = [conjunction for query in queries for conjunction in query.conjunctions]
        sets = self._term_sets(conjunctions)
        return sets, [self._checks.add(conjunction, self._lexicon) for conjunction in conjunctions]

    def append(self, queries: Int32, checks: list[int]) -> None:
        """Number the next conjunctions: these are their queries and checks."""
        first, self._rows = self._rows, self._rows + len(checks)
        self._query_of, self._check_of = with_room(self._query_of, self._rows), with_room(self._check_of, self._rows)
        self._query_of[first : self._rows], self._check_of[first : self._rows] = queries, checks

    def _term_sets(self, conjunctions: Sequence[Conjunction]) -> Csr:
        """The positive terms as ids. New terms of a batch are numbered by falling frequency in it."""
        terms = [term for conjunction in conjunctions for term in conjunction.positive]
        vocabulary = self._lexicon.vocabulary
        unknown = Counter(term for term in terms if term not in vocabulary)
        self._lexicon.add_terms(term for term, _ in unknown.most_common())
        ids = np.fromiter(map(vocabulary.id, terms), np.int32, len(terms))
        return Csr(offsets_of([len(conjunction.positive) for conjunction in conjunctions]), ids)


@njit(cache=True, nogil=True)
def _verified(table: Verification, proposed: Csr, posts: PostColumns, held: Int32, reported: Int32) -> Any:
    offsets = np.zeros(len(proposed.offsets), np.int64)
    queries = np.empty(len(proposed.values), np.int32)
    end = 0
    for row in range(len(proposed.offsets) - 1):
        for i in range(posts.terms.offsets[row], posts.terms.offsets[row + 1]):
            held[posts.terms.values[i]] = row + 1
        for i in range(proposed.offsets[row], proposed.offsets[row + 1]):
            if is_news(table, proposed.values[i], posts, row, held, reported):
                queries[end] = table.query_of[proposed.values[i]]
                end += 1
        offsets[row + 1] = end
    return offsets, queries[:end]


@njit(cache=True, nogil=True)
def is_news(table: Verification, conjunction: int, posts: PostColumns, row: int, held: Int32, reported: Int32) -> bool:
    """Whether a post passes the checks of a conjunction whose query was not reported for it yet; it is from now on."""
    query = table.query_of[conjunction]
    if reported[query] == row + 1:
        return False
    at = table.check_of[conjunction]
    if at != NO_CHECKS and not passes(table.checks, at, posts, row, held):
        return False
    reported[query] = row + 1
    return True
