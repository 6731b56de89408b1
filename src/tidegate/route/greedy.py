"""The greedy word map (SALB, S³-TM §3.3): words by falling frequency, each to where the loads stay most even.

The paper minimises spread times coefficient of variation, in which the spread cancels: what is minimised is
N·Σ(Lᵢ + l)² − (ΣLᵢ + l)², the variance of the loads. Whole numbers throughout: a map is the same everywhere.
"""

from typing import Any

import numpy as np

from tidegate.csr import Csr, Int32
from tidegate.errors import ConfigError
from tidegate.kernels import njit
from tidegate.route.sample import Sample


def greedy_owners(sample: Sample, matchers: int) -> Int32:
    """Return the owner of every word. Linear in the spreads of the posts, summed over words, plus words × matchers."""
    most = int((2**63 / (3 * matchers)) ** 0.5)
    if len(sample) > most:
        raise ConfigError(
            f"a sample of {len(sample)} posts for {matchers} matchers: at most {most} can be learned from"
        )
    return _owners(sample.posts.offsets, sample.posts_of, matchers)  # type: ignore[no-any-return]


@njit(cache=True, nogil=True)
def _owners(post_offsets: Any, posts_of: Csr, matchers: int) -> Any:
    words = len(posts_of.offsets) - 1
    owner_of = np.empty(words, np.int32)
    loads = np.zeros(matchers, np.int64)
    total = np.int64(0)
    # The matchers that a post visits so far, in its own places of an array as long as all posts; -1 ends them.
    visits = np.full(post_offsets[-1], -1, np.int16)
    seen = np.zeros(matchers, np.int64)
    for word in range(words):
        posts = posts_of.values[posts_of.offsets[word] : posts_of.offsets[word + 1]]
        for post in posts:
            place = post_offsets[post]
            while visits[place] >= 0:  # it has a place for each of its words, and this one has no owner yet
                seen[visits[place]] += 1
                place += 1
        best = np.int64(0)
        lowest = np.int64(0)
        for matcher in range(matchers):
            load = len(posts) - seen[matcher]
            # The part of the variance that depends on the choice; the squares themselves would overflow.
            change = load * (matchers * (2 * loads[matcher] + load) - 2 * total - load)
            if matcher == 0 or change < lowest:
                best, lowest = np.int64(matcher), change
        owner_of[word] = best
        loads[best] += len(posts) - seen[best]
        total += len(posts) - seen[best]
        seen[:] = 0
        for post in posts:
            place = post_offsets[post]
            while visits[place] >= 0 and visits[place] != best:
                place += 1
            visits[place] = best
    return owner_of
