"""Where a source ends the chunks of its feeds: after a number of events each, or all in common stretches.

A chunk may end only where its length is a multiple of the shift. The paper ends it at every so-many-th of these points.
Feeds of different rates reach these at different times: the guards of one fall between those of another, and at a
source with many feeds hardly a post is nobody's guard. *Common stretches* end it at every such point within certain
stretches of the source's stream, and nowhere else. These are so much of the stream that every feed, whatever its rate,
has as many chunks, and hence as long ones in the mean; but the guards of all feeds are among the same posts.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tidegate.csr import Int64
from tidegate.errors import ConfigError


class Borders(Protocol):
    """A rule; the same for a chunk as it grows and for a whole stream at once."""

    def is_due(self, length: int, position: int, shift: int) -> bool:
        """Whether a chunk of so many events ends, the last of them being the source's post at `position`."""

    def ends(self, positions: Int64, shift: int) -> NDArray[np.bool_]:
        """Return at which points a feed's chunks end; these are given by the positions of the posts before them."""


@dataclass(frozen=True)
class EveryCount:
    """After `count` events, or as soon after as windows are in step: as in the paper."""

    count: int

    def __post_init__(self) -> None:
        """Refuse what is no length."""
        if self.count < 1:
            raise ConfigError(f"chunks of {self.count} events: give at least 1")

    def is_due(self, length: int, position: int, shift: int) -> bool:
        """Whether the chunk is long enough."""
        return length >= self.count

    def ends(self, positions: Int64, shift: int) -> NDArray[np.bool_]:
        """Return every so-many-th point."""
        every = -(-self.count // shift)
        return np.asarray((np.arange(len(positions)) + 1) % every == 0)


@dataclass(frozen=True)
class CommonStretches:
    """Wherever windows are in step at the end of a period of the source's stream, for `shift / count` of it.

    That share of all such points is where chunks end, so that their mean length is `count`.
    """

    count: int
    period: int
    """Posts of the source. The longer, the less it matters that no feed is in step just where a stretch begins."""

    def __post_init__(self) -> None:
        """Refuse what has no stretches."""
        if self.count < 1 or self.period < 1:
            raise ConfigError(f"chunks of {self.count} events every {self.period} posts: give at least 1 of both")

    def is_due(self, length: int, position: int, shift: int) -> bool:
        """Whether the position is in a stretch."""
        return bool(self.ends(np.array([position]), shift)[0])

    def ends(self, positions: Int64, shift: int) -> NDArray[np.bool_]:
        """Return the points in stretches."""
        closed = self.period - round(self.period * min(shift / self.count, 1.0))
        return np.asarray(positions % self.period >= closed)
