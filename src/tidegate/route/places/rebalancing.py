"""Local adjustment that balances what matchers really do, past that of the paper (`adjustment`).

There, cells are weighed one by one, and those that move are the ones of fewest bytes. They end up scattered, and a
conjunction whose box overlaps cells of several matchers is stored, inserted and removed at each of them. Here, a
matcher's load has all it stores, so that cells move to where most of what they hold is already, and a part of a cell
too hot for any matcher is divided by text although that makes more visits.
"""

from copy import copy
from typing import Any, NamedTuple

import numpy as np

from tidegate.csr import Int64
from tidegate.errors import ConfigError
from tidegate.index.placed import Placed
from tidegate.route.places.adjustment import Adjusted, Moved
from tidegate.route.places.counts import Counts, Weights, filings
from tidegate.route.places.draft import Draft, absence, reached
from tidegate.route.places.grid_t import GridT
from tidegate.route.places.migration import Loads

_SHARPNESS = 16
# By what share a change has to lower the price; a cut by more, for its term map takes room in all routers.
_WORTH_A_MOVE, _WORTH_A_CUT = 5e-4, 2e-2


class Stored(NamedTuple):
    """A sample of the conjunctions that stand, filed in each cell that their boxes overlap."""

    keys: Int64
    """By filing, the number of its cell and term in the counts; and its conjunction."""
    conjunctions: Int64
    copies: Loads
    """By conjunction, the filings it makes at every matcher that has it: indexes do not know whose cells are whose.

    Times the number of conjunctions that it stands for.
    """

    @classmethod
    def of(cls, grid: GridT, counts: Counts, placed: Placed, most: int = 20_000) -> "Stored":
        """Take as many as are allowed of the conjunctions that were counted, evenly."""
        m = min(most, placed.rows)
        shown = placed.only(np.linspace(0, placed.rows - 1, m).astype(np.int64))
        conjunctions, filed = filings(grid, shown)
        copies = np.bincount(conjunctions, minlength=m).astype(np.float64) * (placed.rows / max(m, 1))
        return cls(np.searchsorted(counts.keys, filed), conjunctions, copies)


def stored_loads(grid: GridT, counts: Counts, stored: Stored, weights: Weights) -> Loads:
    """Return the load of each matcher, with all that it stores."""
    return _Balance(grid, counts, stored, weights).totals


def rebalanced(
    grid: GridT, counts: Counts, stored: Stored, weights: Weights, *, rounds: int = 50, p: int = 4, travel: float = 1.0
) -> Adjusted:
    """Return a grid whose highest loads are lower, by as many changes; each takes from the most loaded matcher.

    A change moves what that matcher has of a cell, or divides by text one of the `p` heaviest such parts. It is the one
    of the lowest price: a soft maximum of the loads, which rises with the total load too. What has to move counts
    `travel` times on top of what it weighs in a period.
    """
    if p < 0 or rounds < 1 or travel < 0:
        raise ConfigError(f"{rounds} rounds, {p} parts, travel {travel}: give 1 or more, and 0 or more of the others")
    balance = _Balance(grid, counts, stored, weights)
    before = balance.draft.owners.copy()
    for _ in range(rounds):
        change = balance.best_change(p, travel)
        changed = balance.after(change) if change else balance
        # What a change does to further parts of its cell is not in its price.
        if changed is balance or changed.totals.max() > balance.totals.max():
            break
        balance = changed
    owners = balance.draft.owners
    moves = np.flatnonzero(owners != before)
    moved = Moved(counts.cells[moves], counts.terms[moves], before[moves], owners[moves])
    return Adjusted(balance.draft.grid(), moved, int(counts.nbytes[moves].sum()))


class _Change(NamedTuple):
    price: float
    """Over what it is without the change."""
    keys: Int64
    """What goes, all of one cell."""
    cell: int
    source: int
    target: int
    is_cut: bool


class _Balance:
    """A draft, and what its matchers store."""

    def __init__(self, grid: GridT, counts: Counts, stored: Stored, weights: Weights) -> None:
        self.draft = Draft(grid, counts, weights._replace(stored=0.0))
        self.counts, self.stored, self.weight = counts, stored, weights.stored
        n, matchers = len(stored.copies), grid.matchers
        places = stored.conjunctions * matchers + self.draft.owners[stored.keys]
        self.has = np.bincount(places, minlength=n * matchers).reshape(n, matchers)
        """By conjunction and matcher: in how many of its cells."""

    @property
    def totals(self) -> Loads:
        return np.asarray(self.draft.totals + self.weight * (self.stored.copies @ (self.has > 0)))

    def after(self, change: _Change) -> "_Balance":
        other = copy(self)
        other.draft, other.has = self.draft.copy(), self.has.copy()
        if change.is_cut:
            other.draft.split(change.cell, self.counts.terms[change.keys], change.target)
        else:
            other.draft.give(change.cell, change.source, change.target)
        moved = self.stored.conjunctions[np.isin(self.stored.keys, change.keys)]
        # A conjunction is filed in a cell once: none of these is there twice.
        other.has[moved, change.source] -= 1
        other.has[moved, change.target] += 1
        return other

    def best_change(self, p: int, travel: float) -> _Change | None:
        totals = self.totals
        source = int(totals.argmax())
        if totals[source] == 0.0:
            return None
        trade = _Trade(self, totals, source, travel)
        move = trade.best_move()
        if move and move.price < 1.0 - _WORTH_A_MOVE:
            return move
        heaviest = np.argsort(-self.draft.loads[:, source], kind="stable")[:p].tolist()
        cuts = [cut for cell in heaviest if (cut := trade.best_cut(cell)) and cut.price < 1.0 - _WORTH_A_CUT]
        return min(cuts, key=lambda cut: cut.price, default=None)


