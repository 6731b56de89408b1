"""Follow graphs with locality: who is followed by those one follows is followed too.

`follows.friends` and `follows.fans` draw both ends of a follow by themselves. Two followers of a user with few of them
then mostly have nothing else in common; in real graphs almost all do. Here a share of the follows closes triangles.
"""

from typing import Final

import numpy as np

from tidegate.csr import Int64
from tidegate.errors import ConfigError
from tidegate.workload.follows import Follows, fans, friends

CLOSED: Final = 0.5
"""Of all follows, those that close a triangle: more in some real graphs, fewer in others."""


def acquaintances(users: int, mean: int, seed: int, closed: float = CLOSED) -> Follows:
    """Draw a graph as `friends` does, but for a share of it: there, two that have a friend in common are friends.

    >>> acquaintances(1000, 10, seed=1).pairs
    10000
    """
    drawn = friends(users, _drawn(mean, closed, 2), seed)
    one, other = _closed(drawn, users * mean // 2, seed, mutual=True)
    return Follows.of(users, np.concatenate((one, other)), np.concatenate((other, one)))


def imitators(users: int, mean: int, seed: int, closed: float = CLOSED) -> Follows:
    """Draw a graph as `fans` does, but for a share of it: there, one follows whom somebody that one follows follows."""
    drawn = fans(users, _drawn(mean, closed, 1), seed)
    return Follows.of(users, *_closed(drawn, users * mean, seed, mutual=False))


def _drawn(mean: int, closed: float, least: int) -> int:
    if not 0 <= closed < 1:
        raise ConfigError(f"a share of {closed} follows that close triangles: give 0 to 1, 1 left out")
    return max(least, round(mean * (1 - closed)))


def _closed(drawn: Follows, n: int, seed: int, *, mutual: bool) -> tuple[Int64, Int64]:
    """Add to the pairs of a graph ends of ways of two follows, until there are `n`; return both ends of all.

    If `mutual`, a pair is the same either way around.
    """
    users, near = drawn.users, drawn.followed
    first, middle = np.repeat(np.arange(users), np.diff(near.offsets)), near.values.astype(np.int64)
    found = _each_once(_paired(users, first, middle, mutual=mutual))
    generator = np.random.default_rng([seed, 5])
    while len(found) < n:
        step = generator.integers(0, len(first), n)
        begin, room = near.offsets[middle[step]], np.diff(near.offsets)[middle[step]]
        last = near.values[begin + (generator.random(n) * room).astype(np.int64)].astype(np.int64)
        more = _each_once(np.concatenate((found, _paired(users, first[step], last, mutual=mutual))))
        if len(more) == len(found):
            raise ConfigError(f"{n:,} pairs of {users:,} users: there are not so many with somebody in common")
        found = more
    return np.divmod(found[:n], users)


def _paired(users: int, one: Int64, other: Int64, *, mutual: bool) -> Int64:
    """Return pairs of different users as one number each."""
    low, high = (np.minimum(one, other), np.maximum(one, other)) if mutual else (one, other)
    pairs: Int64 = (low * users + high)[low != high]
    return pairs


def _each_once(pairs: Int64) -> Int64:
    """Return pairs in the order of being drawn; the first of those that are alike counts."""
    first: Int64 = np.unique(pairs, return_index=True)[1]
    return pairs[np.sort(first)]
