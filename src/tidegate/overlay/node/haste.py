"""How many letters a peer may open ahead of its turn: who has come, or found somebody silent, has more to learn."""

import time
from collections.abc import Callable
from typing import Final

from tidegate.overlay.poldercast.settings import MODULES

AFTER_COMING: Final = 60
AFTER_SILENCE: Final = 5
"""Letters of each module."""


class Haste:
    """Letters that are left, by module; each that is opened is one less, whatever it was opened for, and so is each
    for which a module has nobody to write to.

    Nothing that others say makes them more. Who says nothing does, but not more often than once in a while, and what is
    left is not added to: so no storm arises where many are silent.
    """

    def __init__(self, rest_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        """The peer has just come; it takes note of silences `rest_s` seconds apart."""
        self._rest_s, self._clock = rest_s, clock
        self._left = [AFTER_COMING] * len(MODULES)
        self._silent_at = -float("inf")

    def __contains__(self, module: int) -> bool:
        """Whether a letter of this module need not wait for its turn."""
        return self._left[module] > 0

    def spend(self, module: int) -> None:
        """Count a letter."""
        self._left[module] = max(self._left[module] - 1, 0)

    def found_silent(self) -> None:
        """Allow for some more letters: if one is gone others may be."""
        now = self._clock()
        if now - self._silent_at >= self._rest_s:
            self._silent_at = now
            self._left = [max(left, AFTER_SILENCE) for left in self._left]
