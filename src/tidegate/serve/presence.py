"""Who is here, noted in the database, so that jobs and other services know which devices are online."""

from collections.abc import Iterable
from typing import Final

from anyio import to_thread

from tidegate.deliver.clock import Clock, now
from tidegate.deliver.database import Database
from tidegate.deliver.schema import DEVICES
from tidegate.serve.live import Hub

EVERY_S: Final = 5.0
"""How often it is noted: several times while a device is still taken to be online."""


class Presence:
    """Notes the devices that are connected, all at once and again and again: a device that comes costs no write."""

    def __init__(self, database: Database, hub: Hub, clock: Clock = now) -> None:
        """Note the connections of a hub."""
        self._database, self._hub, self._clock = database, hub, clock

    async def round(self) -> None:
        """Note who is here now."""
        seen = {(each.subscriber, each.device, each.kind) for each in self._hub.connections() if each.device}
        await to_thread.run_sync(self.note, seen)

    def note(self, seen: Iterable[tuple[str, str, str]]) -> None:
        """Note that devices (subscriber, device, kind) are here now."""
        moment = self._clock()
        # In one order, so that no two services wait for each other.
        rows = [{"subscriber": s, "device": d, "kind": k, "seen": moment} for s, d, k in sorted(seen)]
        if not rows:
            return
        made = self._database.insert(DEVICES)
        latest = {"kind": made.excluded.kind, "seen": made.excluded.seen}
        with self._database.writing() as connection:
            connection.execute(
                made.on_conflict_do_update(index_elements=["subscriber", "device"], set_=latest),
                rows,
            )
