"""Standing subscriptions: a version of the store, opened by one process and ready to match.

A process keeps what it has opened, with all that its lexicons have learned, for as long as versions still need it.
"""

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tidegate.csr import Csr
from tidegate.index.common_reading import CommonReading, View
from tidegate.index.compiled import Compiled
from tidegate.index.found import Found
from tidegate.kernels import njit
from tidegate.route.copies import Duty
from tidegate.route.hot_words import post_hashes
from tidegate.route.placement import HEAD
from tidegate.route.plan import Plan
from tidegate.route.router import Router
from tidegate.route.visits import Visits, joined
from tidegate.store.cover import Cover, cover_at
from tidegate.store.files import Files
from tidegate.store.level import Level, open_router, open_segment
from tidegate.store.table import Table
from tidegate.text.analyzer import Analyzer
from tidegate.text.posts import Posts

Alive = NDArray[np.bool_]
_Opened = TypeVar("_Opened")
# Levels that no cover of this process used lately: a replay may return to them, a long history must not pile up.
_KEPT = 64
# A reading knows all words of the subscriptions and all spellings of the stream; a plan that was left is left for good.
_KEPT_READINGS = 2


class Part(NamedTuple):
    """What one level found: `found.subscriptions` without those that no longer count."""

    compiled: Compiled
    found: Found
    subscriptions: Csr


class Held(NamedTuple):
    """What a matcher holds of one level."""

    compiled: Compiled
    view: View
    alive: Alive | None
    """By subscription, unless all live."""
    duty: Duty | None
    """Which queries it answers, unless it answers all."""


@dataclass(frozen=True)
class Standing:
    """The subscriptions of one matcher at one version."""

    reading: CommonReading
    levels: list[Held]

    def match(self, posts: pa.Table | pa.RecordBatch, visits: Csr | None = None, **columns: str) -> Iterator[Part]:
        """Match posts against all of them, level by level; a subscription lives in one level.

        `visits` are the matchers that each post visits, rising, where a plan makes copies: one of them answers.
        """
        return self.match_read(self.reading.read(posts, **columns), posts, visits, **columns)

    def match_read(
        self, read: Posts, posts: pa.Table | pa.RecordBatch, visits: Csr | None = None, **columns: str
    ) -> Iterator[Part]:
        """Match posts that were read already."""
        for compiled, view, alive, duty in self.levels:
            found = compiled.match_read(view(read), posts, **columns)
            if duty is not None and visits is not None:
                found = replace(found, queries=duty.answered(found.queries, visits))
            subscriptions = found.subscriptions if alive is None else living(found.subscriptions, alive)
            yield Part(compiled, found, subscriptions)

    def __len__(self) -> int:
        """Return the number of subscriptions."""
        return sum(len(h.compiled) if h.alive is None else int(np.count_nonzero(h.alive)) for h in self.levels)


@dataclass(frozen=True)
class Routing:
    """The ways of posts to their matchers at one version, and the subscriptions of the head."""

    head: Standing
    routers: list[tuple[Router, View]]
    """One for each level."""
    fingerprint: int
    """Of the cover that posts are routed by: they must be matched by the same."""

    def route(
        self,
        posts: pa.Table | pa.RecordBatch,
        id: str = "id",  # noqa: A002
        **columns: str,
    ) -> tuple[Visits, Iterator[Part]]:
        """Return which matchers posts must visit, and what the head finds; posts are read once for both."""
        read = self.head.reading.read(posts, **columns)
        hashes = post_hashes(posts.column(id)) if any(router.draws for router, _ in self.routers) else None
        points = (read.lat, read.lon)
        visits = [router.route_read(view(read).terms, hashes, points) for router, view in self.routers]
        return joined(visits, len(read)), self.head.match_read(read, posts, None, **columns)


