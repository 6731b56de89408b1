"""Covers: which levels together are the subscriptions at a version, and which of their rows no longer count.

A micro-batch pins a version; its cover says what to map. A cover is made from an earlier one by adding a level for what
was subscribed since, and marking in the older levels what was changed or removed. Levels grow geometrically, so a
subscription is compiled a few times at most before it reaches the main level. Levels of several plans may stand side
by side: the subscriptions from before a plan live by the one it takes over from until they are compiled anew.

Once published a cover does not change: a post that was routed by one must not be matched by another.
"""

import json
import logging
import re
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import numpy as np
import pyarrow as pa

from tidegate.csr import Int32
from tidegate.errors import DamageError
from tidegate.index.compiled import Compiled
from tidegate.index.segment import read_segment, write_segment
from tidegate.index.strings import read_strings, string_arrays, strings
from tidegate.route.plan import Plan
from tidegate.store.files import Files
from tidegate.store.level import Level, build_level, open_segment
from tidegate.store.plans import Plans
from tidegate.store.table import Table

_KIND = "cover"
_MAINS = "mains/"
_NAME = re.compile(r"(?:covers|mains)/(\d+)-p(\d+)\.arrow$")
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Cover:
    """The subscriptions at `version`, spread by a plan."""

    name: str
    """Its file."""
    version: int
    plan: int
    levels: tuple[Level, ...]
    """By rising versions; the first is the main one."""
    dead: dict[str, Int32]
    """By segment: the numbers of its subscriptions that are gone or have changed since, rising."""
    gone: dict[str, int] = field(default_factory=dict)
    """By name of a level: how many of its subscriptions that are, each once however many copies it has."""

    @property
    def names(self) -> list[str]:
        """All files it needs, its own among them."""
        return [self.name, *(name for level in self.levels for name in level.names)]

    @property
    def fingerprint(self) -> int:
        """A number of 16 bits that tells it from covers whose subscriptions may live elsewhere."""
        return crc32(" ".join(level.name for level in self.levels).encode()) & 0xFFFF

    @property
    def rows(self) -> int:
        """How many subscriptions there are."""
        return sum(level.rows for level in self.levels) - sum(self.gone.values())

    @property
    def tail_rows(self) -> int:
        """How many subscriptions lie outside the main level, or are dead in it: what compaction would tidy up."""
        return sum(level.rows for level in self.levels[1:]) + sum(self.gone.values())

    def published(self, files: Files) -> "Cover":
        """Publish it, and return what others will find under its name: of several hosts the first wins."""
        return self if files.create(self.name, self._write) else Cover.open(files, self.name)

    @classmethod
    def open(cls, files: Files, name: str) -> "Cover":
        """Read a cover; `StoreError` if it is missing or damaged."""
        arrays, _ = files.opened(name, lambda path: read_segment(path, _KIND))
        about = json.loads(read_strings(arrays, "about")[0].as_py())
        levels = tuple(Level(**{**level, "matchers": tuple(level["matchers"])}) for level in about["levels"])
        dead = {key.removeprefix("dead."): array for key, array in arrays.items() if key.startswith("dead.")}
        return cls(name, about["version"], about["plan"], levels, dead, about["gone"])

    def _write(self, path: Path) -> None:
        levels = [asdict(level) for level in self.levels]
        about = {"version": self.version, "plan": self.plan, "levels": levels, "gone": self.gone}
        dead = {f"dead.{name}": numbers for name, numbers in self.dead.items()}
        write_segment(path, _KIND, {**string_arrays("about", strings([json.dumps(about)])), **dead}, {})


class Known(NamedTuple):
    """A cover that is there; sorts by plan and version."""

    plan: int
    version: int
    name: str
    written: float
    """When, in seconds since 1970."""


def known_covers(files: Files) -> list[Known]:
    """All covers that there are, those of compactions among them; by rising plan and version."""
    listed = [*files.location.listing("covers"), *files.location.listing("mains")]
    found = ((_NAME.search(name), name, written) for name, written in listed)
    return sorted(Known(int(match[2]), int(match[1]), name, written) for match, name, written in found if match)


def cover_name(version: int, plan: int) -> str:
    """The file of the cover of a version under a plan."""
    return f"covers/{version}-p{plan}.arrow"


Segments = Callable[[Level, int], Compiled]


