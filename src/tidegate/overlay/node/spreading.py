"""Events on their way from one peer to the next ones: each is sent again until it is acknowledged, and whoever does not
is stood in for by somebody else (RingCast says by whom).

To one peer only so many are under way at once, and others queue: who has much to take in is not sent more, and is not
taken for dead while anything at all comes from it.
"""

import asyncio
import random
from collections import deque
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Final

from tidegate.overlay.node.messages import Event, Taken
from tidegate.overlay.node.profile import Profile

MOST_SPREADING: Final = 4096
MOST_BYTES: Final = 1 << 26
"""Events that one peer passes on at once, and their bytes."""

_WINDOW: Final = 32
_WINDOW_BYTES: Final = 1 << 19
"""Copies, and their bytes, that one peer is sent without a receipt; one may be larger."""
_DOUBTFUL: Final = 2
"""After so many tries somebody else is sent the event, too."""
_LONGEST_S: Final = 60.0
"""Who is there, but does not acknowledge an event, is not sent it for longer."""


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
class _Line:
    """Copies for one peer: those in the queue, and those that are under way. Times are those of the loop."""

    to: Profile
    queue: "deque[_Copy]" = field(default_factory=deque)
    sent: "set[_Copy]" = field(default_factory=set)
    bytes: int = 0
    """Of what is under way."""
    heard_at: float = 0.0
    """When anything came from it."""
    receipt_at: float = 0.0

    @property
    def has_room(self) -> bool:
        return len(self.sent) < _WINDOW and self.bytes < _WINDOW_BYTES


@dataclass(eq=False)
class _Copy:
    """An event for one peer."""

    spread: _Spread
    line: _Line
    tries: int = 0
    """How often it was sent."""
    unheard: int = 0
    """After how many of the last tries nothing came from the peer."""
    is_sent: bool = False
    """Whether the last try left this machine."""
    first_at: float = 0.0
    last_at: float = 0.0
    numbers: list[int] = field(default_factory=list)
    timer: asyncio.TimerHandle | None = None


