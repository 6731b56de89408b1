"""So much a second, for what anybody can ask for."""

import time
from collections.abc import Callable


class Allowance:
    """What is allowed in a second is there at the beginning, and comes back in a second; no more is saved up."""

    def __init__(self, a_second: int, clock: Callable[[], float] = time.monotonic) -> None:
        """So much a second; `clock` tells the time in seconds."""
        self._a_second, self._clock = a_second, clock
        self._left, self._at = float(a_second), clock()

    def take(self, many: int) -> bool:
        """Take some; return false, with nothing taken, if all is used up. The last to take may take too much."""
        if self.is_used_up:
            return False
        self.owe(many)
        return True

    @property
    def is_used_up(self) -> bool:
        """Whether nothing is left now."""
        now = self._clock()
        self._left = min(self._left + (now - self._at) * self._a_second, self._a_second)
        self._at = now
        return self._left <= 0

    def owe(self, many: int) -> None:
        """Take more, of what was allowed: as much has to come back before anything else is."""
        self._left -= many
