"""Relief of an overloaded job: the source's backlog is the buffer whose fullness sets the level of shedding.

The level counts from the next micro-batch on, which pins it, so that a replay sheds the same visits.
"""

import time
from collections import Counter
from collections.abc import Callable, Mapping

from tidegate.route.shed_control import Controller, Segments, segments
from tidegate.route.shedding import Levels

# Before anything is known of the visits that posts make, half of the buffer is ideal.
_IDEAL = 0.5
# Of so many posts it is kept what they asked for, older ones counting less and less.
_REMEMBERED = 1_000_000


class Relief:
    """Belongs to the driver of one job."""

    def __init__(
        self,
        buffer: int,
        levels: Levels,
        waiting: Callable[[], int | None] | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Let up to `buffer` posts wait; `waiting` tells how many do, None where that is not known."""
        self._buffer, self._waiting, self._clock = buffer, waiting or (lambda: None), clock
        ideal = int(buffer * _IDEAL)
        self._controller = Controller(levels, Segments(ideal, buffer - ideal))
        self._wanted: Counter[int] = Counter()

    def most(self) -> float:
        """Return how many matchers a post of the batch that begins now may visit."""
        # What nobody can tell is no reason to give up visits.
        self._controller.observe(self._waiting() or 0, self._clock())
        return self._controller.levels.most(self._controller.level)

    def learn(self, wanted: Mapping[int, int]) -> None:
        """Take note of how many visits posts have asked for: what each level relieves follows from it."""
        self._wanted.update(wanted)
        if self._wanted.total() > _REMEMBERED:
            self._wanted = Counter({visits: posts // 2 for visits, posts in self._wanted.items()})
        loads = [_load(self._wanted, self._controller.levels.most(n)) for n in range(self._controller.levels.count + 1)]
        if loads[-1] > 0:
            self._controller.segments = segments(self._buffer, loads)


def _load(wanted: Mapping[int, int], most: float) -> float:
    """Visits by post, if none makes more than `most`."""
    return sum(min(visits, most) * posts for visits, posts in wanted.items()) / max(sum(wanted.values()), 1)
