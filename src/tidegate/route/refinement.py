"""Refinement of a word map: words move to where they cost least, so that words which occur together end up together.

The greedy map balances loads and cares for nothing else; what is left to gain is spread. A word's move changes the
loads of two matchers by exactly known amounts, and Σ Lᵖ is what a move must lower: with p = 2 the total load, with a
little for balance; as p rises, the highest load, which decides the throughput.

A sweep over all posts soon ends in a local optimum. Sweeps over small parts of them, each another part, do not: what is
noise in one part is undone in the next. So parts are small at first and grow, as annealing cools, to the whole sample.
"""

from typing import Any

import numpy as np
from numba import njit

from tidegate.csr import Csr, Int32, Int64, offsets_of
from tidegate.route.greedy import greedy_owners
from tidegate.route.measures import measured
from tidegate.route.sample import Sample, inverted, taken

_FIRST_PART = 1 / 128
_GROWTH = 1.02
# No move may make a matcher that much busier than the mean, unless it comes from one that is busier still.
_SLACK = 1.1
# The powers of the last sweeps, over the whole sample.
_POWERS = (2, 2, 4, 8, 16, 32, 64, 128)


def refined_owners(sample: Sample, matchers: int) -> Int32:
    """Return the owner of every word: the greedy map, refined. Takes some fifty times as long; always the same."""
    greedy = greedy_owners(sample, matchers)
    if matchers == 1 or len(sample) == 0:
        return greedy
    owner_of = greedy.copy()
    shuffled = taken(sample.posts, np.random.default_rng(0).permutation(len(sample)))
    size, begin = len(sample) * _FIRST_PART, 0
    while size < len(sample):
        count = max(int(size), 1)
        if begin + count > len(sample):
            begin = 0
        part = shuffled.slice(begin, begin + count)
        _sweep(part, _posts_of(part, len(owner_of)), owner_of, measured(part, owner_of, matchers).loads, 2)
        begin, size = begin + count, size * _GROWTH
    loads = measured(sample.posts, owner_of, matchers).loads
    for power in _POWERS:
        _sweep(sample.posts, sample.posts_of, owner_of, loads, power)
    # Where posts have little in common, balance may be all that can be had.
    return owner_of if loads.max() < measured(sample.posts, greedy, matchers).loads.max() else greedy


def _posts_of(posts: Csr, n_words: int) -> Csr:
    """By word: the posts it is in."""
    return Csr(*inverted(posts, offsets_of(np.bincount(posts.values, minlength=n_words))))


@njit(cache=True, nogil=True)
def _sweep(posts: Csr, posts_of: Csr, owner_of: Int32, loads: Int64, power: int) -> Any:
    """Offer every word, the commonest first, to all matchers; keep the loads up to date, and return how many moved."""
    matchers, moved, post_number = len(loads), 0, 0
    total = loads.sum()
    mean = max(total / matchers, 1.0)
    cost = np.empty(matchers)
    for matcher in range(matchers):
        cost[matcher] = _raised(loads[matcher] / mean, power)
    # By matcher: how many of the word's posts visit it for the sake of other words; and which matchers these are.
    visiting = np.zeros(matchers, np.int64)
    visited = np.empty(matchers, np.int64)
    visited_by = np.full(matchers, -1, np.int64)
    for word in range(len(owner_of)):
        first, end = posts_of.offsets[word], posts_of.offsets[word + 1]
        if first == end:
            continue
        count = 0
        for k in range(first, end):
            post = posts_of.values[k]
            post_number += 1
            for other in posts.values[posts.offsets[post] : posts.offsets[post + 1]]:
                matcher = owner_of[other]
                if other != word and visited_by[matcher] != post_number:
                    visited_by[matcher] = post_number
                    if visiting[matcher] == 0:
                        visited[count] = matcher
                        count += 1
                    visiting[matcher] += 1
        home, frequency = owner_of[word], end - first
        # Where words are often together, one matcher would draw in all of them, whatever its load then costs.
        limit = max(_SLACK * total / matchers, loads[home])
        best = home
        least = cost[home] - _raised((loads[home] - frequency + visiting[home]) / mean, power)
        # Of those that no post visits anyway, the least loaded is the best: powers are convex.
        idlest = np.argmin(loads)
        for k in range(count + 1):
            matcher = visited[k] if k < count else idlest  # type: ignore[assignment]
            load = loads[matcher] + frequency - visiting[matcher]
            if matcher == home or load > limit:
                continue
            more = _raised(load / mean, power) - cost[matcher]
            # The last digits of a sum of powers are noise, on which a word must not go round in circles.
            if more < least * (1 - 1e-12) or (best != home and more == least and matcher < best):
                best, least = matcher, more
        if best != home:
            loads[home] -= frequency - visiting[home]
            loads[best] += frequency - visiting[best]
            total += visiting[home] - visiting[best]
            cost[home] = _raised(loads[home] / mean, power)
            cost[best] = _raised(loads[best] / mean, power)
            owner_of[word] = best
            moved += 1
        for k in range(count):
            visiting[visited[k]] = 0
    return moved


@njit(cache=True, nogil=True)
def _raised(base: float, power: int) -> float:
    """Return `base` to the `power`, by squaring: the same on every machine."""
    result = 1.0
    while power > 0:
        if power & 1:
            result *= base
        base *= base
        power >>= 1
    return result
