"""Upkeep: keeps a store small and quick to open, while it is in use.

Any number of processes may try; a lease lets one do it at a time. It can be ended at any moment: every step leaves a
store that is whole, and what is left undone is done in the next round.
"""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow.compute as pc

from tidegate.deliver.clock import SECOND
from tidegate.errors import ConfigError, StoreError
from tidegate.route.plan import Plan
from tidegate.store.cover import Cover, compact, cover_at, latest
from tidegate.store.glimpses import OLDEST, Glimpses
from tidegate.store.lease import Lease
from tidegate.store.leftovers import leftovers, needed_covers
from tidegate.store.pins import Pin
from tidegate.store.schema import CHANGE
from tidegate.store.store import Store
from tidegate.store.table import File

# Longer than any step takes, and short enough to wait for after a crash.
_LEASE_S = 600.0
# Delta keeps its log for 30 days, and while it does, old versions can be opened and damaged levels rebuilt.
_LOG_HOURS = 720
_HOUR_S = 3600.0
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Policy:
    """When a store is to be tidied up, and what is kept."""

    retention_hours: int = 168
    """For how long versions stay readable; the one that a stream's last batch is pinned to does so for 29 days. With 0
    nobody should be reading an older one, and what crashed writers left behind stays."""
    grace_s: float = 3600.0
    """For how long derived files are kept after they were last the newest: a batch may be running on them."""
    tail_rows: int = 20_000
    """Compile a new main level when more than this, and a quarter of it, lies outside or is dead."""
    data_files: int = 50
    """Merge the small files of the table when there are more files than this."""
    spent_rows: int = 1_000
    """Fold the table when more rows than this, and a quarter of all, are removed or superseded."""

    def __post_init__(self) -> None:
        """Refuse what cannot be kept to."""
        if not 0 <= self.retention_hours <= _LOG_HOURS:
            raise ConfigError(f"retention_hours is {self.retention_hours!r}: allowed is 0 to {_LOG_HOURS}")
        for name in ("grace_s", "tail_rows", "data_files", "spent_rows"):
            if not getattr(self, name) >= 0:
                raise ConfigError(f"{name} is {getattr(self, name)!r}: allowed is 0 or more")


class Tidied(NamedTuple):
    """What a round of upkeep did."""

    skipped: bool = False
    """Somebody else is at it: nothing was done."""
    expired: int = 0
    """Subscriptions."""
    compiled: int = 0
    """Subscriptions in a new main level."""
    merged: int = 0
    """Data files that became one."""
    folded: int = 0
    """Rows of the table that were removed or superseded, and are dropped."""
    vacuumed: int = 0
    """Data files deleted."""
    removed: int = 0
    """Derived files deleted."""


