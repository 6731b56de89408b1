"""Time as the database keeps it: microseconds since 1970, UTC. Whoever needs to know it is given a clock."""

import time
from collections.abc import Callable
from typing import Final

Clock = Callable[[], int]
"""Tells the time."""

SECOND: Final = 1_000_000
DAY: Final = 86_400 * SECOND


def now() -> int:
    """The time of this machine."""
    return time.time_ns() // 1000
