"""Refinement of a word map: words move to where they cost least, so that words which occur together end up together.

The greedy map balances loads and cares for nothing else; what is left to gain is spread. A word's move changes the
loads of two matchers by exactly known amounts, and Σ Lᵖ is what a move must lower: with p = 2 the total load, with a
little for balance; as p rises, the highest load, which decides the throughput.

A sweep over all posts soon ends in a local optimum. Sweeps over small parts of them, each another part, do not: what is
noise in one part is undone in the next. So parts are small at first and grow, as annealing cools, to the whole sample.
"""

from collections.abc import Iterator
from math import sqrt
from typing import NamedTuple

import numpy as np

from tidegate.csr import Csr, Int32, Int64, offsets_of, taken
from tidegate.intrinsics import prefetch
from tidegate.kernels import njit
from tidegate.route.greedy import greedy_owners
from tidegate.route.measures import measured
from tidegate.route.sample import Sample

# Posts in the first part, for each matcher: fewer say nothing about so many matchers.
_FIRST_PART = 128
# A part is larger than the one before by this much times the root of its share of the sample: the order is found in
# small parts, where a sweep costs little, and large ones only finish it.
_GROWTH = 0.08
# The share of words that a part leaves out, others each time: one more way to be noise.
_LEFT_OUT = 0.2
# No move may make a matcher so much busier than the mean, unless it comes from one that is busier still.
_SLACK = 1.5
# The powers of the last sweeps, over the whole sample.
_POWERS = (2, 2, 4, 16, 64, 256, 1024)

_AHEAD = 12  # posts whose visits are on their way from memory
_HALF = 32
_LOWER = (1 << _HALF) - 1
_NOISE = 1e-9  # of a sum of powers, in which one post more or less shows long before


class _Visits(NamedTuple):
    """Which matchers posts visit, and where in `entries` the posts of a word are: `starts[ends[w]:ends[w + 1]]`.

    An entry is a matcher in the upper half, and how many of the post's words lead there in the lower; 0 ends a post.
    """

    entries: Int64
    ends: Int64
    starts: Int64


def refined_owners(sample: Sample, matchers: int) -> Int32:
    """Return the owner of every word: the greedy map, refined. Takes some twenty times as long; always the same."""
    greedy = greedy_owners(sample, matchers)
    if matchers == 1 or len(sample) == 0:
        return greedy
    owner_of = greedy.copy()
    for part in _parts(sample.posts, matchers):
        _refine(part, owner_of, matchers, (2,))
    loads = _refine(sample.posts, owner_of, matchers, _POWERS)
    # Where posts have little in common, balance may be all that can be had.
    return owner_of if loads.max() < measured(sample.posts, greedy, matchers).loads.max() else greedy


def _parts(posts: Csr, matchers: int) -> Iterator[Csr]:
    """Yield growing parts of the posts, in random order and without some of their words."""
    generator = np.random.default_rng(0)
    shuffled = taken(posts, generator.permutation(posts.rows))
    size, begin = max(1.0, min(_FIRST_PART * matchers, posts.rows / 2)), 0
    while size < posts.rows:
        begin = begin if begin + int(size) <= posts.rows else 0
        part = shuffled.slice(begin, begin + int(size))
        kept = generator.random(len(part.values)) >= _LEFT_OUT
        yield Csr(offsets_of(kept)[part.offsets], part.values[kept])
        begin += int(size)
        size *= 1 + _GROWTH * sqrt(size / posts.rows)


def _refine(posts: Csr, owner_of: Int32, matchers: int, powers: tuple[int, ...]) -> Int64:
    """Sweep over the words of these posts once for each power, changing their owners; return the loads then."""
    visits = _visits(posts, owner_of, offsets_of(np.bincount(posts.values, minlength=len(owner_of))))
    loads = measured(posts, owner_of, matchers).loads
    for power in powers:
        _sweep(visits, owner_of, loads, power)
    return loads