class Upkeep:
    """Tidies one store. Every method may be called on its own; `run_once` is all of them, under the lease."""

    def __init__(self, store: Store, policy: Policy | None = None) -> None:
        """Do nothing yet."""
        self.policy = policy or Policy()
        self.lease = Lease(store.beside, "upkeep.json", _LEASE_S)
        self._store = store

    def run_once(self) -> Tidied:
        """Do what is due, unless another process is at it."""
        if not self.lease.take():
            _log.info("upkeep of %s is left to %s", self._store.location.url, self.lease.holder())
            return Tidied(skipped=True)
        try:
            return self._run()
        finally:
            self.lease.release()

    def compact_segments(self) -> int:
        """Compile a new main level if the tail has grown, or the main level is old or of the plan before.

        Return its subscriptions.
        """
        version, plan = self._store.version, self._store.plans.newest()
        start = self._start(version, plan)
        main = start.levels[0]
        is_small = start.tail_rows <= max(self.policy.tail_rows, main.rows / 4)
        if is_small and main.plan == plan.version and not self._is_old(start, version):
            return 0
        compiled = compact(self._store.table, self._store.files, version, plan).rows
        if main.plan != plan.version:
            # A version without a change: what is pinned to it finds the new level, where this one's cover has the old.
            self._store.table.append(CHANGE.empty_table().drop_columns(["version"]))
        return compiled

    def merge_files(self) -> int:
        """Merge the small files of the table into one, if there are many; return how many they were."""
        table = self._store.table
        files = table.files(self._store.version)
        small = _small(files) if len(files) > self.policy.data_files else []
        if len(small) < 2 or table.replace(small, table.last_rows(small)) is None:
            return 0
        return len(small)

    def fold_table(self) -> int:
        """Rewrite the table without rows that are removed or superseded, if there are many; return how many."""
        table, version = self._store.table, self._store.version
        files = table.files(version)
        rows = sum(file.rows for file in files)
        if self._spent(version, files) <= max(self.policy.spent_rows, rows / 4):
            return 0
        # A cover older than the fold cannot be continued, as it might hold what was removed: let there be newer ones.
        for plan in {pin.plan for pin in self._pins()}:
            try:
                cover_at(table, self._store.files, version, self._store.plans.at(plan))
            except StoreError as error:
                # Its word map may be lost. Whoever still follows that plan is told so; the table need not wait for it.
                _log.warning("plan %d is passed over: %s", plan, error)
        last = table.last_rows(files)
        living = last.filter(pc.invert(last.column("removed")))
        if table.replace(files, living, folded_to=version) is None:
            return 0
        # And a main level of now: an older one would need the old files, should it have to be built anew.
        compact(table, self._store.files, self._store.version, self._store.plans.newest())
        return rows - int(living.num_rows)

    def vacuum(self) -> tuple[int, int]:
        """Delete the data files and the derived files that no batch can need; return how many of either."""
        store = self._store
        pins = self._pins()
        needed = needed_covers(store, pins, self.policy.grace_s)
        versions = {pin.store for pin in pins} | {level.until for cover in needed for level in cover.levels}
        deleted = store.table.vacuum(self.policy.retention_hours, sorted(versions))
        store.table.clean_log()
        removed = leftovers(store, needed, pins, self.policy.grace_s)
        for name in removed:
            store.files.delete(name)
        store.pins.tidy(self._since())
        Glimpses(store.beside).tidy(time.time() - OLDEST / SECOND)
        return len(deleted), len(removed)

    def _run(self) -> Tidied:
        done: dict[str, Any] = {}
        steps: dict[str, Callable[[], int]] = {
            "expired": self._store.expire,
            "folded": self.fold_table,  # which leaves nothing for the next two to do
            "merged": self.merge_files,
            "compiled": self.compact_segments,
        }
        for name, step in steps.items():
            done[name] = step()
            if not self.lease.take():
                _log.info("upkeep of %s took long, and went over to %s", self._store.location.url, self.lease.holder())
                return Tidied(**done)
        vacuumed, removed = self.vacuum()
        tidied = Tidied(**done, vacuumed=vacuumed, removed=removed)
        if any(tidied):
            _log.info("upkeep of %s: %s", self._store.location.url, tidied)
        return tidied

    def _pins(self) -> set[Pin]:
        """What streams may replay, and what comes next."""
        return self._store.pins.needed(self._since()) | {self._store.newest()}

    def _since(self) -> float:
        """Older pins are of streams that nobody will take up again: the log they would need may be gone."""
        return time.time() - (_LOG_HOURS - 24) * _HOUR_S

    def _start(self, version: int, plan: Plan) -> Cover:
        """The cover that later ones start from; there is one, at the latest now."""
        cover = cover_at(self._store.table, self._store.files, version, plan)
        return latest(self._store.table, self._store.files, version, plan) or cover

    def _is_old(self, cover: Cover, version: int) -> bool:
        """Whether the log that the main level could be rebuilt from may soon be gone."""
        if cover.levels[0].until == version:
            return False
        times = dict(self._store.beside.listing("segments"))
        written = min((times[name] for name in cover.levels[0].names if name in times), default=time.time())
        return written < time.time() - _LOG_HOURS * _HOUR_S / 4

    def _spent(self, version: int, files: list[File]) -> int:
        """How many rows of the table are removed or superseded, or removals."""
        rows = sum(file.rows for file in files)
        outside = sum(file.rows for file in files if not file.folded_to)
        living = self._start(version, self._store.plans.newest()).rows
        # A row outside spends itself and one more at most; beyond that, rows are in no cover for another reason.
        return min(rows - living, 2 * outside)


def _small(files: list[File]) -> list[File]:
    """The files worth merging: without those that outweigh all smaller ones, so that rows are rewritten seldom."""
    small = sorted((file for file in files if not file.folded_to), key=lambda file: file.rows)
    while len(small) > 1 and small[-1].rows > sum(file.rows for file in small[:-1]):
        small.pop()
    return small
