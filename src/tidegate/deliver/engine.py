"""The engine: decides what becomes of what is in the inbox, closes digests, sends, and forgets what is too old.

Each is a loop of its own. All that it knows is in the database: it may be killed at any moment, and run in several
processes.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

from tidegate.deliver.courier import Courier
from tidegate.deliver.database import UnreachableError
from tidegate.deliver.deciding import Deciding
from tidegate.deliver.digesting import Digesting
from tidegate.deliver.parcel import Result
from tidegate.deliver.upkeep import Upkeep

_LOG = logging.getLogger(__name__)


@dataclass
class Tally:
    """What an engine has done so far."""

    notifications: int = 0
    orders: int = 0
    waiting: int = 0
    digests: int = 0
    sent: int = 0
    postponed: int = 0
    given_up: int = 0
    forgotten: int = 0


@dataclass(frozen=True)
class Engine:
    """The loops; where there is nothing to do they look again after `pause_s`."""

    deciding: Deciding
    digesting: Digesting
    courier: Courier
    upkeep: Upkeep | None = None
    pause_s: float = 0.5
    tally: Tally = field(default_factory=Tally)

    async def once(self) -> None:
        """Do all that can be done now, and end; what is to be tried again later is not waited for."""
        for step in (self._decide, self._digest, self._send):
            while await step():
                pass
        await self._tidy_up(lambda: True)

    async def run(self, stop: asyncio.Event) -> None:
        """Go on until stopped; what is being sent then is still sent. A database that is away is waited for."""
        # Letters are sent by threads, which must not keep the loops from theirs.
        threads = self.courier.at_once + 8
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(threads, "deliver"))
        tidy_up = partial(self._tidy_up, lambda: not stop.is_set())
        steps: list[Callable[[], Awaitable[bool]]] = [self._decide, self._digest, self._send, tidy_up]
        ends = await asyncio.gather(*(self._loop(step, stop) for step in steps), return_exceptions=True)
        self._count(await self.courier.finish())
        for end in ends:
            if end is not None:
                raise end

    async def _loop(self, step: Callable[[], Awaitable[bool]], stop: asyncio.Event) -> None:
        is_away = False
        try:
            while not stop.is_set():
                try:
                    is_busy = await step()
                    is_away = False
                except UnreachableError as error:
                    if not is_away:
                        _LOG.warning("waiting for the database: %s", error)
                    is_busy, is_away = False, True
                if not is_busy:
                    with suppress(TimeoutError):
                        await asyncio.wait_for(stop.wait(), self.pause_s)
        finally:
            stop.set()  # a loop that has failed takes the others with it

    async def _decide(self) -> bool:
        decided = await asyncio.to_thread(self.deciding.round)
        self.tally.notifications += decided.notifications
        self.tally.orders += decided.orders
        self.tally.waiting += decided.waiting
        return decided.notifications > 0

    async def _digest(self) -> bool:
        closed = await asyncio.to_thread(self.digesting.round)
        self.tally.digests += closed
        return closed > 0

    async def _tidy_up(self, go_on: Callable[[], bool]) -> bool:
        if self.upkeep is not None:
            forgotten = await asyncio.to_thread(self.upkeep.round, go_on)
            self.tally.forgotten += forgotten.notifications
        return False

    async def _send(self) -> bool:
        done = await self.courier.round()
        self._count(done)
        return self.courier.is_busy or bool(done)

    def _count(self, done: Counter[Result]) -> None:
        self.tally.sent += done[Result.SENT]
        self.tally.postponed += done[Result.LATER]
        self.tally.given_up += done[Result.FAILED] + done[Result.GONE]