@njit(cache=True, nogil=True)
def _visits(posts: Csr, owner_of: Int32, ends: Int64) -> _Visits:
    """Lay out the visits; a post has a place for each of its words, and one for the end."""
    entries = np.zeros(len(posts.values) + len(posts.offsets) - 1, np.int64)
    starts = np.empty(len(posts.values), np.int64)
    filled = ends[:-1].copy()
    for post in range(len(posts.offsets) - 1):
        start = posts.offsets[post] + post
        for word in posts.values[posts.offsets[post] : posts.offsets[post + 1]]:
            starts[filled[word]] = start
            filled[word] += 1
            _enter(entries, start, np.int64(owner_of[word]))
    return _Visits(entries, ends, starts)


@njit(cache=True, nogil=True)
def _enter(entries: Int64, start: int, matcher: int) -> None:
    """Let one word more of a post lead to a matcher."""
    place = start
    while entries[place] != 0 and entries[place] >> _HALF != matcher:
        place += 1
    entries[place] = (matcher << _HALF) + (entries[place] & _LOWER) + 1


@njit(cache=True, nogil=True)
def _leave(entries: Int64, start: int, matcher: int) -> None:
    """Let one word less of a post lead to a matcher; the last entry takes the place of one that is done with."""
    place = start
    while entries[place] >> _HALF != matcher:
        place += 1
    entries[place] -= 1
    if entries[place] & _LOWER == 0:
        last = place
        while entries[last + 1] != 0:
            last += 1
        entries[place] = entries[last]
        entries[last] = 0


@njit(cache=True, nogil=True)
def _sweep(visits: _Visits, owner_of: Int32, loads: Int64, power: int) -> int:
    """Offer every word, the commonest first, to all matchers; keep the loads up to date, and return how many moved."""
    entries, ends, starts = visits
    matchers, moved = len(loads), 0
    total = loads.sum()
    mean = max(total / matchers, 1.0)
    cost = np.empty(matchers)
    for matcher in range(matchers):
        cost[matcher] = _raised(loads[matcher] / mean, power)
    idlest = np.int64(np.argmin(loads))
    # By matcher: how many of the word's posts visit it for the sake of other words; and which matchers these are.
    visiting = np.zeros(matchers, np.int64)
    visited = np.empty(matchers + 1, np.int64)
    for word in range(len(owner_of)):
        first, end = ends[word], ends[word + 1]
        if first == end:
            continue
        home, frequency = np.int64(owner_of[word]), end - first
        count, alone = 0, 0
        for k in range(first, end):
            if k + _AHEAD < len(starts):
                prefetch(entries, starts[k + _AHEAD])
            place = starts[k]
            while entries[place] != 0:
                matcher = entries[place] >> _HALF
                if matcher == home:
                    alone += entries[place] & _LOWER == 1
                else:
                    if visiting[matcher] == 0:
                        visited[count] = matcher
                        count += 1
                    visiting[matcher] += 1
                place += 1
        # Of those that no post visits anyway, the least loaded is the best: powers are convex.
        visited[count] = idlest
        limit = max(_SLACK * total / matchers, loads[home])
        best, turn = home, matchers
        least = cost[home] - _raised((loads[home] - alone) / mean, power) - 2 * _NOISE
        for matcher in visited[: count + 1]:
            load = loads[matcher] + frequency - visiting[matcher]
            if matcher == home or load > limit:
                continue
            more = _raised(load / mean, power) - cost[matcher]
            # Rare words find many matchers equally good. Each begins with another one, so that none gets them all.
            its_turn = (matcher - word) % matchers
            if more < least - _NOISE or (more < least + _NOISE and its_turn < turn):
                best, least, turn = matcher, more, its_turn
        if best != home:
            more_load = frequency - visiting[best]
            loads[home] -= alone
            loads[best] += more_load
            total += more_load - alone
            cost[home] = _raised(loads[home] / mean, power)
            cost[best] = _raised(loads[best] / mean, power)
            if best == idlest:
                idlest = np.int64(np.argmin(loads))
            elif loads[home] < loads[idlest] or (loads[home] == loads[idlest] and home < idlest):
                idlest = home
            owner_of[word] = best
            moved += 1
            for start in starts[first:end]:
                _leave(entries, start, home)
                _enter(entries, start, best)
        for matcher in visited[:count]:
            visiting[matcher] = 0
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
