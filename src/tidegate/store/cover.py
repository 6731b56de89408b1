"""Covers: which levels together are the subscriptions at a version, and which of their rows no longer count.

A micro-batch pins a version; its cover says what to map. A cover is made from an earlier one by adding a level for what
was subscribed since, and marking in the older levels what was changed or removed. Levels grow geometrically, so a
subscription is compiled a few times at most before it reaches the main level.
"""

import json
import logging
import re
from dataclasses import asdict, dataclass

import numpy as np
import pyarrow as pa
from numba import njit

from tidegate.csr import Int32, Int64
from tidegate.errors import StoreError
from tidegate.index.segment import read_segment, write_segment
from tidegate.index.strings import read_strings, string_arrays, strings
from tidegate.route.plan import Plan
from tidegate.store.files import Files
from tidegate.store.level import Level, build_level, open_segment
from tidegate.store.table import Table
from tidegate.text.characters import Bytes

_KIND = "cover"
_NAME = re.compile(r"covers/(\d+)-p(\d+)\.arrow$")
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Cover:
    """The subscriptions at `version`, spread by a plan."""

    version: int
    plan: int
    levels: tuple[Level, ...]
    """By rising versions; the first is the main one."""
    dead: dict[str, Int32]
    """By segment: the numbers of its subscriptions that are gone or have changed since, rising."""

    @property
    def name(self) -> str:
        """Its file."""
        return cover_name(self.version, self.plan)

    @property
    def names(self) -> list[str]:
        """All files it needs, itself among them."""
        return [self.name, *(name for level in self.levels for name in level.names)]

    @property
    def tail_rows(self) -> int:
        """How many subscriptions lie outside the main level, or are dead in it: what compaction would tidy up."""
        return sum(level.rows for level in self.levels[1:]) + sum(map(len, self.dead.values()))

    def save(self, files: Files) -> None:
        """Write and publish it."""
        about = {"version": self.version, "plan": self.plan, "levels": [asdict(level) for level in self.levels]}
        arrays = {f"dead.{name}": numbers for name, numbers in self.dead.items()}
        write_segment(
            files.prepare(self.name), _KIND, {**string_arrays("about", strings([json.dumps(about)])), **arrays}, {}
        )
        files.publish(self.name)

    @classmethod
    def open(cls, files: Files, name: str) -> "Cover":
        """Read a cover; `StoreError` if it is missing or damaged."""
        arrays, _ = read_segment(files.path(name), _KIND)
        about = json.loads(read_strings(arrays, "about")[0].as_py())
        levels = tuple(Level(**{**level, "matchers": tuple(level["matchers"])}) for level in about["levels"])
        dead = {name.removeprefix("dead."): array for name, array in arrays.items() if name.startswith("dead.")}
        return cls(about["version"], about["plan"], levels, dead)


def cover_name(version: int, plan: int) -> str:
    """The file of the cover of a version under a plan."""
    return f"covers/{version}-p{plan}.arrow"


def known_covers(files: Files) -> list[tuple[int, int]]:
    """The versions and plans for which there are covers, by rising version."""
    found = (_NAME.search(name) for name in files.location.names("covers"))
    return sorted((int(match[1]), int(match[2])) for match in found if match)


def cover_at(table: Table, files: Files, version: int, plan: Plan) -> Cover:
    """Return the cover of a version, made now if there is none."""
    with files.building(cover_name(version, plan.version)):
        return _opened(files, cover_name(version, plan.version)) or _made(table, files, version, plan)


def compact(table: Table, files: Files, version: int, plan: Plan) -> Cover:
    """Compile everything at a version into one main level, to which later covers will add."""
    cover = Cover(version, plan.version, (build_level(table, files, 0, version, plan),), {})
    cover.save(files)
    return cover


def _made(table: Table, files: Files, version: int, plan: Plan) -> Cover:
    earlier = _best_before(table, files, version, plan)
    if earlier is None:
        return compact(table, files, version, plan)
    changed = table.changes(earlier.version, version, ["removed"])
    added = changed.num_rows - int(np.count_nonzero(changed.column("removed").to_numpy()))
    levels, since = list(earlier.levels), earlier.version
    while len(levels) > 1 and levels[-1].rows <= 2 * added:
        level = levels.pop()
        since, added = level.since, added + level.rows
    dead = {name: numbers for level in levels for name, numbers in earlier.dead.items() if name.startswith(level.name)}
    if changed.num_rows:
        wanted = changed.column("id").combine_chunks().cast(pa.large_string())
        for level in levels:
            for matcher in level.matchers:
                ids = open_segment(table, files, level, matcher, plan).ids
                name = level.segment(matcher)
                gone = np.union1d(dead.get(name, np.empty(0, np.int32)), _numbers(ids, wanted))
                if len(gone):
                    dead[name] = gone.astype(np.int32)
    if added:
        levels.append(build_level(table, files, since, version, plan))
    cover = Cover(version, plan.version, tuple(levels), dead)
    cover.save(files)
    return cover


def _best_before(table: Table, files: Files, version: int, plan: Plan) -> Cover | None:
    """The cover to start from: of those with the newest main level, the latest."""
    folded = table.folded_to(version)
    best: Cover | None = None
    for at, of in reversed(known_covers(files)):
        # A later main level always comes with a later cover, so nothing newer is to be had among the older ones.
        if best is not None and at < best.levels[0].until:
            break
        if of != plan.version or at > version:
            continue
        cover = _opened(files, cover_name(at, of))
        # What was removed before the table was folded cannot be seen any more: the main level must know of it.
        if cover is None or not cover.levels or cover.levels[0].since > 0 or cover.version < folded:
            continue
        if best is None or cover.levels[0].until > best.levels[0].until:
            best = cover
    return best


def _opened(files: Files, name: str) -> Cover | None:
    path = files.path(name)
    if not path.exists():
        return None
    try:
        return Cover.open(files, name)
    except StoreError as error:
        _log.warning("%s; making it anew", error)
        files.forget(name)
        return None


def _numbers(ids: pa.LargeStringArray, wanted: pa.LargeStringArray) -> Int32:
    """Return the places of `wanted` in the rising `ids`, as far as they are there."""
    found: Int32 = _found(*_flat(ids), *_flat(wanted))
    return found[found >= 0]


def _flat(texts: pa.LargeStringArray) -> tuple[Int64, Bytes]:
    arrays = string_arrays("", texts)
    data = arrays[".bytes"]
    data.flags.writeable = False
    return np.ascontiguousarray(arrays[".offsets"]), data


@njit(cache=True)
def _found(offsets: Int64, data: Bytes, wanted_offsets: Int64, wanted_data: Bytes) -> Int32:
    """For every wanted text its place in the rising texts, or -1: by bisection."""
    found = np.full(len(wanted_offsets) - 1, -1, np.int32)
    for i in range(len(found)):
        wanted = wanted_data[wanted_offsets[i] : wanted_offsets[i + 1]]
        low, high = 0, len(offsets) - 1
        while low < high:
            middle = (low + high) // 2
            text = data[offsets[middle] : offsets[middle + 1]]
            order = 0
            for k in range(min(len(text), len(wanted))):
                if text[k] != wanted[k]:
                    order = -1 if text[k] < wanted[k] else 1
                    break
            if order == 0:
                order = len(text) - len(wanted)
            if order == 0:
                found[i] = middle
                break
            if order < 0:
                low = middle + 1
            else:
                high = middle
    return found