def cover_at(table: Table, files: Files, version: int, plan: Plan, segments: Segments | None = None) -> Cover:
    """Return the cover of a version, made now if there is none; `segments` opens what the caller may have open."""
    name = cover_name(version, plan.version)

    def fresh(level: Level, matcher: int) -> Compiled:
        return open_segment(table, files, level, matcher)

    with files.building(name):
        return opened(files, name) or _made(name, table, files, version, plan, segments or fresh).published(files)


def compact(table: Table, files: Files, version: int, plan: Plan) -> Cover:
    """Compile everything at a version into one main level, for later covers to add to; the version's own stays."""
    name = f"{_MAINS}{version}-p{plan.version}.arrow"
    with files.building(name):
        return opened(files, name) or _main(name, table, files, version, plan).published(files)


def _main(name: str, table: Table, files: Files, version: int, plan: Plan) -> Cover:
    return Cover(name, version, plan.version, (build_level(table, files, 0, version, plan),), {})


def _made(name: str, table: Table, files: Files, version: int, plan: Plan, segments: Segments) -> Cover:
    earlier = start_of(table, files, version, plan)
    if earlier is None:
        return _main(name, table, files, version, plan)
    changed = table.changes(earlier.version, version, ["removed"])
    added = changed.num_rows - int(np.count_nonzero(changed.column("removed").to_numpy()))
    levels, since = list(earlier.levels), earlier.version
    while len(levels) > 1 and levels[-1].rows <= 2 * added:
        level = levels.pop()
        since, added = level.since, added + level.rows
    kept = {level.segment(matcher) for level in levels for matcher in level.matchers}
    dead = {segment: numbers for segment, numbers in earlier.dead.items() if segment in kept}
    gone = {level.name: earlier.gone.get(level.name, 0) for level in levels}
    if changed.num_rows:
        wanted = changed.column("id").combine_chunks().cast(pa.large_string())
        for level in levels:
            opened_at = {matcher: segments(level, matcher) for matcher in level.matchers}
            gone[level.name] += _mark_dead(dead, level, wanted, opened_at)
    if added:
        levels.append(build_level(table, files, since, version, plan))
    return Cover(name, version, plan.version, tuple(levels), dead, gone)


def start_of(table: Table, files: Files, version: int, plan: Plan) -> Cover | None:
    """The cover that one of `version` is made from: the latest of its plan, or of the one that it takes over from."""
    plans = Plans(files.location, files)
    found = latest(table, files, version, plan)
    while found is None and plan.after:
        plan = plans.at(plan.after)
        found = latest(table, files, version, plan)
    return found


def _mark_dead(dead: dict[str, Int32], level: Level, ids: pa.LargeStringArray, opened_at: dict[int, Compiled]) -> int:
    """Mark subscriptions as dead wherever a level has them; return how many were not."""
    newly = np.zeros(len(ids), np.bool_)
    for matcher in level.matchers:
        segment = level.segment(matcher)
        before = dead.get(segment, np.empty(0, np.int32))
        found = opened_at[matcher].roster.numbers(ids)
        newly |= (found >= 0) & ~np.isin(found, before)
        marked = np.union1d(before, found[found >= 0]).astype(np.int32)
        if len(marked):
            dead[segment] = marked
    return int(np.count_nonzero(newly))


def latest(table: Table, files: Files, version: int, plan: Plan) -> Cover | None:
    """The latest cover of a plan up to `version`, or that of a compaction with a newer main level."""
    folded = table.folded_to(version)
    known = [one for one in known_covers(files) if one.plan == plan.version and folded <= one.version <= version]
    best = _first_sound(files, reversed(known))
    if best is None:
        return None
    main = best.levels[0]
    since = main.until if main.plan == plan.version else -1
    newer = [one for one in known if one.name.startswith(_MAINS) and one.version > since]
    return _first_sound(files, reversed(newer)) or best


def _first_sound(files: Files, covers: Iterable[Known]) -> Cover | None:
    """The first that can be opened and has a main level.

    What was removed before the table was folded cannot be seen any more, so covers from before then are not asked for.
    """
    found = (opened(files, one.name) for one in covers)
    return next((cover for cover in found if cover is not None and cover.levels and cover.levels[0].since == 0), None)


def opened(files: Files, name: str) -> Cover | None:
    """Return a cover, or None if there is none; one that cannot be trusted is removed, so that it is made anew."""
    if not files.path(name).exists():
        return None
    try:
        return Cover.open(files, name)
    except DamageError as error:
        _log.warning("%s; making it anew", error)
        files.delete(name)
        return None
