"""Events on their way from one peer to the next ones: each is sent again until it is acknowledged, and whoever does not
is stood in for by somebody else (RingCast says by whom)."""

import asyncio
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Final

from tidegate.overlay.node.messages import Event, Taken
from tidegate.overlay.node.profile import Profile

MOST_SPREADING: Final = 4096
MOST_BYTES: Final = 1 << 26
"""Events that one peer passes on at once, and their bytes."""

_DOUBTFUL: Final = 2
"""After so many tries somebody else is sent the event, too."""


@dataclass(eq=False)
class _Spread:
    """One event, as one peer passes it on."""

    event: Event
    sender: int | None
    done: asyncio.Future[Taken]
    taken: Taken = Taken.NO
    """The most that anybody has said of it."""
    told: set[int] = field(default_factory=set)
    """Ids of those to whom it went."""
    failed: set[int] = field(default_factory=set)
    """Of these, who have not taken it, or are late to say so."""
    waiting: int = 0
    """For how many it is not known yet."""


@dataclass(eq=False)
class _Copy:
    """An event on its way to one peer."""

    spread: _Spread
    to: Profile
    tries: int
    numbers: list[int]
    timer: asyncio.TimerHandle


class Spreading:
    """All events that a peer is passing on."""

    def __init__(
        self,
        receivers: Callable[[Event, int | None, Collection[int]], list[Profile]],
        send: Callable[[Event, Profile], int],
        silent: Callable[[int], None],
        *,
        first_s: float,
        tries: int,
    ) -> None:
        """`receivers` says to whom an event goes, but for some; `send` returns the number that a receipt names.

        Receipts are awaited for `first_s` seconds, then twice as long, so many times; who sent none is `silent`.
        """
        self._receivers, self._send, self._silent = receivers, send, silent
        self._first_s, self._tries = first_s, tries
        self._spreading = self._bytes = 0
        self._awaited: dict[int, _Copy] = {}

    def __len__(self) -> int:
        """How many events are under way."""
        return self._spreading

    @property
    def is_full(self) -> bool:
        """Whether as many events are under way as may be."""
        return self._spreading >= MOST_SPREADING or self._bytes >= MOST_BYTES

    def spread(self, event: Event, sender: int | None = None) -> asyncio.Future[Taken]:
        """Pass an event on; the result is the most that anybody has done with it, as soon as that is known."""
        spread = _Spread(event, sender, asyncio.get_running_loop().create_future())
        if sender is not None:
            spread.told.add(sender)
        self._spreading += 1
        self._bytes += len(event.body)
        self._go_on(spread)
        if spread.waiting == 0:
            self._end(spread)
        return spread.done

    def receipt(self, number: int, sender: int, taken: Taken) -> bool:
        """Take in what a peer says of the event that came to it as a message; return whether that was awaited."""
        copy = self._awaited.get(number)
        if copy is None or copy.to.id != sender:
            return False
        copy.spread.taken = max(copy.spread.taken, taken)
        self._settle(copy, is_taken=taken is not Taken.NO)
        return True

    def close(self) -> None:
        """Give up all of them."""
        for copy in list(self._awaited.values()):
            copy.timer.cancel()
            _tell(copy.spread)
        self._awaited.clear()
        self._spreading = self._bytes = 0

    def _go_on(self, spread: _Spread, most: int | None = None) -> None:
        """Send to those who are to get it and were not sent it, up to so many; ring neighbours come first."""
        receivers = self._receivers(spread.event, spread.sender, spread.failed)
        for profile in [one for one in receivers if one.id not in spread.told][:most]:
            spread.told.add(profile.id)
            spread.waiting += 1
            self._try(spread, profile, 0, [])

    def _end(self, spread: _Spread) -> None:
        self._spreading -= 1
        self._bytes -= len(spread.event.body)
        _tell(spread)

    def _try(self, spread: _Spread, to: Profile, tries: int, numbers: list[int]) -> None:
        number = self._send(spread.event, to)
        timer = asyncio.get_running_loop().call_later(self._first_s * 2**tries, self._passed, number)
        # A receipt of an earlier try, which comes late, is as good.
        copy = _Copy(spread, to, tries, [*numbers, number], timer)
        for one in copy.numbers:
            self._awaited[one] = copy

    def _passed(self, number: int) -> None:
        copy = self._awaited[number]
        if copy.tries + 1 == self._tries:
            self._silent(copy.to.id)
            self._settle(copy, is_taken=False)
            return
        self._try(copy.spread, copy.to, copy.tries + 1, copy.numbers)
        if copy.tries + 1 == _DOUBTFUL:
            self._stand_in(copy.spread, copy.to.id)

    def _settle(self, copy: _Copy, *, is_taken: bool) -> None:
        copy.timer.cancel()
        for number in copy.numbers:
            del self._awaited[number]
        spread = copy.spread
        if spread.taken is Taken.DELIVERED:
            _tell(spread)
        if not is_taken:
            self._stand_in(spread, copy.to.id)
        spread.waiting -= 1
        if spread.waiting == 0:
            self._end(spread)

    def _stand_in(self, spread: _Spread, peer: int) -> None:
        """Send the event to somebody else as well, once: one too many does no harm."""
        if peer not in spread.failed:
            spread.failed.add(peer)
            self._go_on(spread, 1)


def _tell(spread: _Spread) -> None:
    if not spread.done.done():
        spread.done.set_result(spread.taken)