class Spreading:
    """All events that a peer is passing on."""

    def __init__(
        self,
        receivers: Callable[[Event, int | None, Collection[int]], list[Profile]],
        send: Callable[[Event, Profile], int | None],
        silent: Callable[[int], None],
        *,
        first_s: float,
        tries: int,
    ) -> None:
        """`receivers` says to whom an event goes, but for some; `send` returns the number that a receipt names, or None
        if there is no room for it to go.

        Receipts are awaited for `first_s` seconds, then twice as long, and so on. If so many tries in a row are
        followed by nothing at all, the peer is `silent`. One that did not leave this machine is none.
        """
        self._receivers, self._send, self._silent = receivers, send, silent
        self._first_s, self._tries = first_s, tries
        self._spreading = self._bytes = 0
        self._is_closed = False
        self._lines: dict[int, _Line] = {}
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
        if not self._is_closed:
            self._go_on(spread)
        if spread.waiting == 0:
            self._end(spread)
        return spread.done

    def receipt(self, number: int, sender: int, taken: Taken) -> bool:
        """Take in what a peer says of the event that came to it as a message; return whether that was awaited."""
        copy = self._awaited.get(number)
        if copy is None or copy.line.to.id != sender:
            return False
        copy.line.receipt_at = _now()
        copy.spread.taken = max(copy.spread.taken, taken)
        self._settle(copy, is_taken=taken is not Taken.NO)
        self._move_up(copy.line)
        return True

    def heard(self, peer: int) -> None:
        """Take note that something came from a peer."""
        if (line := self._lines.get(peer)) is not None:
            line.heard_at = _now()

    def is_sending(self, peer: int) -> bool:
        """Whether an event is under way to a peer."""
        return peer in self._lines

    def leave(self, peer: int) -> None:
        """Send nothing more to a peer: it is gone. Somebody else is sent what was for it."""
        line = self._lines.pop(peer, None)
        if line is not None:
            copies = [*line.sent, *line.queue]
            line.queue.clear()
            for copy in copies:
                self._settle(copy, is_taken=False)

    def close(self) -> None:
        """Give up all of them, and whatever is to be passed on later."""
        self._is_closed = True
        for line in self._lines.values():
            for copy in (*line.sent, *line.queue):
                _stop(copy)
                _tell(copy.spread)
        self._lines.clear()
        self._awaited.clear()
        self._spreading = self._bytes = 0

    def _go_on(self, spread: _Spread, most: int | None = None) -> None:
        """Send to those who are to get it and were not sent it, up to so many; ring neighbours come first."""
        receivers = self._receivers(spread.event, spread.sender, spread.failed)
        for profile in [one for one in receivers if one.id not in spread.told][:most]:
            spread.told.add(profile.id)
            spread.waiting += 1
            line = self._lines.setdefault(profile.id, _Line(profile))
            line.to = profile
            line.queue.append(_Copy(spread, line))
            self._move_up(line)

    def _end(self, spread: _Spread) -> None:
        self._spreading -= 1
        self._bytes -= len(spread.event.body)
        _tell(spread)

    def _move_up(self, line: _Line) -> None:
        """Send what waits in a line, as far as there is room."""
        while line.queue and line.has_room:
            copy = line.queue.popleft()
            line.sent.add(copy)
            line.bytes += len(copy.spread.event.body)
            copy.first_at = _now()
            self._try(copy)
        if not line.queue and not line.sent and self._lines.get(line.to.id) is line:
            del self._lines[line.to.id]

    def _try(self, copy: _Copy) -> None:
        number = self._send(copy.spread.event, copy.line.to)
        copy.is_sent = number is not None
        if number is not None:
            # A receipt of an earlier try, which comes late, is as good.
            copy.numbers.append(number)
            self._awaited[number] = copy
            copy.tries += 1
            copy.last_at = _now()
        doubled = min(max(copy.tries, 1), self._tries) - 1
        # Not in step with the others: what was too much at once would be again.
        wait_s = self._first_s * 2**doubled * random.uniform(0.75, 1.25)
        copy.timer = asyncio.get_running_loop().call_later(wait_s, self._passed, copy)

    def _passed(self, copy: _Copy) -> None:
        line, peer = copy.line, copy.line.to.id
        if copy.is_sent:
            copy.unheard = 0 if line.heard_at > copy.last_at else copy.unheard + 1
        is_over = _now() - copy.first_at > _LONGEST_S
        # It may speak, and hear nothing; unless nothing left this machine.
        is_deaf = is_over and copy.tries > 0 and line.receipt_at < copy.first_at
        if copy.unheard >= self._tries or is_deaf:
            self._silent(peer)
            self.leave(peer)
        elif is_over:
            self._settle(copy, is_taken=False)
            self._move_up(line)
        else:
            is_doubtful = copy.tries >= _DOUBTFUL and line.receipt_at < copy.last_at
            self._try(copy)
            if is_doubtful:
                self._stand_in(copy.spread, peer)

    def _settle(self, copy: _Copy, *, is_taken: bool) -> None:
        """Be done with a copy."""
        _stop(copy)
        for number in copy.numbers:
            del self._awaited[number]
        line, spread = copy.line, copy.spread
        if copy in line.sent:
            line.sent.remove(copy)
            line.bytes -= len(spread.event.body)
        if spread.taken is Taken.DELIVERED:
            _tell(spread)
        if not is_taken:
            self._stand_in(spread, line.to.id)
        spread.waiting -= 1
        if spread.waiting == 0:
            self._end(spread)

    def _stand_in(self, spread: _Spread, peer: int) -> None:
        """Send the event to somebody else as well, once: one too many does no harm."""
        if peer not in spread.failed:
            spread.failed.add(peer)
            self._go_on(spread, 1)


def _now() -> float:
    return asyncio.get_running_loop().time()


def _stop(copy: _Copy) -> None:
    if copy.timer is not None:
        copy.timer.cancel()


def _tell(spread: _Spread) -> None:
    if not spread.done.done():
        spread.done.set_result(spread.taken)
