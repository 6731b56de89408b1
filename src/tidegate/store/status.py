"""What can be told about a store from outside: its subscriptions, plan and segments, its jobs, and what was set aside.

A job writes one small file about itself again and again; whether it still runs shows in how old that is.
"""

import json
import time
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

import pyarrow as pa

from tidegate.errors import StoreError
from tidegate.route.plan import Plan
from tidegate.store.cover import latest
from tidegate.store.dead_letters import DeadLetters
from tidegate.store.level import Level
from tidegate.store.location import Location
from tidegate.store.store import Store

_FOLDER = "status"
# A job writes at least every ten seconds: after a minute of silence something is wrong with it.
_SILENCE_S = 60.0


@dataclass(frozen=True)
class JobStatus:
    """A job as it was when it last wrote about itself."""

    run: str
    """Its name, the same after a restart."""
    posts: str
    matches: str
    """Where posts come from and matches go, without options: they may hold keys."""
    state: str
    """running, stopped, or failed."""
    batch: int
    """The last one that has ended, or -1."""
    store: int | None
    plan: int | None
    """The versions that this batch was matched against."""
    started: float
    seen: float
    """When it started, and when it wrote this, in seconds since 1970."""
    figures: dict[str, Any] = field(default_factory=dict)
    """Counts of the last batch and in all, rates, lag and latency, as far as they are known."""

    def is_running(self, now: float) -> bool:
        """Whether it says that it runs, and has said so lately."""
        return self.state == "running" and now - self.seen < _SILENCE_S


class Jobs:
    """What the jobs on one store write about themselves."""

    def __init__(self, location: Location) -> None:
        """Keep it below `location`."""
        self._location = location

    def write(self, status: JobStatus) -> None:
        """Take the place of what the job wrote before."""
        self._location.write(f"{_FOLDER}/{status.run}.json", json.dumps(asdict(status)).encode())

    def read(self) -> list[JobStatus]:
        """All jobs there ever were, the one seen last first."""
        contents = [(name, self._location.read(name)) for name in self._location.names(_FOLDER)]
        found = [_status(name, content) for name, content in contents if content is not None]
        return sorted(found, key=lambda status: status.seen, reverse=True)


class StoreStatus(NamedTuple):
    """A store, seen from outside."""

    url: str
    version: int
    plan: Plan
    subscriptions: int
    counted_at: int
    """The version at which there were so many: the newest that was made ready for matching."""
    levels: tuple[Level, ...]
    """Its segments, the main level first."""
    level_bytes: tuple[int | None, ...]
    """The size of each level; None where it lies in an object store."""
    jobs: list[JobStatus]
    dead_letters: int
    last_letters: pa.Table
    """How many were set aside, and the last of them, oldest first."""


def store_status(store: Store, letters: int) -> StoreStatus:
    """Look at a store, and at so many of its last dead letters.

    Reads what was derived from the subscriptions, and not them, unless nothing was derived yet.
    """
    dead = DeadLetters(store.beside)
    version, plan = store.version, store.plans.newest()
    cover = latest(store.table, store.files, version, plan)
    levels = () if cover is None else cover.levels
    return StoreStatus(
        url=store.location.url,
        version=version,
        plan=plan,
        subscriptions=store.table.living(version, ["id"]).num_rows if cover is None else cover.rows,
        counted_at=version if cover is None else cover.version,
        levels=levels,
        level_bytes=tuple(_size(store.beside, level) for level in levels),
        jobs=Jobs(store.beside).read(),
        dead_letters=dead.count(),
        last_letters=dead.last(letters),
    )


def describe(status: StoreStatus) -> dict[str, Any]:
    """Return a status as plain values."""
    sizes = zip(status.levels, status.level_bytes, strict=True)
    now = time.time()
    return {
        "store": status.url,
        "version": status.version,
        "plan": asdict(status.plan),
        "subscriptions": {"count": status.subscriptions, "version": status.counted_at},
        "segments": [
            {"since": level.since, "until": level.until, "subscriptions": level.rows, "bytes": size}
            for level, size in sizes
        ],
        "jobs": [{**asdict(job), "running": job.is_running(now)} for job in status.jobs],
        "dead_letters": {
            "count": status.dead_letters,
            "last": [
                {**letter, "received": letter["received"].isoformat()} for letter in status.last_letters.to_pylist()
            ],
        },
    }


def _status(name: str, content: bytes) -> JobStatus:
    try:
        return JobStatus(**json.loads(content))
    except (TypeError, ValueError) as error:
        raise StoreError(
            f"{name}: not the status of a job; remove the file, and a job that runs writes it anew"
        ) from error


def _size(beside: Location, level: Level) -> int | None:
    if beside.folder is None:
        return None
    paths = [beside.folder / name for name in level.names]
    return sum(path.stat().st_size for path in paths if path.exists())
