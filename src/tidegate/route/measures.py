"""What a word map does to posts: loads of the matchers, spread, imbalance and throughput (S³-TM §3.1).

A matcher's load counts posts, not words: one unit for each post that visits it.
"""

from dataclasses import dataclass

import numpy as np

from tidegate.csr import Csr, Int32, Int64, offsets_of
from tidegate.kernels import njit
from tidegate.route.hot_words import Hashes, drawn

_NO_HASHES: Hashes = np.empty(0, np.uint64)


@dataclass(frozen=True)
class Measured:
    """Posts routed, and what came of it.

    >>> m = Measured(4, np.array([2, 4]))
    >>> m.spread, m.imbalance, m.throughput
    (1.5, 1.3333333333333333, 1.0)
    """

    posts: int
    loads: Int64
    """By matcher: how many posts visit it."""

    @property
    def spread(self) -> float:
        """The mean number of matchers a post visits, R."""
        return float(self.loads.sum() / max(self.posts, 1))

    @property
    def imbalance(self) -> float:
        """The highest load over the mean load, B; 1 where there is no load."""
        return float(self.loads.max() / self.loads.mean()) if self.loads.any() else 1.0

    @property
    def throughput(self) -> float:
        """Posts in the time one matcher takes for one: N / (R·B), equation 6 for C = 1."""
        return self.posts / int(self.loads.max()) if self.loads.any() else float("inf")


def measured(posts: Csr, owner_of: Int32, matchers: int) -> Measured:
    """Route posts (rows of words) by the owner of each word; -1 is one that nobody subscribed to, and leads nowhere."""
    owners = Csr(offsets_of(owner_of >= 0), owner_of[owner_of >= 0])
    return measured_versions(posts, owners, matchers, _NO_HASHES, _NO_HASHES)


def measured_versions(posts: Csr, owners: Csr, matchers: int, post_hashes: Hashes, word_hashes: Hashes) -> Measured:
    """Route posts by the owners of each word's versions, of which a post draws one; a word with none leads nowhere."""
    visited_by = np.full(matchers, -1, np.int64)
    return Measured(posts.rows, _loads(posts, owners, post_hashes, word_hashes, visited_by))


@njit(cache=True, nogil=True)
def _loads(posts: Csr, owners: Csr, post_hashes: Hashes, word_hashes: Hashes, visited_by: Int64) -> Int64:
    """Count the posts by matcher; `visited_by` is the last post to visit each, -1 at first."""
    loads = np.zeros(len(visited_by), np.int64)
    for post in range(len(posts.offsets) - 1):
        for word in posts.values[posts.offsets[post] : posts.offsets[post + 1]]:
            first = owners.offsets[word]
            versions = owners.offsets[word + 1] - first
            if versions == 0:
                continue
            if versions > 1:
                first += drawn(post_hashes[post], word_hashes[word], versions)
            matcher = owners.values[first]
            if visited_by[matcher] != post:
                visited_by[matcher] = post
                loads[matcher] += 1
    return loads
