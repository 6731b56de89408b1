"""From the sets an index finds in a post to the queries it satisfies: what compiled subscriptions do for every post.

Most sets are the whole of one query, with nothing else to check: such a set leads to its query in one step.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from tidegate.csr import Csr, Int32
from tidegate.index.checks import NO_CHECKS, PostColumns, post_columns
from tidegate.index.conjunctions import Verification, is_news
from tidegate.intrinsics import prefetch
from tidegate.text.posts import Posts

# So many sets ahead, their queries are asked for from memory.
_AHEAD = 8


class Resolution(NamedTuple):
    """What sets stand for."""

    direct: Int32
    """By set: its query, if the set is all there is to it; else -1."""
    conjunctions: Csr
    """By set: the conjunctions that want it."""
    verification: Verification
    n_queries: int

    @classmethod
    def of(cls, conjunctions: Csr, verification: Verification, n_queries: int) -> "Resolution":
        """Find the sets that lead to their query in one step."""
        sizes = np.diff(conjunctions.offsets)
        per_query = np.bincount(verification.query_of, minlength=n_queries)
        first = conjunctions.values[np.minimum(conjunctions.offsets[:-1], max(len(conjunctions.values) - 1, 0))]
        plain = (sizes == 1) & (verification.check_of[first] == NO_CHECKS)
        plain &= per_query[verification.query_of[first]] == 1
        direct = np.where(plain, verification.query_of[first], -1).astype(np.int32)
        return cls(direct, conjunctions, verification, n_queries)

    def queries(self, sets: Csr, posts: Posts, n_terms: int) -> tuple[Csr, int]:
        """Return for every post the distinct queries it satisfies, and how many conjunctions were looked at."""
        all_direct = len(self.conjunctions.values) == len(self.direct) and bool(np.all(self.direct >= 0))
        held = np.zeros(0 if all_direct else n_terms, np.int32)
        reported = np.zeros(0 if all_direct else self.n_queries, np.int32)
        offsets, queries, candidates = _resolved(self, sets, post_columns(posts), held, reported)
        return Csr(offsets, queries), candidates


@njit(cache=True, nogil=True)
def _resolved(resolution: Resolution, sets: Csr, posts: PostColumns, held: Int32, reported: Int32) -> Any:
    direct, conjunctions, table = resolution.direct, resolution.conjunctions, resolution.verification
    found = sets.values
    candidates = 0
    for i in range(len(found)):
        if i + _AHEAD < len(found):
            prefetch(direct, found[i + _AHEAD])
        if direct[found[i]] >= 0:
            candidates += 1
        else:
            candidates += conjunctions.offsets[found[i] + 1] - conjunctions.offsets[found[i]]
    offsets = np.zeros(len(sets.offsets), np.int64)
    queries = np.empty(candidates, np.int32)
    end = 0
    for row in range(len(sets.offsets) - 1):
        marked = False
        for i in range(sets.offsets[row], sets.offsets[row + 1]):
            query = direct[found[i]]
            if query >= 0:
                queries[end] = query
                end += 1
                continue
            if not marked:
                marked = True
                for k in range(posts.terms.offsets[row], posts.terms.offsets[row + 1]):
                    held[posts.terms.values[k]] = row + 1
            for k in range(conjunctions.offsets[found[i]], conjunctions.offsets[found[i] + 1]):
                if is_news(table, conjunctions.values[k], posts, row, held, reported):
                    queries[end] = table.query_of[conjunctions.values[k]]
                    end += 1
        offsets[row + 1] = end
    return offsets, queries[:end], candidates
