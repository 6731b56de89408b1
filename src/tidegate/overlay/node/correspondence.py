"""The letters of one peer: when they are opened, what becomes of those that come, and who is taken to be silent.

In its turn a peer opens a gossip of each module, unless the last one waits for its answer. In haste it does not wait
for its turn: when an answer has come, it is soon time for the next letter, and who is busy is not asked for more.
"""

import asyncio
import random
import secrets
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from tidegate.deliver.ends import Address, is_loopback
from tidegate.overlay.node.allowance import Allowance
from tidegate.overlay.node.answers import Answers
from tidegate.overlay.node.directory import Directory
from tidegate.overlay.node.gossiping import Gossiping
from tidegate.overlay.node.haste import Haste
from tidegate.overlay.node.messages import Kind, Letter
from tidegate.overlay.node.reading import MalformedError
from tidegate.overlay.node.sealing import ANYBODY, Opened, RefusedError
from tidegate.overlay.node.settings import NodeSettings
from tidegate.overlay.poldercast.settings import CYCLON, MODULES
from tidegate.workload.alias import random_state

# Cycles after which a peer asks whom it joined by again: parts of a network that was cut find each other so.
_ASK_AGAIN: Final = 60
# In haste letters of a module are so far apart at least, or a tenth of a period: about as far as answers are on the
# Internet. Where they come at once, peers on one machine would have it do nothing else.
_MOMENT_S: Final = 0.1
# A second, of welcomes: they are far longer than what asks for them, and go to wherever that says.
_WELCOME_BYTES: Final = 1 << 17
LEAST_WELCOME: Final = 1 << 10
"""Bytes that a welcome counts for at least: it is work, however short."""

Send = Callable[[Kind, int, Address, bytes], int | None]
"""Says something to the peer with an id, at a place; returns the number of the message, or None if it does not go."""


