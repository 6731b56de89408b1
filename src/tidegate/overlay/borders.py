"""Where a source ends the chunks of its feeds: by count, by the clock, or all in common stretches.

A chunk may end only where its length is a multiple of the shift. By count, it ends at every so-many-th of these points.
Feeds of different rates reach these at different times: the guards of one fall between those of another, and at a
source with many feeds hardly a post is nobody's guard. *Common stretches* end it at every such point within certain
stretches of the source's stream, and nowhere else. These are so much of the stream that every feed, whatever its rate,
has as many chunks, and hence as long ones in the mean; but the guards of all feeds are among the same posts. The price
is that lengths are most unequal: single windows within stretches, and all between two of them in one chunk.
"""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tidegate.csr import Int64
from tidegate.errors import ConfigError

Floats = NDArray[np.float64]


class Point(NamedTuple):
    """Where a chunk could end, as it grows: windows are in step."""

    length: int
    """Of the chunk so far."""
    position: int
    """Of its last event, in the source's stream."""
    began: float
    """The time of its first event."""
    time: float
    """Of its last event."""


class Borders(Protocol):
    """A rule; the same for a chunk as it grows and for a whole stream at once."""

    def is_due(self, point: Point, shift: int) -> bool:
        """Whether a chunk ends here."""

    def ends(self, positions: Int64, times: Floats, shift: int) -> NDArray[np.bool_]:
        """Return at which points the chunks of a feed end, given where and when the source published its events."""


@dataclass(frozen=True)
class EveryCount:
    """After `count` events, or as soon after as windows are in step: as in the paper."""

    count: int

    def __post_init__(self) -> None:
        """Refuse what is no length."""
        if self.count < 1:
            raise ConfigError(f"chunks of {self.count} events: give at least 1")

    def is_due(self, point: Point, shift: int) -> bool:
        """Whether the chunk is long enough."""
        return point.length >= self.count

    def ends(self, positions: Int64, times: Floats, shift: int) -> NDArray[np.bool_]:
        """Return every so-many-th point."""
        every = -(-self.count // shift)
        return np.asarray((np.arange(len(positions) // shift) + 1) % every == 0)


@dataclass(frozen=True)
class EveryPeriod:
    """As soon as windows are in step once the period is over, by the clock, in which the chunk began."""

    seconds: float

    def __post_init__(self) -> None:
        """Refuse what is no period."""
        if not self.seconds > 0:
            raise ConfigError(f"chunks of {self.seconds:g} seconds: give more than 0")

    def is_due(self, point: Point, shift: int) -> bool:
        """Whether the period is over."""
        return point.time // self.seconds > point.began // self.seconds

    def ends(self, positions: Int64, times: Floats, shift: int) -> NDArray[np.bool_]:
        """Return the first point after each period in which a chunk began."""
        periods = times // self.seconds
        at_points = periods[shift - 1 :: shift]
        due = np.zeros(len(at_points), np.bool_)
        point = 0
        while point < len(due):
            point = int(np.searchsorted(at_points, periods[point * shift], side="right"))
            due[point : point + 1] = True
            point += 1
        return due


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

    def is_due(self, point: Point, shift: int) -> bool:
        """Whether the position is in a stretch."""
        return point.position % self.period >= self._closed(shift)

    def ends(self, positions: Int64, times: Floats, shift: int) -> NDArray[np.bool_]:
        """Return the points in stretches."""
        return np.asarray(positions[shift - 1 :: shift] % self.period >= self._closed(shift))

    def _closed(self, shift: int) -> int:
        """How much of a period is in no stretch."""
        return self.period - round(self.period * min(shift / self.count, 1.0))
