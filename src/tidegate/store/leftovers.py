"""Leftovers: derived files that no batch can need any more.

Whoever still wants one of them builds it anew from the table; that costs time, so they are let go late.
"""

import time
from collections.abc import Iterable
from itertools import pairwise

from tidegate.store.cover import Cover, Known, cover_name, known_covers, opened, start_of
from tidegate.store.pins import Pin
from tidegate.store.store import Store

_FOLDERS = ("covers", "mains", "segments", "words", "places")


def needed_covers(store: Store, pins: Iterable[Pin], grace_s: float) -> list[Cover]:
    """The covers of pinned versions, those that later versions start from, and those lately in use."""
    names = {cover_name(pin.store, pin.plan) for pin in pins} | _lately_used(
        known_covers(store.files), time.time() - grace_s
    )
    covers = [opened(store.files, name) for name in names]
    covers += [start_of(store.table, store.files, pin.store, store.plans.at(pin.plan)) for pin in pins]
    return [cover for cover in covers if cover is not None]


def leftovers(store: Store, needed: list[Cover], pins: Iterable[Pin], grace_s: float) -> list[str]:
    """The derived files that are not needed, nor written within the grace period: covers before their segments.

    The maps of plans that are neither pinned nor the newest, nor those of a needed level, are among them: they are
    learned anew, if at all.
    """
    versions = {pin.plan for pin in pins} | {level.plan for cover in needed for level in cover.levels}
    plans = {store.plans.newest(), *map(store.plans.at, versions)}
    wanted = {name for cover in needed for name in cover.names}
    wanted |= {name for plan in plans for name in (plan.words, plan.places)}
    before = time.time() - grace_s
    listed = (entry for folder in _FOLDERS for entry in store.beside.listing(folder))
    return [name for name, written in listed if name not in wanted and written < before]


def _lately_used(known: list[Known], since: float) -> set[str]:
    """The covers written after `since`, and those that had no follower before: until then they were the newest."""
    lately = {cover.name for cover in known if cover.written >= since}
    return lately | {cover.name for cover, follower in pairwise(known) if follower.written >= since}
