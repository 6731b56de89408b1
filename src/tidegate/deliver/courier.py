"""The courier: takes parcels that are due, sends each by its channel, and notes what came of it. At least once."""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from tidegate.deliver.backoff import Backoff
from tidegate.deliver.clock import Clock
from tidegate.deliver.database import UnreachableError
from tidegate.deliver.parcel import Channel, Outcome, Parcel, Result

_LOG = logging.getLogger(__name__)


class Parcels(Protocol):
    """What is still to be sent, kept so that a crash loses none. Times are microseconds."""

    lease_s: float
    """How long a parcel is its taker's, unless that renews it."""

    def take(self, limit: int, busy: Collection[str]) -> Sequence[Parcel]:
        """Parcels whose time has come, the longest due first; not those that someone else has taken, or of the busy."""

    def renew(self, parcels: Collection[Parcel]) -> None:
        """Keep parcels for longer: they are still being sent."""

    def sent(self, parcel: Parcel) -> None:
        """It has arrived: forget it."""

    def postpone(self, parcel: Parcel, at: int, attempts: int, why: str) -> None:
        """Try again at that time; so many attempts have failed."""

    def give_up(self, parcel: Parcel, why: str, is_gone: bool) -> None:
        """It will not arrive; if `is_gone`, the address should be forgotten too."""


@dataclass(frozen=True)
class Courier:
    """Sends by channels of these names; `draw` gives random numbers in [0, 1)."""

    parcels: Parcels
    channels: Mapping[str, Channel]
    clock: Clock
    draw: Callable[[], float]
    backoff: Backoff = field(default_factory=Backoff)
    at_once: int = 16
    share: int = 32
    """While so many parcels of a subscriber are under way, no more of them are taken: it may be that its receiver takes
    its time, and others wait."""
    _under_way: Counter[str] = field(default_factory=Counter)

    async def round(self) -> Counter[Result]:
        """Send what is due, at most `at_once` parcels, side by side; return what became of how many.

        `LATER` are those that will be tried again, `FAILED` and `GONE` those that will not. What is sent while the
        outcome cannot be noted is sent again.
        """
        busy = [name for name, count in self._under_way.items() if count >= self.share]
        parcels = await asyncio.to_thread(self.parcels.take, self.at_once, busy)
        self._under_way.update(parcel.subscriber for parcel in parcels)
        under_way = {parcel.id: parcel for parcel in parcels}
        renewing = asyncio.create_task(self._renew(under_way))
        try:
            # One that cannot be noted must not leave the others to themselves.
            done = await asyncio.gather(*(self._deliver(one, under_way) for one in parcels), return_exceptions=True)
        finally:
            renewing.cancel()
            self._under_way.subtract(parcel.subscriber for parcel in parcels)
            for name in {parcel.subscriber for parcel in parcels if not self._under_way[parcel.subscriber]}:
                del self._under_way[name]
        for one in done:
            if isinstance(one, BaseException):
                raise one
        return Counter(one for one in done if isinstance(one, Result))

    async def _deliver(self, parcel: Parcel, under_way: dict[str, Parcel]) -> Result:
        outcome = await self._attempt(parcel)
        del under_way[parcel.id]
        return await asyncio.to_thread(self._note, parcel, outcome)

    async def _renew(self, under_way: Mapping[str, Parcel]) -> None:
        while under_way:
            await asyncio.sleep(self.parcels.lease_s / 3)
            try:
                await asyncio.to_thread(self.parcels.renew, list(under_way.values()))
            except UnreachableError as error:
                _LOG.warning("%d parcels under way may be sent twice: %s", len(under_way), error)

    async def _attempt(self, parcel: Parcel) -> Outcome:
        channel = self.channels.get(parcel.channel)
        if channel is None:
            return Outcome(Result.FAILED, f"no channel is called {parcel.channel!r}")
        if parcel.attempts >= self.backoff.attempts:
            # Whoever tried last would have given it up, had it lived: perhaps it is what kills them.
            return Outcome(Result.FAILED, f"{parcel.attempts} attempts, and nothing was heard of the last")
        try:
            return await channel.send(parcel)
        except Exception as error:  # a defect of one channel must not hold up the others
            _LOG.exception("parcel %s by %s", parcel.id, parcel.channel)
            return Outcome(Result.LATER, f"{type(error).__name__}: {error}")

    def _note(self, parcel: Parcel, outcome: Outcome) -> Result:
        if outcome.result is Result.SENT:
            self.parcels.sent(parcel)
            return Result.SENT
        failures = parcel.attempts + outcome.is_attempt
        wait = self.backoff.wait(failures, self.draw()) if outcome.is_attempt else 0
        if outcome.result is Result.LATER and wait is not None:
            self.parcels.postpone(parcel, self.clock() + max(wait, outcome.wait), failures, outcome.detail)
            return Result.LATER
        is_gone = outcome.result is Result.GONE
        self.parcels.give_up(parcel, outcome.detail, is_gone)
        return Result.GONE if is_gone else Result.FAILED
