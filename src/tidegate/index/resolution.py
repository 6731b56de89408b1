"""From the sets an index finds in a post to the queries it satisfies: what compiled subscriptions do for every post.

Most sets are the whole of one query, with nothing else to check: such a set leads to its query in one step.
"""

from typing import Any, NamedTuple

import numpy as np

from tidegate.csr import Csr, Int32
from tidegate.index.box_words import point_word
from tidegate.index.checks import NO_CHECKS, PostColumns, post_columns
from tidegate.index.conjunctions import Verification, is_news
from tidegate.index.places import Places, Search
from tidegate.index.plots import COUNT, ask_for, read_lists
from tidegate.intrinsics import prefetch
from tidegate.kernels import njit
from tidegate.text.posts import Posts

# So many sets ahead, their queries are asked for from memory.
_AHEAD = 8


class Resolution(NamedTuple):
    """What sets stand for."""

    direct: Int32
    """By set: its query, if the set is all there is to it; else -1."""
    conjunctions: Csr
    """By set: the conjunctions that want it, wherever the post is from."""
    places: Places
    """The conjunctions that want a place."""
    verification: Verification
    n_queries: int

    @classmethod
    def of(cls, by_set: Csr, places: Places, verification: Verification, n_queries: int) -> "Resolution":
        """Find the sets that lead to their query in one step; `by_set` are the conjunctions that want no place."""
        per_query = np.bincount(verification.query_of, minlength=n_queries)
        first = by_set.values[np.minimum(by_set.offsets[:-1], max(len(by_set.values) - 1, 0))]
        plain = (np.diff(by_set.offsets) == 1) & (verification.check_of[first] == NO_CHECKS)
        plain &= per_query[verification.query_of[first]] == 1
        direct = np.where(plain, verification.query_of[first], -1).astype(np.int32)
        return cls(direct, by_set, places, verification, n_queries)

    def queries(self, sets: Csr, posts: Posts, n_terms: int) -> tuple[Csr, int]:
        """Return for every post the distinct queries it satisfies, and how many conjunctions were looked at."""
        search = self.places.search(posts.terms, posts.lat, posts.lon)
        all_direct = len(search.lists) == 0 and bool(np.all(self.direct >= 0))
        held = np.zeros(0 if all_direct else n_terms, np.int32)
        reported = np.zeros(0 if all_direct else self.n_queries, np.int32)
        columns = post_columns(posts)
        found = _resolved(self.direct, self.conjunctions, search, self.verification, sets, columns, held, reported)
        offsets, queries, candidates = found
        return Csr(offsets, queries), candidates


@njit(cache=True, nogil=True)
def _resolved(
    direct: Int32,
    conjunctions: Csr,
    search: Search,
    table: Verification,
    sets: Csr,
    posts: PostColumns,
    held: Int32,
    reported: Int32,
) -> Any:
    found, plots, lists, terms = sets.values, search.plots, search.lists, posts.terms
    candidates = 0
    for i in range(len(found)):
        if i + _AHEAD < len(found):
            prefetch(direct, found[i + _AHEAD])
        if direct[found[i]] >= 0:
            candidates += 1
        else:
            candidates += conjunctions.offsets[found[i] + 1] - conjunctions.offsets[found[i]]
    for i in range(len(lists)):
        candidates += lists[i] & COUNT
    offsets = np.zeros(len(sets.offsets), np.int64)
    queries = np.empty(candidates + 1, np.int32)
    end = 0
    for row in range(len(sets.offsets) - 1):
        first, last = terms.offsets[row], terms.offsets[row + 1]
        marked = False
        for i in range(sets.offsets[row], sets.offsets[row + 1]):
            query = direct[found[i]]
            if query >= 0:
                queries[end] = query
                end += 1
                continue
            if not marked:
                marked = True
                _mark(terms.values[first:last], held, row + 1)
            for k in range(conjunctions.offsets[found[i]], conjunctions.offsets[found[i] + 1]):
                if is_news(table, conjunctions.values[k], posts, row, held, reported):
                    queries[end] = table.query_of[conjunctions.values[k]]
                    end += 1
        if len(lists) > 0:
            if not marked:
                _mark(terms.values[first:last], held, row + 1)
            for i in range(first, last):
                ask_for(plots.copies, lists, i)
            point = point_word(plots.frame, posts.lat[row], search.lon[row])
            found_near, _ = read_lists(
                plots.copies, plots.more, lists, first, last, point, held, row + 1, queries[end:]
            )
            for i in range(end, end + found_near):
                if is_news(table, queries[i], posts, row, held, reported):
                    queries[end] = table.query_of[queries[i]]
                    end += 1
        offsets[row + 1] = end
    return offsets, queries[:end], candidates


@njit(cache=True, nogil=True)
def _mark(terms: Int32, held: Int32, mark: int) -> None:
    for term in terms:
        held[term] = mark
