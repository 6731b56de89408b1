"""Local load adjustment (PS²Stream §V-A): a grid changed a little, cell by cell.

The most loaded matcher gives to the least loaded: cells are split by text or merged where that lowers the total load,
and then as much is moved as balance needs, at the least cost. What moves follows from `transition.relocated`.
"""

from copy import copy
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from tidegate.csr import Int32, Int64
from tidegate.errors import ConfigError
from tidegate.index.placed import Placed, PlacedPosts
from tidegate.route.places.grid_t import GridT
from tidegate.route.places.heard import rarest
from tidegate.route.places.migration import Cells, Loads, Selection, greedy, tau

_TERM_BITS = 31
_BYTES_A_BOX = 32
_BYTES_A_TERM = 4
# A split has to lower the load of its cell by this share: its term map takes room in all routers.
_WORTH = 0.01


class Weights(NamedTuple):
    """What the load of a cell is made of. By default that of Definition 3: posts times conjunctions.

    With that alone, splitting always lowers the total load and merging never does; Definition 1, with what a visit
    costs beside the matching (`pair` = c₁, `visit` = c₂), lets both be worth it or not.
    """

    pair: float = 1.0
    """Of a post and a conjunction that are in the same cell at the same matcher."""
    check: float = 0.0
    """Of those of which, moreover, the post has the conjunction's rarest term."""
    visit: float = 0.0
    """Of a post that visits a matcher."""
    stored: float = 0.0
    """Of a conjunction that a cell has: what inserting and removing it takes, by its share of a period's updates."""

    def load(self, posts: Any, conjunctions: Any, checks: Any) -> Any:
        """Return the load of parts of cells."""
        return (self.pair * posts + self.stored) * conjunctions + self.check * checks + self.visit * posts


DEFINITION_3 = Weights()


class Counts(NamedTuple):
    """What a period saw, by the cell and the term under which conjunctions are filed; rising by both."""

    cells: Int32
    terms: Int32
    conjunctions: Int64
    """Filed there."""
    nbytes: Int64
    """Of these."""
    posts: Int64
    """In the cell, with the term."""
    visitors: Int64
    """By cell: posts that have at least one of its terms, or all posts if the grid does not hear."""


class Moved(NamedTuple):
    """What goes from which matcher to which: the conjunctions of these cells filed under these terms."""

    cells: Int32
    terms: Int32
    sources: Int32
    targets: Int32


class Adjusted(NamedTuple):
    """A grid after local adjustment, and what it takes."""

    grid: GridT
    moved: Moved
    cost: int
    """Bytes that move."""


def counted(grid: GridT, posts: PlacedPosts, placed: Placed) -> Counts:
    """Count the posts of a period and the conjunctions that stand."""
    under = grid.cells_under(placed.boxes)
    entries = np.repeat(np.arange(placed.rows), np.diff(under.offsets))
    filed = under.values.astype(np.int64) << _TERM_BITS | rarest(placed.sets)[entries]
    keys, key_of = np.unique(filed, return_inverse=True)
    sizes = _BYTES_A_BOX + _BYTES_A_TERM * np.diff(placed.sets.offsets)

    cell_of = grid.cells_of(posts.lat, posts.lon)
    writers = np.repeat(np.arange(posts.terms.rows), np.diff(posts.terms.offsets))
    read = cell_of[writers].astype(np.int64) << _TERM_BITS | posts.terms.values
    place = np.searchsorted(keys, read)
    hit = np.searchsorted(keys, read, side="right") > place
    # A post may repeat a term; it counts once.
    readers, visited = np.divmod(np.unique(writers[hit] * len(keys) + place[hit]), max(len(keys), 1))
    visitors = np.unique(readers) if grid.hears else np.flatnonzero(cell_of >= 0)
    return Counts(
        (keys >> _TERM_BITS).astype(np.int32),
        (keys & (2**_TERM_BITS - 1)).astype(np.int32),
        np.bincount(key_of, minlength=len(keys)),
        np.bincount(key_of, sizes[entries], len(keys)).astype(np.int64),
        np.bincount(visited, minlength=len(keys)),
        np.bincount(cell_of[visitors], minlength=len(grid.where)),
    )


def matcher_loads(grid: GridT, counts: Counts, weights: Weights = DEFINITION_3) -> Loads:
    """Return the load of each matcher: the sum over its cells and parts of cells."""
    return _Draft(grid, counts, weights).totals


def is_balanced(loads: Loads, sigma: float) -> bool:
    """Whether no matcher has more than `sigma` times the load of another."""
    return bool(loads.max() <= sigma * loads.min())


