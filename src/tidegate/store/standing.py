"""Standing subscriptions: a version of the store, opened by one process and ready to match.

A process keeps what it has opened, with all that its lexicons have learned, for as long as versions still need it.
"""

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
from numba import njit
from numpy.typing import NDArray

from tidegate.csr import Csr
from tidegate.index.common_reading import CommonReading, View
from tidegate.index.compiled import Compiled
from tidegate.index.found import Found
from tidegate.route.plan import Plan
from tidegate.route.router import Router
from tidegate.store.cover import Cover, cover_at
from tidegate.store.files import Files
from tidegate.store.level import Level, open_router, open_segment
from tidegate.store.table import Table
from tidegate.text.analyzer import Analyzer

Alive = NDArray[np.bool_]
_Opened = TypeVar("_Opened")
# Levels that no cover of this process used lately: a replay may return to them, a long history must not pile up.
_KEPT = 64


class Part(NamedTuple):
    """What one level found: `found.subscriptions` without those that no longer count."""

    compiled: Compiled
    found: Found
    subscriptions: Csr


@dataclass(frozen=True)
class Standing:
    """The subscriptions of one matcher at one version."""

    reading: CommonReading
    levels: list[tuple[Compiled, View, Alive | None]]

    def match(self, posts: pa.Table | pa.RecordBatch, **columns: str) -> Iterator[Part]:
        """Match posts against all of them, level by level; a subscription lives in one level."""
        read = self.reading.read(posts, **columns)
        for compiled, view, alive in self.levels:
            found = compiled.match_read(view(read), posts, **columns)
            subscriptions = found.subscriptions if alive is None else living(found.subscriptions, alive)
            yield Part(compiled, found, subscriptions)

    def __len__(self) -> int:
        """Return the number of subscriptions."""
        return sum(len(c) if alive is None else int(np.count_nonzero(alive)) for c, _, alive in self.levels)


class Opener:
    """Opens covers of one store; belongs to one thread."""

    def __init__(self, table: Table, files: Files) -> None:
        """Open nothing yet."""
        self.table = table
        self.files = files
        self._covers: OrderedDict[tuple[int, int], Cover] = OrderedDict()
        self._segments: OrderedDict[str, Compiled] = OrderedDict()
        self._routers: OrderedDict[str, Router] = OrderedDict()
        self._readings: OrderedDict[tuple[int, int], _Readings] = OrderedDict()

    def standing(self, version: int, plan: Plan, matcher: int = 0) -> Standing:
        """The subscriptions of a matcher at a version."""
        cover = self.cover(version, plan)
        levels = [level for level in cover.levels if matcher in level.matchers]
        names = [level.segment(matcher) for level in levels]
        opened = [self._segment(level, matcher, plan) for level in levels]
        key = (plan.version, matcher)
        # What was learned is kept until there is a new main level, whose vocabulary will have all the words again.
        if key in self._readings and self._readings[key].main != names[:1]:
            del self._readings[key]
        readings = _kept(self._readings, key, lambda: _Readings(names[:1]))
        views = readings.views(dict(zip(names, opened, strict=True)))
        alive = [_alive(len(compiled), cover.dead.get(name)) for name, compiled in zip(names, opened, strict=True)]
        return Standing(readings.reading, list(zip(opened, views, alive, strict=True)))

    def routers(self, version: int, plan: Plan) -> list[Router]:
        """The routers of a version, one for each of its levels."""
        levels = self.cover(version, plan).levels
        return [
            _kept(self._routers, level.router, lambda level=level: open_router(self.table, self.files, level, plan))
            for level in levels
        ]

    def cover(self, version: int, plan: Plan) -> Cover:
        """The cover of a version."""
        return _kept(
            self._covers,
            (version, plan.version),
            lambda: cover_at(self.table, self.files, version, plan, self._segment),
        )

    def _segment(self, level: Level, matcher: int, plan: Plan) -> Compiled:
        return _kept(
            self._segments,
            level.segment(matcher),
            lambda: open_segment(self.table, self.files, level, matcher, plan),
        )


class _Readings:
    """The common reading of a main level and of whatever is added to it."""

    def __init__(self, main: list[str]) -> None:
        self.main = main
        self.reading = CommonReading(Analyzer().profile)
        self._views: dict[str, View] = {}

    def views(self, levels: dict[str, Compiled]) -> list[View]:
        """How each level sees what is read; those of levels that are gone are forgotten."""
        self._views = {
            name: self._views[name] if name in self._views else self.reading.add(compiled)
            for name, compiled in levels.items()
        }
        return list(self._views.values())


def _kept(opened: OrderedDict[Any, _Opened], key: Any, make: Any) -> _Opened:
    if key not in opened:
        opened[key] = make()
        while len(opened) > _KEPT:
            opened.popitem(last=False)
    opened.move_to_end(key)
    return opened[key]


def _alive(rows: int, dead: NDArray[np.int32] | None) -> Alive | None:
    if dead is None:
        return None
    alive = np.ones(rows, np.bool_)
    alive[dead] = False
    return alive


def living(subscriptions: Csr, alive: Alive) -> Csr:
    """Leave out the subscriptions that no longer count."""
    return Csr(*_living(subscriptions, alive))


@njit(cache=True, nogil=True)
def _living(subscriptions: Csr, alive: Alive) -> Any:
    offsets = np.zeros_like(subscriptions.offsets)
    values = np.empty_like(subscriptions.values)
    end = 0
    for row in range(len(offsets) - 1):
        for i in range(subscriptions.offsets[row], subscriptions.offsets[row + 1]):
            values[end] = subscriptions.values[i]
            end += alive[subscriptions.values[i]]
        offsets[row + 1] = end
    return offsets, values[:end]
