"""Local load adjustment (PS²Stream §V-A): a grid changed a little, cell by cell.

The most loaded matcher gives to the least loaded: cells are split by text or merged where that lowers the total load,
and then as much is moved as balance needs, at the least cost. What moves follows from `transition.relocated`.
"""

from typing import Any, NamedTuple

import numpy as np

from tidegate.csr import Int32
from tidegate.errors import ConfigError
from tidegate.route.places.counts import DEFINITION_3, Counts, Weights
from tidegate.route.places.draft import Draft, absence, is_balanced, reached
from tidegate.route.places.grid_t import GridT
from tidegate.route.places.migration import Cells, Selection, greedy, tau

# A split has to lower the load of its cell by this share: its term map takes room in all routers.
_WORTH = 0.01


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
    draft = Draft(grid, counts, weights)
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


def _split_and_merge(draft: Draft, p: int) -> None:
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


def _best_split(draft: Draft, cell: int, source: int, target: int) -> Int32 | None:
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
        reached(seen.visitors[cell], of_both(absence(seen, keys))),
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


def _migrated(draft: Draft, sigma: float, select: Selection) -> Draft:
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