def adjusted_locally(
    grid: GridT,
    counts: Counts,
    sigma: float,
    p: int = 8,
    select: Selection = greedy,
    *,
    rounds: int = 1,
    weights: Weights = DEFINITION_3,
) -> Adjusted:
    """Return a grid of better balance. Whatever is done takes load from the matcher that has most of it then.

    None becomes as loaded by it as that one was: the highest load never rises, and rounds never go in a circle.
    `p` is the number of cells that a round looks at for splitting and merging. Rounds end early where there is balance,
    or nothing left to gain.
    """
    if p < 0 or rounds < 1:
        raise ConfigError(f"adjustment of {p} cells in {rounds} rounds: give 0 or more, and 1 or more")
    draft = _Draft(grid, counts, weights)
    before = draft.owners.copy()
    for _ in range(rounds):
        last = draft.owners.copy()
        if not is_balanced(draft.totals, sigma):
            _split_and_merge(draft, p)
        if not is_balanced(draft.totals, sigma):
            draft = _migrated(draft, sigma, select)
        if np.array_equal(draft.owners, last):
            break
    moves = np.flatnonzero(draft.owners != before)
    moved = Moved(counts.cells[moves], counts.terms[moves], before[moves], draft.owners[moves])
    return Adjusted(draft.grid(), moved, int(counts.nbytes[moves].sum()))


class _Draft:
    """A grid being changed, and what that does to the loads; parts are the pairs of a cell and a matcher."""

    def __init__(self, grid: GridT, counts: Counts, weights: Weights) -> None:
        n_terms = max(grid.n_terms, int(counts.terms.max(initial=-1)) + 1)
        self.base, self.counts, self.weights = _widened(grid, n_terms), counts, weights
        self.where = grid.where.copy()
        # Maps are never changed, only added: cells share them.
        self.maps = list(self.base.maps)
        self.starts = np.searchsorted(counts.cells, np.arange(len(grid.where) + 1))
        self.owners = _owners(self.base, counts.cells, counts.terms)
        self.loads = np.zeros((len(grid.where), grid.matchers))
        self._weigh(0, len(grid.where))

    def copy(self) -> "_Draft":
        """Return a draft to try something on."""
        other = copy(self)
        other.where, other.owners, other.loads = self.where.copy(), self.owners.copy(), self.loads.copy()
        other.maps = self.maps.copy()
        return other

    @property
    def totals(self) -> Loads:
        """By matcher, its load."""
        return np.asarray(self.loads.sum(axis=0))

    def keys(self, cell: int) -> slice:
        """Where the counts of a cell are."""
        return slice(self.starts[cell], self.starts[cell + 1])

    def sizes(self, matcher: int) -> Int64:
        """By cell, the bytes that a matcher has of it."""
        own = self.owners == matcher
        return np.bincount(self.counts.cells[own], self.counts.nbytes[own], len(self.where)).astype(np.int64)

    def give(self, cell: int, source: int, target: int) -> None:
        """Let the target have what the source has of a cell."""
        self.give_all(np.array([cell]), source, target)

    def give_all(self, cells: Int64, source: int, target: int) -> None:
        """Let the target have what the source has of these cells."""
        here = self.where[cells]
        for number in np.unique(here[here < 0]):
            self.maps.append(np.where(self.maps[-1 - number] == source, target, self.maps[-1 - number]))
            self.where[cells[here == number]] = -len(self.maps)
        self.where[cells[here == source]] = target
        for cell in cells:
            owners = self.owners[self.keys(cell)]
            owners[owners == source] = target
            self._weigh(cell, cell + 1)

    def split(self, cell: int, terms: Int32, target: int) -> None:
        """Share out a whole cell by text: these terms go to the target, all others stay."""
        term_map = np.full(self.base.n_terms, self.where[cell], np.int16)
        term_map[terms] = target
        self.maps.append(term_map)
        self.where[cell] = -len(self.maps)
        self.owners[self.keys(cell)] = term_map[self.counts.terms[self.keys(cell)]]
        self._weigh(cell, cell + 1)

    def grid(self) -> GridT:
        """Return the grid as it is now, with the maps that cells use."""
        shared = self.where < 0
        used, number = np.unique(-1 - self.where[shared], return_inverse=True)
        where = self.where.copy()
        where[shared] = -1 - number
        maps = np.array([self.maps[k] for k in used], np.int16).reshape(len(used), self.base.n_terms)
        return replace(self.base, where=where, maps=maps)

    def _weigh(self, first: int, end: int) -> None:
        """Bring the loads of some cells up to date."""
        keys = slice(self.starts[first], self.starts[end])
        seen, matchers = self.counts, self.loads.shape[1]
        parts = (seen.cells[keys].astype(np.int64) - first) * matchers + self.owners[keys]

        def summed(values: Any) -> Any:
            return np.bincount(parts, values, (end - first) * matchers).reshape(-1, matchers)

        conjunctions = summed(seen.conjunctions[keys])
        visitors = seen.visitors[first:end, np.newaxis]
        posts = np.where(
            self.where[first:end, np.newaxis] >= 0,
            visitors * (conjunctions > 0),
            _reached(visitors, summed(_absence(seen, keys))),
        )
        self.loads[first:end] = self.weights.load(
            posts, conjunctions, summed(seen.posts[keys] * seen.conjunctions[keys])
        )


