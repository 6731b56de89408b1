"""An engine with channels that note what they are given, for tests.

As a process that is meant to be killed: `python -m tests.deliver.delivery URL LOG`. It notes in the file LOG what it
sends, a line to a parcel, and ends on SIGTERM.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.deliver.scenes import Clock, match
from tidegate.deliver.clock import Clock as AnyClock
from tidegate.deliver.clock import now
from tidegate.deliver.confirming import Confirmations
from tidegate.deliver.courier import Courier
from tidegate.deliver.database import Database
from tidegate.deliver.deciding import Deciding, Known
from tidegate.deliver.digesting import Digesting
from tidegate.deliver.engine import Engine
from tidegate.deliver.inbox import Inbox
from tidegate.deliver.outbox import Outbox
from tidegate.deliver.packing import PackedParcels
from tidegate.deliver.parcel import Channel, Outcome, Parcel, Result
from tidegate.deliver.rule_table import RuleTable
from tidegate.deliver.subscribers import Subscribers
from tidegate.deliver.watched_rules import RuleSource, WatchedRules

CHANNELS = ("email", "push", "webhook")
MAIL = {"email": "ana@example.org"}
HOOK = {"webhook": "https://hooks.example/ana"}


@dataclass
class Noting:
    """A channel that does as it is told, one outcome after the other, and the last for ever."""

    outcomes: Sequence[Outcome] = (Outcome(Result.SENT),)
    parcels: list[Parcel] = field(default_factory=list)

    async def send(self, parcel: Parcel) -> Outcome:
        self.parcels.append(parcel)
        return self.outcomes[min(len(self.parcels), len(self.outcomes)) - 1]

    @property
    def posts(self) -> list[list[str]]:
        """The posts in each parcel."""
        return [[one["id"] for one in parcel.notifications] for parcel in self.parcels]


def engine_of(
    database: Database,
    channels: dict[str, Channel],
    clock: AnyClock,
    rules: RuleSource | None = None,
    *,
    known: Known = lambda _: {},
    lease_s: float = 60,
    at_once: int = 500,
) -> Engine:
    served = frozenset(channels)
    outbox = Outbox(database, clock, lease_s=lease_s)
    parcels = PackedParcels(database, outbox, served, _secrets, clock)
    return Engine(
        Deciding(database, WatchedRules(rules or RuleTable(database)), served, clock, known, at_once),
        Digesting(database, served, clock),
        Courier(parcels, channels, clock, lambda: 0.5),
        pause_s=0.02,
    )


def _secrets(names: Collection[str]) -> dict[str, tuple[str, ...]]:
    return {name: (f"secret of {name}",) for name in names}


class Delivery:
    """All channels, and an engine that has forgotten everything whenever it is run."""

    def __init__(self, database: Database, clock: Clock, channels: Collection[str] = CHANNELS) -> None:
        self.database, self.clock = database, clock
        self.channels = {name: Noting() for name in channels}
        self.rules: RuleSource | None = None
        self.known: Known = lambda _: {}

    def run(self) -> Engine:
        engine = engine_of(self.database, {**self.channels}, self.clock, self.rules, known=self.known)
        asyncio.run(engine.once())
        return engine

    def __getitem__(self, channel: str) -> list[list[str]]:
        return self.channels[channel].posts


def wanting(delivery: Delivery, name: str = "ana", tags: tuple[str, ...] = (), **preferences: Any) -> None:
    Subscribers(delivery.database, delivery.clock).put(name, {"addresses": {**MAIL, **HOOK}, **preferences}, tags)
    Confirmations(delivery.database, delivery.clock).confirm(name)


def bring(delivery: Delivery, *ids: str, subscriber: str = "ana", **more: Any) -> None:
    """Put posts into the inbox, as a batch of their own."""
    rows = [match(subscriber, post, **more) for post in ids]
    Inbox(delivery.database, delivery.clock).add(rows, f"{subscriber} {ids} {more}", 0)


@dataclass(frozen=True)
class _Logging:
    path: Path

    async def send(self, parcel: Parcel) -> Outcome:
        line = f"{parcel.subscriber} {parcel.channel} {','.join(one['id'] for one in parcel.notifications)}\n"
        log = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.write(log, line.encode())
        os.close(log)
        return Outcome(Result.SENT)


async def _until_terminated(url: str, log: Path) -> None:
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    database = Database.open(url)
    # Many small transactions, and leases that do not last: there is always something to be killed in.
    await engine_of(database, {"webhook": _Logging(log)}, now, lease_s=0.5, at_once=7).run(stop)
    database.close()


if __name__ == "__main__":
    asyncio.run(_until_terminated(sys.argv[1], Path(sys.argv[2])))
