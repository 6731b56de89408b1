"""The courier: takes parcels that are due, sends each by its channel, and notes what came of it. At least once."""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from tidegate.deliver.backoff import Backoff
from tidegate.deliver.clock import Clock
from tidegate.deliver.database import UnreachableError
from tidegate.deliver.outbox import Share
from tidegate.deliver.parcel import Channel, Outcome, Parcel, Result

_LOG = logging.getLogger(__name__)

_SEVERAL: Final = 8
_APART: Final = 8
_MOMENT_S: Final = 0.1


class Parcels(Protocol):
    """What is still to be sent, kept so that a crash loses none. Times are microseconds."""

    lease_s: float
    """How long a parcel is its taker's, unless that renews it."""

    def take(self, limit: int, share: Share) -> Sequence[Parcel]:
        """Parcels whose time has come, the longest due first; not those that someone else has, or beyond a share."""

    def renew(self, parcels: Collection[Parcel]) -> None:
        """Keep parcels for longer: they are still being sent."""

    def sent(self, parcel: Parcel) -> None:
        """It has arrived: forget it."""

    def postpone(self, parcel: Parcel, at: int, attempts: int, why: str) -> None:
        """Try again at that time; so many attempts have failed."""

    def give_up(self, parcel: Parcel, why: str, is_gone: bool) -> None:
        """It will not arrive; if `is_gone`, the address should be forgotten too."""


@dataclass(eq=False)
class Courier:
    """Sends by channels of these names, many parcels side by side; `draw` gives random numbers in [0, 1).

    Each is on its own: whatever takes its time holds up nothing but itself. In what order parcels arrive is not said.
    """

    parcels: Parcels
    channels: Mapping[str, Channel]
    clock: Clock
    draw: Callable[[], float]
    backoff: Backoff = field(default_factory=Backoff)
    at_once: int = 64
    """Parcels under way at the same time."""
    share: int = 16
    """Of one subscriber: its receiver may take its time, and others have their turn."""
    _under_way: dict[asyncio.Task[Result], Parcel] = field(default_factory=dict)
    _sending: list[Parcel] = field(default_factory=list)
    """Those of which nothing has come yet."""
    _renewed: float = 0.0
    """When all of these last were, or the first of them was taken, by the clock of the event loop."""

    @property
    def is_busy(self) -> bool:
        """Whether anything is under way."""
        return bool(self._under_way)

    async def round(self) -> Counter[Result]:
        """Take what is due, as far as there is room, and return what came of parcels within a moment.

        `LATER` are those that will be tried again, `FAILED` and `GONE` those that will not. What is sent while the
        outcome cannot be noted is sent again.
        """
        room = self.at_once - len(self._under_way)
        if room:
            # The last places are for those who have nothing under way: a few could have all of them otherwise.
            apart = self.at_once // _APART
            room, most = (room - apart, self.share) if room > apart else (room, 1)
            share = Share(most, Counter(parcel.subscriber for parcel in self._under_way.values()))
            if not self._sending:
                self._renewed = asyncio.get_running_loop().time()
            for parcel in await asyncio.to_thread(self.parcels.take, room, share):
                task = asyncio.create_task(self._deliver(parcel))
                self._under_way[task] = parcel
                self._sending.append(parcel)
        return await self._ended()

    async def finish(self) -> Counter[Result]:
        """Take no more, and wait for what is under way; return what came of it."""
        total: Counter[Result] = Counter()
        while self._under_way:
            try:
                total += await self._ended()
            except UnreachableError as error:
                _LOG.warning("a parcel may be sent twice: %s", error)
        return total

    async def _ended(self) -> Counter[Result]:
        """What has come of some: several at a time, since to take the next ones has its price, and soon."""
        await self._renew()
        loop = asyncio.get_running_loop()
        until = loop.time() + min(_MOMENT_S, self.parcels.lease_s / 6)
        enough = len(self._under_way) - min(_SEVERAL, len(self._under_way))
        left = set(self._under_way)
        while len(left) > enough and (seconds := until - loop.time()) > 0:
            _, left = await asyncio.wait(left, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        done = [task for task in self._under_way if task.done()]
        for task in done:
            del self._under_way[task]
        # One that cannot be noted must not leave the others to themselves: they are waited for, and it is told.
        return Counter(task.result() for task in done)

    async def _deliver(self, parcel: Parcel) -> Result:
        try:
            outcome = await self._attempt(parcel)
        finally:
            self._sending.remove(parcel)
        return await asyncio.to_thread(self._note, parcel, outcome)

    async def _renew(self) -> None:
        """Keep what is being sent, in time."""
        moment = asyncio.get_running_loop().time()
        if not self._sending or moment < self._renewed + self.parcels.lease_s / 3:
            return
        try:
            await asyncio.to_thread(self.parcels.renew, tuple(self._sending))
        except UnreachableError as error:
            _LOG.warning("%d parcels under way may be sent twice: %s", len(self._sending), error)
        self._renewed = moment

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