def _split_and_merge(draft: _Draft, p: int) -> None:
    """Phase I: look at the most loaded cells of the most loaded matcher; keep what lowers the total load."""
    source, target = int(draft.totals.argmax()), int(draft.totals.argmin())
    for cell in np.argsort(-draft.loads[:, source], kind="stable")[:p].tolist():
        if draft.where[cell] >= 0:
            terms = _best_split(draft, cell, source, target)
            if terms is not None:
                draft.split(cell, terms, target)
        elif draft.loads[cell, source] > 0 and draft.loads[cell, target] > 0:
            merged = draft.copy()
            merged.give(cell, source, target)
            falls = merged.loads[cell].sum() < draft.loads[cell].sum()
            if falls and merged.totals[target] < draft.totals[source]:
                draft.give(cell, source, target)


def _best_split(draft: _Draft, cell: int, source: int, target: int) -> Int32 | None:
    """Return the terms of a whole cell to give away for the least total load; None if it would not fall.

    Posts × conjunctions is least when terms of many posts and few conjunctions are apart from the others, so the terms
    are ordered by that, and every place to cut is tried. The part of fewer bytes moves, unless it would make its target
    the more loaded of the two.
    """
    keys, seen = draft.keys(cell), draft.counts
    order = np.argsort(seen.posts[keys] / seen.conjunctions[keys], kind="stable")

    def of_both(values: Any) -> Any:
        """Sums of what is before each cut, and of what is behind it."""
        return np.column_stack((np.cumsum(values[order])[:-1], np.cumsum(values[order][::-1])[::-1][1:]))

    loads = draft.weights.load(
        _reached(seen.visitors[cell], of_both(_absence(seen, keys))),
        of_both(seen.conjunctions[keys]),
        of_both(seen.posts[keys] * seen.conjunctions[keys]),
    )
    smaller = of_both(seen.nbytes[keys]).argmin(axis=1)
    moving = loads[np.arange(len(loads)), smaller]
    total = np.where(draft.totals[target] + moving < draft.totals[source], loads.sum(axis=1), np.inf)
    if not total.min(initial=np.inf) < (1 - _WORTH) * draft.loads[cell, source]:
        return None
    cut = int(total.argmin())
    given = order[: cut + 1] if smaller[cut] == 0 else order[cut + 1 :]
    return seen.terms[keys][given]


def _migrated(draft: _Draft, sigma: float, select: Selection) -> _Draft:
    """Phase II: minimum cost migration, or the draft as it is if nothing can be moved for the better."""
    totals = draft.totals
    source, target = int(totals.argmax()), int(totals.argmin())
    wanted = tau(totals[source], totals[target], sigma)
    # A heavier cell would, alone, make the target the one that breaks the constraint.
    loads = draft.loads[:, source]
    offered = np.flatnonzero((loads > 0) & (loads <= totals[source] - totals[target] - wanted))
    cells = Cells(loads[offered], draft.sizes(source)[offered])
    chosen = select(cells, wanted)
    if chosen is None:
        chosen = np.arange(len(offered))
    moved = draft.copy()
    moved.give_all(offered[chosen], source, target)
    # Not so if much of it met, at the target, other parts of the same cells.
    return moved if max(moved.totals[source], moved.totals[target]) < totals[source] else draft


def _absence(seen: Counts, keys: slice) -> Loads:
    """Return the logarithm of the share of its cell's posts that do not have each term."""
    visitors = np.maximum(seen.visitors[seen.cells[keys]], 1)
    with np.errstate(divide="ignore"):
        return np.log1p(-seen.posts[keys] / visitors)


def _reached(visitors: Any, absence: Any) -> Any:
    """Return how many posts have one of the terms of each part of a cell; the parts of a cell are along the last axis.

    As if terms were independent, but for what is known: each of the cell's posts is in some part, and in one at most
    once. Whole numbers, so that loads add up.
    """
    posts = -visitors * np.expm1(absence)
    missed = visitors / np.maximum(posts.sum(axis=-1, keepdims=True), 1.0)
    return np.rint(np.minimum(posts * np.maximum(missed, 1.0), visitors))


def _owners(grid: GridT, cells: Int32, terms: Int32) -> Int32:
    """Return the matcher of what is filed in these cells under these terms, which all maps know."""
    owners = grid.where[cells]
    shared = owners < 0
    owners[shared] = grid.maps[-1 - owners[shared], terms[shared]]
    return owners


def _widened(grid: GridT, n_terms: int) -> GridT:
    """Return the same grid with maps of so many terms; all homes stay."""
    rest = (np.arange(grid.n_terms, n_terms) % grid.matchers).astype(np.int16)
    maps = np.hstack((grid.maps, np.broadcast_to(rest, (len(grid.maps), len(rest)))))
    return replace(grid, n_terms=n_terms, maps=maps)
