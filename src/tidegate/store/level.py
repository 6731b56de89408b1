"""Levels: the subscriptions of a range of versions, compiled into segments, one for each matcher of a plan.

The level that begins at 0 is the main one; the others, built from what was added since, are its tail.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tidegate.csr import Csr
from tidegate.errors import DamageError, StoreError
from tidegate.index.asked import Asked
from tidegate.index.compiled import Compiled
from tidegate.query.normal import Limits
from tidegate.route.place_map import PlaceMap
from tidegate.route.placement import HEAD, Placement, place
from tidegate.route.plan import Plan
from tidegate.route.router import Router
from tidegate.route.word_map import WordMap
from tidegate.store.files import Files
from tidegate.store.plans import Plans
from tidegate.store.schema import whole_queries
from tidegate.store.table import Table
from tidegate.text.analyzer import Analyzer

_COLUMNS = ["id", "subscriber", "query", "region", "ranking"]
# What was accepted once is compiled whatever today's limits are.
_NO_LIMITS = Limits(max_length=2**31, max_conjunctions=2**31, max_terms=2**31, max_depth=2**31)
_Map = TypeVar("_Map")
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Level:
    """The subscriptions made or changed after version `since` that lived at version `until`."""

    since: int
    until: int
    plan: int
    """The version of the plan by which they are spread over matchers."""
    matchers: tuple[int, ...]
    """Those with any of the subscriptions; `HEAD` where some are answered by the routers themselves."""
    rows: int
    """How many subscriptions."""

    @property
    def name(self) -> str:
        """What all its files begin with."""
        return f"segments/{self.since}-{self.until}-p{self.plan}"

    @property
    def router(self) -> str:
        """The name of the file that leads posts to matchers."""
        return f"{self.name}-router.arrow"

    def segment(self, matcher: int) -> str:
        """The name of the file with the subscriptions of a matcher."""
        return f"{self.name}-head.arrow" if matcher == HEAD else f"{self.name}-m{matcher}.arrow"

    @property
    def names(self) -> list[str]:
        """The names of all its files."""
        return [self.router, *map(self.segment, self.matchers)]


def build_level(table: Table, files: Files, since: int, until: int, plan: Plan) -> Level:
    """Compile the subscriptions of a range of versions into segments; the same range gives the same files."""
    rows = _rows(table, since, until)
    analyzer = Analyzer()
    asked, refused = Asked.read(
        rows.column("id"),
        whole_queries(rows),
        analyzer,
        holders=rows.column("subscriber"),
        rankings=rows.column("ranking"),
        limits=_NO_LIMITS,
    )
    for refusal in refused:
        _log.warning("subscription %s cannot be matched any more: %s", refusal.subscription, refusal.error)
    placement = _placement(asked, files, plan) if plan.partitions else None
    if placement is not None:
        matchers = tuple(np.unique(placement.homes.values).tolist())
        parts = [asked.only(_lives_at(matcher, placement.homes)) for matcher in matchers]
    else:
        matchers, parts = ((0,), [asked]) if len(asked.ids) else ((), [])
    level = Level(since, until, plan.version, matchers, len(asked.ids))
    for matcher, part in zip(matchers, parts, strict=True):
        Compiled.of(part, analyzer).save(files.prepare(level.segment(matcher)))
        files.publish(level.segment(matcher))
    if placement is not None:
        Router.build(placement, analyzer).save(files.prepare(level.router))
        files.publish(level.router)
    return level


def _placement(asked: Asked, files: Files, plan: Plan) -> Placement:
    asking = np.bincount(asked.query_of, minlength=len(asked.queries))
    return place(asked.queries, plan, word_map(files, plan), asking, place_map(files, plan))


def _lives_at(matcher: int, homes: Csr) -> NDArray[np.bool_]:
    """By query: whether it lives at a matcher."""
    query_of = np.repeat(np.arange(homes.rows), np.diff(homes.offsets))
    lives = np.zeros(homes.rows, np.bool_)
    lives[query_of[homes.values == matcher]] = True
    return lives


def word_map(files: Files, plan: Plan) -> WordMap | None:
    """Map the words of a plan; None if it has learned none. They are no derived file: what is lost is lost."""
    if not plan.learned:
        return None
    return _learned("word map", files, plan, plan.words, _opened_words)


def place_map(files: Files, plan: Plan) -> PlaceMap | None:
    """Map the places of a plan; None if it has learned none. They are no derived file either."""
    return _learned("place map", files, plan, plan.places, _opened_places) if plan.by_place else None


def _learned(what: str, files: Files, plan: Plan, name: str, opened: Callable[[Path], _Map]) -> _Map:
    try:
        return files.opened(name, opened)
    except DamageError as error:
        lost = f"the {what} of plan {plan}, version {plan.version}, is gone: learn it anew"
        raise StoreError(f"{lost} ({error})") from error


@lru_cache(maxsize=2)
def _opened_words(path: Path) -> WordMap:
    """A word map never changes under its name, and every level is placed by it: it is opened once."""
    return WordMap.open(path)


@lru_cache(maxsize=2)
def _opened_places(path: Path) -> PlaceMap:
    """Opened once, for the same reason."""
    return PlaceMap.open(path)


def open_segment(table: Table, files: Files, level: Level, matcher: int) -> Compiled:
    """Map the segment of a matcher; one that cannot be trusted is built anew first."""
    try:
        return files.opened(level.segment(matcher), Compiled.open)
    except DamageError as error:
        _rebuild(table, files, level, error)
        return Compiled.open(files.path(level.segment(matcher)))


def open_router(table: Table, files: Files, level: Level) -> Router:
    """Map the router of a level; one that cannot be trusted is built anew first."""
    try:
        return files.opened(level.router, Router.open)
    except DamageError as error:
        _rebuild(table, files, level, error)
        return Router.open(files.path(level.router))


def _rebuild(table: Table, files: Files, level: Level, error: DamageError) -> None:
    _log.warning("%s; building versions %d to %d anew from the table", error, level.since, level.until)
    for name in level.names:
        files.forget(name)
    build_level(table, files, level.since, level.until, Plans(files.location, files).at(level.plan))


def _rows(table: Table, since: int, until: int) -> pa.Table:
    """The subscriptions of a level, by rising id."""
    if since == 0:
        return table.living(until, _COLUMNS)
    rows = table.changes(since, until, [*_COLUMNS, "removed"])
    rows = rows.filter(pc.invert(rows.column("removed")))
    return rows.take(pc.sort_indices(rows.column("id").cast(pa.large_binary())))
