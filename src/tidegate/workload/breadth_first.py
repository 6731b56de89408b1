"""A part of a follow graph that looks like the whole: breadth first from a few users (section 3.5.1 of the thesis).

Unlike `follows.thinned`, it keeps every follow between those that it takes, and hubs lead as far as they lead.
"""

from typing import Final

import numpy as np

from tidegate.csr import Csr, Int32, Int64, offsets_of, taken
from tidegate.errors import ConfigError
from tidegate.workload.follows import Follows

STARTS: Final = 5


def breadth_first(follows: Follows, users: int, seed: int, starts: int = STARTS) -> Follows:
    """Return `users` of a graph with all follows between them: those that are first met from a few random ones.

    Follows are walked along either way, level by level; the last one is cut at random. Where that leads no further, it
    goes on from another random user. Users are numbered in the order of being met; a seed determines them. O(follows).
    """
    if not 1 <= starts <= users <= follows.users:
        raise ConfigError(f"{users:,} users from {starts} starts, of {follows.users:,}: give 1 ≤ starts ≤ users ≤ all")
    generator = np.random.default_rng([seed, 4])
    chosen = _met(_either_way(follows), users, starts, generator)
    place = np.full(follows.users, -1, np.int64)
    place[chosen] = np.arange(users)
    inside = taken(follows.followed, chosen)
    one, other = np.repeat(np.arange(users), np.diff(inside.offsets)), place[inside.values]
    return Follows.of(users, one[other >= 0], other[other >= 0])


def _either_way(follows: Follows) -> Csr:
    """By user, those that it follows and those that follow it."""
    one = np.repeat(np.arange(follows.users), np.diff(follows.followed.offsets))
    other = follows.followed.values.astype(np.int64)
    pairs = np.unique(np.concatenate((one * follows.users + other, other * follows.users + one)))
    counts = np.bincount(pairs // follows.users, minlength=follows.users)
    return Csr(offsets_of(counts), (pairs % follows.users).astype(np.int32))


def _met(near: Csr, users: int, starts: int, generator: np.random.Generator) -> Int64:
    order = generator.permutation(near.rows)
    met = np.zeros(near.rows, np.bool_)
    level = order[:starts]
    levels: list[Int64] = []
    while users > 0:
        met[level] = True
        levels.append(generator.permutation(level)[:users])
        users -= len(levels[-1])
        onwards: Int32 = np.unique(taken(near, level).values)
        level = onwards[~met[onwards]].astype(np.int64)
        if len(level) == 0:
            level = order[~met[order]][:1]
    return np.concatenate(levels)