class Correspondence:
    """Of a peer that knows nobody yet, until `close`."""

    def __init__(
        self, settings: NodeSettings, directory: Directory, send: Send, is_excused: Callable[[int], bool]
    ) -> None:
        """It begins when its first cycle passes. `is_excused` says who need not answer, by id."""
        self._settings, self._send, self._is_excused = settings, send, is_excused
        self.directory = directory
        self.gossiping = Gossiping(directory, settings.gossip, random_state(secrets.randbits(64)))
        self._haste = Haste(settings.patience_s)
        self._timers: list[asyncio.TimerHandle | None] = [None] * len(MODULES)
        self._moment_s = min(_MOMENT_S, settings.period_s / 10)
        self._opened_at = [-float("inf")] * len(MODULES)
        self._cycles = 0
        self._is_asking = self._is_closed = False
        self._welcome_room, self._answers = Allowance(_WELCOME_BYTES), Answers()

    def close(self) -> None:
        """Open nothing more, and wait for no answer."""
        self._is_closed = True
        for module in range(len(MODULES)):
            self._stop(module)

    def pass_cycle(self, joins: tuple[Address, ...]) -> None:
        """Let a cycle go by: write to whom one joins by, if need be, and by each module whose turn it is."""
        self._cycles += 1
        if self.gossiping.is_alone or self._cycles % _ASK_AGAIN == 0:
            self._ask_to_join([address for address in joins if address != self.directory.address])
        for module in self.gossiping.pass_cycle():
            self._open(module)

    def read(self, opened: Opened) -> None:
        """Do what a letter asks for; `MalformedError` if it is none, or is not heeded."""
        letter = Letter.from_bytes(opened.body, self.gossiping.most_named)
        self._check(letter, opened.sender)
        match opened.kind:
            case Kind.JOIN:
                self._welcome(letter)
            case Kind.WELCOME:
                self._be_welcome(letter)
            case Kind.OPEN:
                self._answer(letter)
            case _:
                self._close(letter)
        self._hasten()

    def found_silent(self, peer: int) -> None:
        """Forget the peer with an id, which does not say anything any more."""
        self.gossiping.forget(peer)
        self._haste.found_silent()
        self._hasten()

    def _open(self, module: int) -> None:
        if self._is_closed or self.gossiping.awaits(module):
            return
        self._opened_at[module] = _now()
        opened = self.gossiping.open(module)
        if opened is not None or not self.gossiping.is_alone:
            # To find that a module has nobody to write to is work, too; but who is alone will be in haste later.
            self._haste.spend(module)
        if opened is not None:
            to, letter = opened
            if self._send(Kind.OPEN, to.id, to.address, letter.to_bytes()) is None:
                # It did not leave this machine: nobody can answer.
                self.gossiping.give_up(module, lambda _: True)
            else:
                self._next(module, self._settings.patience_s, self._look)

    def _hasten(self) -> None:
        """See to it that what need not wait for its turn is opened soon."""
        for module in range(len(MODULES)):
            if module in self._haste and not self.gossiping.awaits(module):
                self._next(module, max(self._opened_at[module] + self._moment_s - _now(), 0.0), self._open)

    def _look(self, module: int) -> None:
        """Whoever was written to has not answered: forget it, unless it is excused."""
        if self.gossiping.give_up(module, self._is_excused):
            self._haste.found_silent()
        self._hasten()

    def _next(self, module: int, wait_s: float, what: Callable[[int], None]) -> None:
        """Have something done by a module in so many seconds, and nothing else before."""
        self._stop(module)
        self._timers[module] = asyncio.get_running_loop().call_later(wait_s, what, module)

    def _stop(self, module: int) -> None:
        if (timer := self._timers[module]) is not None:
            timer.cancel()

    def _ask_to_join(self, others: list[Address]) -> None:
        if others:
            self._is_asking = True
            self._send(Kind.JOIN, ANYBODY, random.choice(others), self.gossiping.joining().to_bytes())

    def _welcome(self, letter: Letter) -> None:
        if letter.module != CYCLON:
            raise MalformedError(f"somebody who joins by module {letter.module}: {CYCLON} is for that")
        if not self._welcome_room.take(LEAST_WELCOME):
            # It asks again.
            raise RefusedError("busy")
        answer = self.gossiping.answer(letter).to_bytes()
        self._welcome_room.owe(max(len(answer) - LEAST_WELCOME, 0))
        self._send(Kind.WELCOME, *letter.sender_at, answer)

    def _answer(self, letter: Letter) -> None:
        to, at = letter.sender_at
        self._answers.check(at)
        answer = self.gossiping.answer(letter).to_bytes()
        self._answers.count(at, len(answer))
        self._send(Kind.ANSWER, to, at, answer)

    def _be_welcome(self, letter: Letter) -> None:
        if not self._is_asking:
            raise RefusedError("late")
        self._is_asking = False
        self.gossiping.introduce(letter)

    def _close(self, letter: Letter) -> None:
        if not self.gossiping.close(letter):
            raise RefusedError("late")

    def _check(self, letter: Letter, sender: int) -> None:
        """Refuse who writes in another's name, and whoever is where nobody may be."""
        if letter.sender.id != sender:
            raise RefusedError("sender")
        if not self.directory.can_be(letter.sender, is_hearsay=False):
            raise RefusedError("time")
        check_places(self._settings, letter.sender.address, *(profile.address for _, profile in letter.named))


def check_places(settings: NodeSettings, *addresses: Address) -> None:
    """Refuse what names a place beyond this machine, if the peer has no key."""
    if settings.key is None and not all(_is_here(address.host) for address in addresses):
        raise RefusedError("place")


@lru_cache(maxsize=1024)
def _is_here(host: str) -> bool:
    """Letters name eleven places, mostly the same: to read them was a fifth of all that a peer does."""
    return is_loopback(host)


def _now() -> float:
    return asyncio.get_running_loop().time()