class Opener:
    """Opens covers of one store; belongs to one thread."""

    def __init__(self, table: Table, files: Files) -> None:
        """Open nothing yet."""
        self.table = table
        self.files = files
        self._covers: OrderedDict[tuple[int, int], Cover] = OrderedDict()
        self._segments: OrderedDict[str, Compiled] = OrderedDict()
        self._duties: OrderedDict[str, Duty | None] = OrderedDict()
        self._routers: OrderedDict[str, Router] = OrderedDict()
        self._readings: OrderedDict[int, _Readings] = OrderedDict()
        self._most_matchers = 1

    def standing(self, version: int, plan: Plan, matcher: int = 0) -> Standing:
        """The subscriptions of a matcher at a version."""
        cover = self.cover(version, plan)
        readings = self._reading(cover)
        levels = [level for level in cover.levels if matcher in level.matchers]
        held = [self._held(cover, level, matcher, plan, readings) for level in levels]
        return Standing(readings.reading, held)

    def routing(self, version: int, plan: Plan) -> Routing:
        """The ways of posts at a version, and the subscriptions of the head."""
        cover = self.cover(version, plan)
        readings = self._reading(cover)
        routers = [self._router(level) for level in cover.levels]
        views = [
            readings.view(level, level.router, router.keys) for level, router in zip(cover.levels, routers, strict=True)
        ]
        head = self.standing(version, plan, HEAD)
        return Routing(head, list(zip(routers, views, strict=True)), cover.fingerprint)

    def cover(self, version: int, plan: Plan) -> Cover:
        """The cover of a version."""
        self._most_matchers = max(self._most_matchers, plan.matchers)
        return _kept(
            self._covers,
            (version, plan.version),
            lambda: cover_at(self.table, self.files, version, plan, self._segment),
        )

    def _held(self, cover: Cover, level: Level, matcher: int, plan: Plan, readings: "_Readings") -> Held:
        name = level.segment(matcher)
        compiled = self._segment(level, matcher)
        view = readings.view(level, name, compiled.terms, compiled.surfaces)
        duty = self._duty(level, matcher, compiled) if plan.makes_copies and matcher != HEAD else None
        return Held(compiled, view, _alive(len(compiled), cover.dead.get(name)), duty)

    def _duty(self, level: Level, matcher: int, compiled: Compiled) -> Duty | None:
        return _kept(
            self._duties,
            level.segment(matcher),
            lambda: self._router(level).copies.duty(matcher, compiled.canonical),
            _KEPT + 4 * self._most_matchers,
        )

    def _reading(self, cover: Cover) -> "_Readings":
        """How posts are read for a plan: what was learned is kept until there is a new main level.

        Its vocabulary will have all the words again.
        """
        main = cover.levels[0].name if cover.levels else ""
        if cover.plan in self._readings and self._readings[cover.plan].main != main:
            del self._readings[cover.plan]
        readings = _kept(self._readings, cover.plan, lambda: _Readings(main), _KEPT_READINGS)
        readings.forget_but({level.name for level in cover.levels})
        return readings

    def _segment(self, level: Level, matcher: int) -> Compiled:
        return _kept(
            self._segments,
            level.segment(matcher),
            lambda: open_segment(self.table, self.files, level, matcher),
            _KEPT + 4 * self._most_matchers,
        )

    def _router(self, level: Level) -> Router:
        return _kept(self._routers, level.router, lambda: open_router(self.table, self.files, level))


class _Readings:
    """The common reading of the matchers and routers of a plan that this process serves."""

    def __init__(self, main: str) -> None:
        self.main = main
        self.reading = CommonReading(Analyzer().profile)
        self._views: dict[str, dict[str, View]] = {}

    def view(
        self, level: Level, name: str, terms: pa.LargeStringArray, surfaces: pa.LargeStringArray | None = None
    ) -> View:
        """How a file of a level sees what is read."""
        views = self._views.setdefault(level.name, {})
        if name not in views:
            views[name] = self.reading.add(terms, surfaces)
        return views[name]

    def forget_but(self, levels: set[str]) -> None:
        """Forget how levels see that are gone."""
        for gone in self._views.keys() - levels:
            del self._views[gone]


def _kept(opened: OrderedDict[Any, _Opened], key: Any, make: Any, most: int = _KEPT) -> _Opened:
    if key not in opened:
        opened[key] = make()
        while len(opened) > most:
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