class _Trade:
    """What the most loaded matcher may give away, and what that would do."""

    def __init__(self, balance: _Balance, totals: Loads, source: int, travel: float) -> None:
        self.draft, self.counts, self.totals = balance.draft, balance.counts, totals
        self.source, self.travel = source, travel
        stored = balance.stored
        own = np.flatnonzero(self.draft.owners[stored.keys] == source)
        self.keys, here = stored.keys[own], stored.conjunctions[own]
        copies, has = balance.weight * stored.copies[here], balance.has[here]
        self.leaving = copies * (has[:, source] == 1)
        """By filing of the source, what it need not store without it; and what each target would have to besides."""
        self.coming = copies[:, None] * (has == 0)

    def best_move(self) -> _Change | None:
        """Return the best move of all that the source has of a cell."""
        cells = np.flatnonzero(self.draft.loads[:, self.source] > 0)
        if not len(cells):
            return None
        load = self.draft.loads[cells, self.source]
        leaving, coming = self._summed(self.counts.cells[self.keys], slice(None), len(self.draft.where))
        more = np.repeat(load[:, None], len(self.totals), axis=1)
        # Where cells are divided, posts that visit both need not any longer once the two parts are one.
        divided = np.flatnonzero(self.draft.where[cells] < 0)
        for other in range(len(self.totals)):
            together = self.draft.loads_if_given(cells[divided], self.source, other)
            more[divided, other] = together - self.draft.loads[cells[divided], other]
        prices = self._prices(load + leaving[cells], more, coming[cells])
        at, target = np.unravel_index(int(prices.argmin()), prices.shape)
        keys = self._own_keys(int(cells[at]))
        return _Change(float(prices[at, target]), keys, int(cells[at]), self.source, int(target), is_cut=False)

    def best_cut(self, cell: int) -> _Change | None:
        """Return the best cut of what the source has of a cell, by text.

        Terms of many conjunctions for their posts are on one side: so the fewest posts have to visit both matchers.
        """
        seen, keys = self.counts, self._own_keys(cell)
        if len(keys) < 2:
            return None
        order = np.argsort(seen.posts[keys] / seen.conjunctions[keys], kind="stable")
        filed = np.flatnonzero((self.keys >= keys[0]) & (self.keys <= keys[-1]))
        leaving, coming = self._summed(self.keys[filed] - keys[0], filed, int(keys[-1] - keys[0]) + 1)
        leaving, coming = leaving[keys - keys[0]], coming[keys - keys[0]]
        best: _Change | None = None
        for way in (order, order[::-1]):
            given = keys[way]
            sums = [
                _before_and_behind(values)
                for values in (
                    absence(seen, given),
                    seen.conjunctions[given],
                    seen.posts[given] * seen.conjunctions[given],
                )
            ]
            loads = self.draft.weights.load(reached(seen.visitors[cell], sums[0]), sums[1], sums[2]).T
            less = self.draft.loads[cell, self.source] - loads[1] + np.cumsum(leaving[way])[:-1]
            prices = self._prices(less, loads[0][:, None], np.cumsum(coming[way], axis=0)[:-1])
            at, target = np.unravel_index(int(prices.argmin()), prices.shape)
            if best is None or prices[at, target] < best.price:
                best = _Change(float(prices[at, target]), given[: at + 1], cell, self.source, int(target), is_cut=True)
        return best

    def _own_keys(self, cell: int) -> Int64:
        keys = np.arange(self.draft.starts[cell], self.draft.starts[cell + 1])
        return np.asarray(keys[self.draft.owners[keys] == self.source])

    def _summed(self, places: Any, filings: Any, n: int) -> tuple[Any, Any]:
        """Return what leaves, and what comes, by place; of these filings, of which `places` has one each."""
        coming = [np.bincount(places, one, n) for one in self.coming[filings].T]
        return np.bincount(places, self.leaving[filings], n), np.column_stack(coming)

    def _prices(self, less: Loads, more: Loads, stored: Loads) -> Loads:
        """Return the price of changes, a row each, to all targets, over that of none of them."""
        highest = self.totals[self.source]
        before = _sharpened(self.totals / highest)
        left = _sharpened(np.maximum(self.totals[self.source] - less, 0.0) / highest)
        grown = _sharpened((self.totals + more + (1.0 + self.travel) * stored) / highest)
        after = before.sum() - before[self.source] - before + left[:, None] + grown
        after[grown >= 1.0] = np.inf  # none is to become as loaded as the source was
        after[:, self.source] = np.inf
        return np.asarray((after / before.sum()) ** (1.0 / _SHARPNESS))


def _sharpened(loads: Loads) -> Loads:
    """Return the sixteenth powers, by squares: a general power takes far longer."""
    return np.square(np.square(np.square(np.square(loads))))


def _before_and_behind(values: Any) -> Any:
    """Return the sums of what is before each cut, and of what is behind it."""
    return np.column_stack((np.cumsum(values)[:-1], np.cumsum(values[::-1])[::-1][1:]))
