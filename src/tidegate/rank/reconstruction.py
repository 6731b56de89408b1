"""The criterion of correctness: is there an order of events that explains what was delivered (section II)?

An order is legal if the events of every publisher keep theirs. What a feed delivers is right if a subscriber who saw
all events in one such order would have chosen the same ones.
"""

from collections.abc import Collection, Sequence
from itertools import chain

from tidegate.rank.event import Event, best
from tidegate.rank.windows import Windows

_Positions = tuple[int, ...]


def is_explained(publishers: Sequence[Sequence[Event]], delivered: Collection[Event], windows: Windows) -> bool:
    """Decide whether some legal order of all events delivers exactly these. Exponential: for short streams."""
    wanted = frozenset(delivered)
    if not wanted <= frozenset(chain.from_iterable(publishers)):
        return False
    return _Search(publishers, wanted, windows).explains((0,) * len(publishers), (), frozenset(), 0)


class _Search:
    """Tries all orders, but none twice: what matters of the past are the events that open windows still need."""

    def __init__(self, publishers: Sequence[Sequence[Event]], wanted: frozenset[Event], windows: Windows) -> None:
        self._publishers, self._wanted, self._windows = publishers, wanted, windows
        self._failed: set[tuple[_Positions, tuple[Event, ...], frozenset[Event]]] = set()

    def explains(self, at: _Positions, recent: tuple[Event, ...], won: frozenset[Event], length: int) -> bool:
        """Whether the order begun so far can be ended: `recent` are its last events, `won` those of them that did."""
        if (at, recent, won) in self._failed:
            return False
        is_over = all(position == len(one) for position, one in zip(at, self._publishers, strict=True))
        # Those who are left when there are no more events will not win any more.
        found = is_over and (self._wanted & set(recent)) <= won
        for publisher, position in enumerate(at):
            if found or position == len(self._publishers[publisher]):
                continue
            onward = (*at[:publisher], position + 1, *at[publisher + 1 :])
            found = self._follows(onward, (*recent, self._publishers[publisher][position]), won, length + 1)
        if not found:
            self._failed.add((at, recent, won))
        return found

    def _follows(self, at: _Positions, events: tuple[Event, ...], won: frozenset[Event], length: int) -> bool:
        """Go on with one more event, unless a window chooses another than wanted, or a wanted one leaves without."""
        width, shift = self._windows.width, self._windows.shift
        if length >= width and (length - width) % shift == 0:
            winners = set(best(events[-width:], self._windows.k))
            if not winners <= self._wanted:
                return False
            won = won | winners
        kept = events[-(width - 1) :] if width > 1 else ()
        gone = set(events[: len(events) - len(kept)])
        if (self._wanted & gone) - won:
            return False
        return self.explains(at, kept, won & set(kept), length)
