"""Of what a peer is told the best few of every window: as many as its reader has the time for."""

import asyncio
import json
import math
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any, Final

from tidegate.overlay.node.unread import Delivered
from tidegate.overlay.picks import CountedPicks, TimedPicks
from tidegate.rank.event import Event
from tidegate.rank.ranking import TimeWindows
from tidegate.rank.windows import Windows

_US: Final = 1_000_000
_WORST: Final = -math.inf
_FEW: Final = 64
"""Events more than have to be are kept, so that it is not looked every time which have."""


@dataclass(frozen=True)
class Picking:
    """The best of windows by count, or of time, by a number that events have under a name."""

    windows: Windows | TimeWindows
    name: str = "score"

    def score(self, event: Delivered) -> float:
        """Return the number that the text of an event, a JSON object, has under the name, or under names with dots
        between them; without any it is the worst, and picked if nothing better comes.

        >>> event = Delivered("nasa", b'{"post": {"likes": 7}}', b"1")
        >>> Picking(Windows(1, 9, 9), "post.likes").score(event), Picking(Windows(1, 9, 9)).score(event)
        (7.0, -inf)
        """
        try:
            found: Any = json.loads(event.body)
            for name in self.name.split("."):
                found = found[name]
            number = float(found)
        except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
            return _WORST
        return _WORST if math.isnan(number) else number

    def wait_s(self, now: float) -> float | None:
        """Return how long it is until some window ends, if windows are of time."""
        if isinstance(self.windows, Windows):
            return None
        # All windows end at multiples of the shift, and as long after as a width is no multiple of it.
        shift = self.windows.shift
        return (shift - (now - self.windows.width) % shift) / _US


async def picked(
    events: AsyncIterator[Delivered], picking: Picking, clock: Callable[[], float] | None = None
) -> AsyncIterator[Delivered]:
    """Tell of the best events of every window when it is complete, each once; an event's time is when it is read, by a
    clock that is never put back.

    At the end, windows of time are complete; of one by count that is not, nothing is told.
    """
    clock = clock or _going_on()
    windows = picking.windows
    picks = CountedPicks(windows) if isinstance(windows, Windows) else TimedPicks(windows)
    kept: dict[str, Delivered] = {}
    coming = asyncio.ensure_future(anext(events, None))
    try:
        is_over = False
        while not is_over:
            # What comes is not waited for anew each time: to cancel that would end what tells of it.
            await asyncio.wait({coming}, timeout=picking.wait_s(clock() * _US) if picks.held else None)
            now = clock() * _US
            news = picks.advance(now)
            if coming.done():
                event = coming.result()
                is_over = event is None
                if event is None:
                    news += picks.advance(math.inf)
                else:
                    coming = asyncio.ensure_future(anext(events, None))
                    id_ = event.id.hex()
                    kept[id_] = event
                    news += picks.receive(Event(id_, picking.score(event), now))
            for one in news:
                yield kept[one.id]
            if len(kept) > 2 * picks.held + _FEW:
                kept = {id_: kept[id_] for id_ in picks.ids}
    finally:
        coming.cancel()


def _going_on() -> Callable[[], float]:
    """Return a clock that tells the time as it is now, and goes on from there: one that was put back would have events
    come after their windows have ended."""
    begin = time.time() - time.monotonic()
    return lambda: begin + time.monotonic()
