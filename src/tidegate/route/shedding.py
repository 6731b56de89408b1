"""Shedding (S³-TM §5.2.1): under overload, a post visits only those of its matchers that promise the most.

Pure: which visits are given up depends on the visits and on the post's id, so that a replay sheds alike. How much to
shed is decided in `shed_control`.
"""

from dataclasses import dataclass
from math import floor, inf
from typing import Any, Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from tidegate.csr import Csr, Int64
from tidegate.errors import ConfigError
from tidegate.kernels import njit
from tidegate.route.hot_words import Hashes, drawn
from tidegate.route.visits import Visits

By = Literal["subscriptions", "consensus"]

# What draws of the same post are told apart by; the versions of words have hashes of theirs.
_NEXT_MATCHER, _WHOLE_POST = np.uint64(0x6D61746368657273), np.uint64(0x706F737473)
_GRAIN: Final = 1 << 53  # chances that a float can hold exactly


@dataclass(frozen=True)
class Levels:
    """How many matchers a post may visit at each level of shedding: all at 0, then from `k` down to `m_min`.

    The steps are equal, and may be less than one matcher.

    >>> [round(Levels().most(level), 2) for level in range(9)]
    [inf, 7.0, 6.14, 5.29, 4.43, 3.57, 2.71, 1.86, 1.0]
    """

    k: float = 7
    m_min: float = 1
    count: int = 8
    """The highest level."""

    def __post_init__(self) -> None:
        """Refuse what are no levels."""
        if self.count < 2 or not 0 < self.m_min <= self.k < inf:
            raise ConfigError(
                f"{self.count} levels of shedding, from {self.k} matchers down to {self.m_min}: "
                "two levels are the least, and above zero they have to end"
            )

    def most(self, level: int) -> float:
        """Return the threshold m of a level: how many matchers a post may visit, on average where it is no integer."""
        if not 0 <= level <= self.count:
            raise ConfigError(f"shedding level {level}: there are levels 0 to {self.count}")
        if level == 0:
            return inf
        return (self.k * (self.count - level) + self.m_min * (level - 1)) / (self.count - 1)

    def level_of(self, most: float) -> int | None:
        """Return the lowest level with a threshold, or None if there is none.

        >>> Levels().level_of(inf), Levels().level_of(7.0), Levels().level_of(0.5)
        (0, 1, None)
        """
        return next((level for level in range(self.count + 1) if self.most(level) == most), None)


@dataclass(frozen=True)
class Shedding:
    """How the visits of a micro-batch are shed: the same in every replay of it."""

    most: float = inf
    by: By = "subscriptions"

    def kept(self, visits: Visits, hashes: Hashes) -> Visits:
        """Return the visits that are not given up; `hashes` are the posts' `post_hashes`."""
        return shed(visits, hashes, self.most, self.by)


def shed(visits: Visits, hashes: Hashes, most: float, by: By = "subscriptions") -> Visits:
    """Keep for every post its ⌊m⌋ best matchers, for m = `most`, and the next one with a chance of m − ⌊m⌋.

    The best are those with the most subscriptions for the post's words, or by `consensus` those that the most words
    lead to; among equals, the lowest. `hashes` are the posts' `post_hashes`. A lower m keeps part of what a higher
    one keeps.
    """
    if by not in get_args(By):
        raise ConfigError(f"no shedding goes by {by!r}: choose one of {', '.join(get_args(By))}")
    if not most >= 0:
        raise ConfigError(f"shedding down to {most} matchers a post: 0 is the least")
    if most >= np.diff(visits.matchers.offsets).max(initial=0):
        return visits
    worth = visits.subscriptions if by == "subscriptions" else visits.keys
    whole = floor(most)
    return visits.only(np.flatnonzero(_kept(visits.matchers, worth, hashes, whole, (most - whole) * _GRAIN)))


def random_drop(visits: Visits, hashes: Hashes, share: float) -> Visits:
    """Keep no visit of a post that has drawn a lot below `share`: what shedding has to be better than."""
    if not 0 <= share <= 1:
        raise ConfigError(f"a share of {share} of the posts to drop: 0 to 1 is allowed")
    return visits.only(np.flatnonzero(~_dropped(hashes, share * _GRAIN)[visits.post_of]))


@njit(cache=True, nogil=True)
def _kept(matchers: Csr, worth: Int64, hashes: Hashes, whole: int, lots: float) -> Any:
    """By visit: whether it is kept; the next best is if the post draws one of the first `lots` lots."""
    kept = np.ones(len(worth), np.bool_)
    for post in range(len(matchers.offsets) - 1):
        begin, end = matchers.offsets[post], matchers.offsets[post + 1]
        if end - begin > whole:
            most = whole + (drawn(hashes[post], _NEXT_MATCHER, _GRAIN) < lots)
            # Stable, and matchers rise: the lowest of equals comes first.
            order = np.argsort(-worth[begin:end], kind="mergesort")
            for i in range(most, end - begin):
                kept[begin + order[i]] = False
    return kept


@njit(cache=True, nogil=True)
def _dropped(hashes: Hashes, lots: float) -> NDArray[np.bool_]:
    """By post: whether it draws one of the first `lots` lots."""
    dropped = np.empty(len(hashes), np.bool_)
    for post in range(len(hashes)):
        dropped[post] = drawn(hashes[post], _WHOLE_POST, _GRAIN) < lots
    return dropped
