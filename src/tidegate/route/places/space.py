"""Space partitionings: every cell belongs to one matcher, to which all its posts go (baselines of PS²Stream, §VI-B)."""

import numpy as np

from tidegate.csr import Csr, Int32, Int64, offsets_of
from tidegate.route.places.cuts import even_runs
from tidegate.route.places.grid_t import GridT
from tidegate.route.places.nodes import divided_by_space, root
from tidegate.route.places.sampled import Sampled, Settings

_LEAVES_PER_MATCHER = 32


def grid(sampled: Sampled, matchers: int, settings: Settings) -> GridT:
    """Cut the cells, along a Hilbert curve, into runs of even load: neighbours mostly share a matcher."""
    cells = np.arange(sampled.lattice.cells)
    side = max(sampled.lattice.columns, sampled.lattice.rows)
    order = np.argsort(_along_hilbert(cells % sampled.lattice.columns, cells // sampled.lattice.columns, side))
    owners = np.empty(sampled.lattice.cells, np.int32)
    owners[order] = np.arange(len(order))
    return _whole_cells(sampled, matchers, _owners_of_groups(sampled, owners, len(order), matchers))


def kd_tree(sampled: Sampled, matchers: int, settings: Settings) -> GridT:
    """Halve the space, and its halves, by load, along the axis that makes the lower load: a leaf for each matcher."""
    owners = np.empty((sampled.lattice.rows, sampled.lattice.columns), np.int32)
    for matcher, leaf in enumerate(divided_by_space(sampled, root(sampled), matchers, only=True).nodes):
        west, south, east, north = leaf.region
        owners[south:north, west:east] = matcher
    return _whole_cells(sampled, matchers, owners.ravel())


def r_tree(sampled: Sampled, matchers: int, settings: Settings) -> GridT:
    """Pack posts into leaves (sort-tile-recursive), and cut the leaves, in that order, into runs of even load.

    A cell belongs to the leaf that has most of its posts, or without posts to the leaf whose rectangle is nearest.
    """
    columns = sampled.cells % sampled.lattice.columns
    rows = sampled.cells // sampled.lattice.columns
    leaf_of, leaves = _packed(columns, rows, matchers * _LEAVES_PER_MATCHER)
    shares, posts = np.unique(sampled.cells.astype(np.int64) * leaves + leaf_of, return_counts=True)
    by_posts = np.argsort(posts, kind="stable")
    cells = np.arange(sampled.lattice.cells)
    groups = _nearest(cells % sampled.lattice.columns, cells // sampled.lattice.columns, columns, rows, leaf_of, leaves)
    # The share with most posts is written last.
    groups[shares[by_posts] // leaves] = shares[by_posts] % leaves
    return _whole_cells(sampled, matchers, _owners_of_groups(sampled, groups, leaves, matchers))


def _owners_of_groups(sampled: Sampled, group_of: Int32, groups: int, matchers: int) -> Int32:
    """Cut groups of cells, in their order, into runs of even load; return the matcher of each cell."""
    posts_of = _grouped(group_of[sampled.cells], np.arange(len(sampled.cells)), groups)
    under = sampled.lattice.cells_under_spans(sampled.spans)
    rows = np.repeat(np.arange(under.rows), np.diff(under.offsets))
    stored_of = _grouped(group_of[under.values], rows, groups)
    checks_of = np.bincount(group_of[sampled.cells], sampled.checked, groups).astype(np.float64)
    owners: Int32 = even_runs(posts_of, stored_of, checks_of, matchers, sampled.price)[group_of]
    return owners


def _grouped(group_of: Int32, things: Int64, groups: int) -> Csr:
    """Return the distinct things of each group."""
    distinct = np.unique(group_of.astype(np.int64) << 32 | things)
    return Csr(offsets_of(np.bincount(distinct >> 32, minlength=groups)), (distinct & 0xFFFFFFFF).astype(np.int32))


def _whole_cells(sampled: Sampled, matchers: int, owners: Int32) -> GridT:
    lattice = sampled.lattice
    maps = np.empty((0, sampled.n_terms), np.int16)
    return GridT(lattice.bounds, lattice.columns, lattice.rows, matchers, sampled.n_terms, owners, maps, sampled.hears)


def _along_hilbert(columns: Int64, rows: Int64, side: int) -> Int64:
    """Return how far along the Hilbert curve of a square that holds `side` cells a side each cell is."""
    x, y = columns.copy(), rows.copy()
    distance = np.zeros(len(x), np.int64)
    step = 1 << max(0, (side - 1).bit_length() - 1)
    while step:
        right, up = (x & step) > 0, (y & step) > 0
        distance += step * step * ((3 * right) ^ up)
        # Turn the quarter so that the curve within it begins where the one before ends.
        mirrored = ~up & right
        x, y = np.where(mirrored, step - 1 - (x & (step - 1)), x), np.where(mirrored, step - 1 - (y & (step - 1)), y)
        x, y = np.where(up, x, y), np.where(up, y, x)
        step >>= 1
    return distance


def _packed(columns: Int32, rows: Int32, leaves: int) -> tuple[Int64, int]:
    """Return the leaf of each post and how many there are: strips of equal posts, cut into leaves of equal posts."""
    strips = max(1, round(leaves**0.5))
    per_strip = -(-leaves // strips)
    n = len(columns)
    strip_of = np.empty(n, np.int64)
    strip_of[np.argsort(columns, kind="stable")] = np.arange(n) * strips // max(n, 1)
    order = np.lexsort((rows, strip_of))
    sizes = np.bincount(strip_of, minlength=strips)
    place = np.arange(n) - np.repeat(offsets_of(sizes)[:-1], sizes)
    leaf_of = np.empty(n, np.int64)
    leaf_of[order] = strip_of[order] * per_strip + place * per_strip // np.repeat(np.maximum(sizes, 1), sizes)
    return leaf_of, strips * per_strip


def _nearest(x: Int64, y: Int64, columns: Int32, rows: Int32, leaf_of: Int64, leaves: int) -> Int32:
    """Return for each cell the leaf whose rectangle is nearest; the first of equals, and of leaves without posts."""
    extent = np.full((leaves, 4), np.inf)
    for side, (values, reduced) in enumerate(
        ((columns, np.minimum), (rows, np.minimum), (-columns, np.minimum), (-rows, np.minimum))
    ):
        reduced.at(extent[:, side], leaf_of, values)
    nearest = np.zeros(len(x), np.int32)
    least = np.full(len(x), np.inf)
    for leaf in np.flatnonzero(np.isfinite(extent[:, 0])).tolist():
        west, south, east, north = extent[leaf] * (1, 1, -1, -1)
        distance = np.hypot(
            np.maximum(0, np.maximum(west - x, x - east)), np.maximum(0, np.maximum(south - y, y - north))
        )
        nearest[distance < least] = leaf
        least = np.minimum(least, distance)
    return nearest
