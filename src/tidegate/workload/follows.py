"""Who follows whom: follow graphs with long tails, real ones thinned to the same size, and posts of those followed.

As in section V-D of the ranked dissemination paper: a user posts in proportion to the users that follow it.
"""

from collections import deque
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

import numpy as np

from tidegate.csr import Csr, Int32, Int64, offsets_of
from tidegate.errors import ConfigError
from tidegate.workload.alias import random_state, sample
from tidegate.workload.columns import Columns
from tidegate.workload.terms import Floats, zipf

FACEBOOK_LIKE, TWITTER_LIKE = 5, 30
"""Follows of a user in the mean."""
_FRIEND_SKEW: Final = 0.6
_FAME_SKEW: Final = 0.8
_ACTIVITY_SKEW: Final = 0.5
_WALKED: Final = 10
"""Of a user's follows, at most so many are walked along when a graph is thinned: hubs must not swallow the sample."""
_GRAPH: Final = Columns("follows", ("src", "dst"))


@dataclass(frozen=True)
class Follows:
    """A follow graph of users by number; nobody follows itself, nor anybody twice."""

    followed: Csr
    """By user, those that it follows, rising."""

    @classmethod
    def of(cls, users: int, followers: Int64, followed: Int64) -> "Follows":
        """Make it of pairs; those that are given twice count once, and those of a user with itself not at all."""
        pairs = np.unique((followers * users + followed)[followers != followed])
        counts = np.bincount(pairs // users, minlength=users)
        return cls(Csr(offsets_of(counts), (pairs % users).astype(np.int32)))

    @property
    def users(self) -> int:
        """How many there are."""
        return self.followed.rows

    @property
    def pairs(self) -> int:
        """How many follows there are."""
        return len(self.followed.values)

    @cached_property
    def popularity(self) -> Int64:
        """By user, how many follow it."""
        return np.bincount(self.followed.values, minlength=self.users)

    def authors(self, n: int, seed: int) -> Int32:
        """Draw the authors of `n` posts, each in proportion to its popularity."""
        return sample(self.popularity / self.pairs, n, random_state([seed, 3]))


def friends(users: int, mean: int, seed: int) -> Follows:
    """Draw a graph in which who follows is followed back, as among friends: `mean` follows a user, the same for a seed.

    Everybody has at least one friend.

    >>> graph = friends(1000, FACEBOOK_LIKE, seed=1)
    >>> graph.pairs, graph.popularity.max() > 10 * np.median(graph.popularity)
    (5000, np.True_)
    """
    _check(users, mean, 2)
    law = zipf(users, _FRIEND_SKEW)
    drawn = _distinct(users, users * mean // 2, law, law, seed, mutual=True)
    one, other = np.divmod(drawn, users)
    return Follows.of(users, np.concatenate((one, other)), np.concatenate((other, one)))


def fans(users: int, mean: int, seed: int) -> Follows:
    """Draw a graph in which some follow many and some are followed by many: `mean` follows a user, the same for a seed.

    Everybody follows somebody. Who follows many is not for that reason followed by many.
    """
    _check(users, mean, 1)
    shuffled = np.random.default_rng([seed, 1]).permutation(users)
    activity = zipf(users, _ACTIVITY_SKEW)[shuffled]
    drawn = _distinct(users, users * mean, activity, zipf(users, _FAME_SKEW), seed, mutual=False)
    return Follows.of(users, *np.divmod(drawn, users))


def thinned(path: Path, users: int, mean: int, seed: int, *, mutual: bool = False) -> Follows:
    """Read a real graph, and thin it to so many `users` that are near each other, with `mean` follows a user at most.

    The file is Parquet; `src` follows `dst`, and if `mutual` the other way around too. Users are found by walking along
    follows, either way, from a random one.
    """
    _check(users, mean, 1)
    names, source, target = _stored(path)
    if names < users:
        raise ConfigError(f"{path} has {names:,} users: {users:,} are needed")
    near = Follows.of(names, np.concatenate((source, target)), np.concatenate((target, source)))
    generator = np.random.default_rng([seed, 2])
    place = np.full(names, -1, np.int64)
    place[_walked(near.followed, users, generator)] = np.arange(users)
    inside = (place[source] >= 0) & (place[target] >= 0) & (source != target)
    one, other = place[source[inside]], place[target[inside]]
    if mutual:
        one, other = np.minimum(one, other), np.maximum(one, other)
    drawn = generator.permutation(np.unique(one * users + other))[: users * mean // (1 + mutual)]
    one, other = np.divmod(drawn, users)
    if mutual:
        one, other = np.concatenate((one, other)), np.concatenate((other, one))
    return Follows.of(users, one, other)


def stored_follows(path: Path, *, mutual: bool = False) -> Follows:
    """Read a real graph, all of it: in Parquet, `src` follows `dst`, and if `mutual` the other way around too."""
    users, source, target = _stored(path)
    if mutual:
        source, target = np.concatenate((source, target)), np.concatenate((target, source))
    return Follows.of(users, source, target)


def check_graph(path: Path) -> None:
    """Refuse a file that `thinned` could not read, without reading it all."""
    _GRAPH.check(path)


def _check(users: int, mean: int, least: int) -> None:
    most = (users - 1) // 2
    if most < least:
        raise ConfigError(f"{users} users: {least} follows of each in the mean take at least {2 * least + 1}")
    if not least <= mean <= most:
        raise ConfigError(f"{mean} follows a user among {users}: give {least} to {most}")


def _distinct(users: int, n: int, one: Floats, other: Floats, seed: int, *, mutual: bool) -> Int64:
    """Draw `n` pairs of different users, each at most once, as one number each; every user is the first of some pair.

    If `mutual`, a pair is the same either way around.
    """
    state = random_state([seed, 0])
    first, second = np.arange(users), sample(other, users, state).astype(np.int64)
    # Who drew itself has the next one.
    second = np.where(second == first, (second + 1) % users, second)
    found = np.empty(0, np.int64)
    while True:
        low, high = (np.minimum(first, second), np.maximum(first, second)) if mutual else (first, second)
        drawn = np.concatenate((found, (low * users + high)[low != high]))
        # In the order of being drawn: the first of those that are alike counts.
        found = drawn[np.sort(np.unique(drawn, return_index=True)[1])]
        if len(found) >= n:
            return found[:n]
        first, second = (sample(law, n, state).astype(np.int64) for law in (one, other))


def _stored(path: Path) -> tuple[int, Int64, Int64]:
    """Return how many users a file has, and who follows whom, by numbers in the order of their names."""
    (source, target), _ = _GRAPH.read(path)
    if len(source) == 0:
        raise ConfigError(f"{path}: there are no follows in it: give at least one row")
    names, numbers = np.unique(np.concatenate((source, target)), return_inverse=True)
    source, target = np.split(numbers.astype(np.int64), 2)
    return len(names), source, target


def _walked(followed: Csr, users: int, generator: np.random.Generator) -> list[int]:
    """Return so many users, breadth first from a random one; from another, where that leads no further."""
    met = np.zeros(followed.rows, np.bool_)
    chosen: list[int] = []
    queue: deque[int] = deque()
    starts = iter(generator.permutation(followed.rows).tolist())
    while len(chosen) < users:
        if not queue:
            queue.append(next(start for start in starts if not met[start]))
            met[queue[0]] = True
        chosen.append(queue.popleft())
        onwards = generator.permutation(followed.row(chosen[-1]))[:_WALKED]
        fresh = onwards[~met[onwards]]
        met[fresh] = True
        queue.extend(fresh.tolist())
    return chosen
