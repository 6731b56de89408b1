"""How much to shed (S³-TM §5.2.2): a level that follows how full the buffer of waiting posts is.

The buffer has three segments: in the ideal one the level falls, in overload it rises, and the stable one between them
is wide enough that no single step of the level leads from one to the other.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import ceil
from typing import Literal, NamedTuple

from tidegate.errors import ConfigError
from tidegate.route.shedding import Levels

Segment = Literal["ideal", "stable", "overload"]


@dataclass(frozen=True)
class Segments:
    """How many waiting posts are ideal, and how many more are stable; beyond them is overload.

    >>> [Segments(ideal=2, stable=3).at(fullness) for fullness in (2, 3, 5, 6)]
    ['ideal', 'stable', 'stable', 'overload']
    """

    ideal: int
    stable: int

    def __post_init__(self) -> None:
        """Refuse what are no segments."""
        if self.ideal < 0 or self.stable < 1:
            raise ConfigError(
                f"{self.ideal} ideal and {self.stable} stable posts in the buffer: at least 0 and 1 are needed"
            )

    def at(self, fullness: int) -> Segment:
        """Return the segment that the last of so many waiting posts is in."""
        if fullness <= self.ideal:
            return "ideal"
        return "stable" if fullness <= self.ideal + self.stable else "overload"


def segments(buffer: int, loads: Sequence[float]) -> Segments:
    """Divide a buffer of so many posts, given the load per post at every level from 0 on (equation 9).

    The ideal segment is the longest for which the step between any two levels, which multiplies the queue by the ratio
    of their loads, cannot lead from ideal to overload or back: b_i · L(l-1) / L(l) < b. (The paper prints the ratio of
    the segments where this is the share of the stable one, and the greatest ratio of loads where it is the least.)

    >>> segments(1000, [4.0, 3.0, 1.5, 1.2])
    Segments(ideal=499, stable=501)
    """
    if buffer < 1:
        raise ConfigError(f"a buffer of {buffer} posts: it must hold at least 1")
    if len(loads) < 2 or loads[-1] <= 0 or any(before < after for before, after in pairwise(loads)):
        raise ConfigError(f"the loads {list(loads)} of the levels: give two or more, none rising, all above zero")
    # In fractions: a bound that must not be reached is no place for rounding.
    steepest = min(Fraction(after) / Fraction(before) for before, after in pairwise(loads))
    ideal = ceil(buffer * steepest) - 1
    return Segments(ideal, buffer - ideal)


class _State(NamedTuple):
    """What has to be known between two adaptations."""

    level: int = 0
    fullness: int = 0
    """At the last adaptation."""
    adapted: float | None = None
    """When that was."""


class Controller:
    """Moves the level of shedding by at most one in every period. What time it is, is told to it.

    >>> controller = Controller(Levels(), Segments(ideal=100, stable=100))
    >>> [controller.observe(fullness, now) for now, fullness in enumerate([50, 250, 260, 240, 150, 90, 70, 80])]
    [0, 1, 2, 2, 2, 1, 0, 0]
    """

    def __init__(self, levels: Levels, segments: Segments, period_s: float = 1.0) -> None:
        """Start at level 0, with an empty buffer."""
        if not period_s > 0:
            raise ConfigError(f"an adaptation period of {period_s} s: it must be longer than none")
        self.levels = levels
        self.segments = segments
        self.period_s = period_s
        self._state = _State()

    @property
    def level(self) -> int:
        """The level of shedding."""
        return self._state.level

    def observe(self, fullness: int, now: float) -> int:
        """Take note of how many posts wait, at a time in seconds, and return the level from now on.

        Once a period, the level rises in overload and falls in the ideal segment; twice and more in a row only while
        that has not yet helped: in overload unless the buffer has emptied since, in ideal unless it has filled.
        """
        level, last, adapted = self._state
        # A clock that was set back must not stop adaptation until it has caught up.
        if adapted is not None and 0 <= now - adapted < self.period_s:
            return level
        segment = self.segments.at(fullness)
        again = segment == self.segments.at(last)
        if segment == "overload" and not (again and fullness < last):
            level = min(level + 1, self.levels.count)
        elif segment == "ideal" and not (again and fullness > last):
            level = max(level - 1, 0)
        self._state = _State(level, fullness, now)
        return level
