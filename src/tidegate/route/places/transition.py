"""From one grid to another without a pause (PS²Stream §V-B): what moves, and two grids side by side meanwhile.

No change loses a match: who moves follows from the homes before and after.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tidegate.csr import Csr, Int64, offsets_of
from tidegate.errors import ConfigError
from tidegate.index.placed import Placed, PlacedPosts
from tidegate.route.places.grid_t import GridT
from tidegate.route.places.heard import Heard

_MATCHER_BITS = 31


class Relocation(NamedTuple):
    """What a change of grid means for each of some entries; those that stay where they are have empty rows."""

    arrivals: Csr
    """Matchers that have to take it in."""
    departures: Csr
    """Matchers that may forget it, as soon as posts go by the new grid."""


def relocated(old: GridT, new: GridT, placed: Placed) -> Relocation:
    """Return what becomes of these entries when they live by `new` instead of `old`.

    An entry that lies in several cells may be at the target of a move already, or have to stay at its source.
    """
    before, after = _pairs(old.homes(placed)), _pairs(new.homes(placed))
    arrivals, departures = np.setdiff1d(after, before, True), np.setdiff1d(before, after, True)
    return Relocation(_rows(arrivals, placed.rows), _rows(departures, placed.rows))


def is_worth_it(current_load: float, repartitioned_load: float, threshold: float = 0.1) -> bool:
    """Whether a new grid would lower the total load by more than this share of it."""
    return repartitioned_load < (1 - threshold) * current_load


@dataclass
class Transition:
    """Two grids side by side: entries from before the change live by the old one, later ones by the new.

    Posts visit by both, so that none is lost; a post may meet an entry at two matchers, and what merges matches removes
    doubles. The new grid may be adjusted meanwhile, with `relocated` for the new entries.
    """

    old: GridT
    new: GridT
    old_entries: int
    """How many still live by the old grid."""
    new_entries: int = 0
    share: float = 0.1
    """Of all entries: when fewer are old, they are to migrate."""

    def __post_init__(self) -> None:
        """Refuse a share that is none."""
        if not 0 < self.share <= 1:
            raise ConfigError(f"a transition that ends at a share of {self.share}: give more than 0 and at most 1")

    def inserted(self, entries: int) -> None:
        """Take note of new entries."""
        self.new_entries += entries

    def removed(self, *, old: int = 0, new: int = 0) -> None:
        """Take note of entries that are gone."""
        self.old_entries -= old
        self.new_entries -= new

    @property
    def is_due(self) -> bool:
        """Whether so few entries are old that they should migrate now."""
        return self.old_entries <= 0 or self.old_entries < self.share * (self.old_entries + self.new_entries)

    def homes(self, placed: Placed, is_old: Any) -> Csr:
        """Return the matchers that have each entry, of which `is_old` tells by which grid it lives."""
        by_old, by_new = _pairs(self.old.homes(placed)), _pairs(self.new.homes(placed))
        kept = np.concatenate((by_old[is_old[by_old >> _MATCHER_BITS]], by_new[~is_old[by_new >> _MATCHER_BITS]]))
        return _rows(np.sort(kept), placed.rows)

    def visits(self, posts: PlacedPosts, old_heard: Heard, new_heard: Heard) -> Csr:
        """Return the matchers that each post goes to, given what old and new entries ask for on their grids."""
        by_old, by_new = self.old.visits(posts, old_heard), self.new.visits(posts, new_heard)
        return _rows(np.union1d(_pairs(by_old), _pairs(by_new)), posts.terms.rows)

    def finished(self, old_placed: Placed) -> Relocation:
        """Return how the entries that are still old migrate; from then on, `new` alone decides."""
        return relocated(self.old, self.new, old_placed)


def _pairs(rows: Csr) -> Int64:
    """Return rows and values as one number each, so that sets of them can be compared; rising where the values are."""
    return np.repeat(np.arange(rows.rows), np.diff(rows.offsets)) << _MATCHER_BITS | rows.values


def _rows(pairs: Int64, rows: int) -> Csr:
    """Undo `_pairs`."""
    lengths = np.bincount(pairs >> _MATCHER_BITS, minlength=rows)
    return Csr(offsets_of(lengths), (pairs & (2**_MATCHER_BITS - 1)).astype(np.int32))
