"""How much a peer answers: whoever opens a gossip may name any place for the answer, which is longer than the letter.

The bounds are above whatever peers ask for. In two that know only each other, one that has come opens 60 letters of
each module at once, a few more after a silence, and turns ten milliseconds apart would make 300 a second of it.
"""

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from tidegate.deliver.ends import Address
from tidegate.overlay.node.allowance import Allowance
from tidegate.overlay.node.sealing import RefusedError

_LEAST: Final = 1 << 14
"""Bytes that an answer counts for at least: it is work, however short."""
AT_ONE_PLACE: Final = 512 * _LEAST
AT_ALL: Final = 2048 * _LEAST
"""Bytes a second."""
_MOST_PLACES: Final = 2 * AT_ALL // _LEAST
"""Which it takes a second to answer at: whatever place is forgotten has all of its allowance again."""


class Answers:
    """Counts what goes to each place, and to all together."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Nothing was answered yet; `clock` tells the time in seconds."""
        self._clock = clock
        self._at_all = Allowance(AT_ALL, clock)
        self._at_place: OrderedDict[Address, Allowance] = OrderedDict()
        """Those least recently asked for come first."""

    def check(self, place: Address) -> None:
        """Refuse to answer there, if that was done too often lately, or everywhere together."""
        # First: a place that is not answered is not remembered either, at the cost of one that is.
        if self._at_all.is_used_up:
            raise RefusedError("busy")
        if not self._allowed(place).take(_LEAST):
            raise RefusedError("often")
        self._at_all.take(_LEAST)

    def count(self, place: Address, size: int) -> None:
        """Take note that an answer that was checked has so many bytes."""
        for allowance in (self._allowed(place), self._at_all):
            allowance.owe(max(size - _LEAST, 0))

    def _allowed(self, place: Address) -> Allowance:
        allowance = self._at_place.get(place)
        if allowance is None:
            allowance = self._at_place[place] = Allowance(AT_ONE_PLACE, self._clock)
            if len(self._at_place) > _MOST_PLACES:
                self._at_place.popitem(last=False)
        self._at_place.move_to_end(place)
        return allowance
