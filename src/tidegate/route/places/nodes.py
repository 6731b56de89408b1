"""Nodes of a plan in the making: a region, or some of the terms in it, and dividing them by space or by text."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidegate.csr import Csr, Int32, Int64, offsets_of, taken
from tidegate.index.sets import ranked_items
from tidegate.route.places.cuts import even_runs
from tidegate.route.places.kd_t_tree import COLUMNS, ROWS, Region
from tidegate.route.places.sampled import Sampled
from tidegate.route.sample import inverted

_ENOUGH = 100  # uses of a term in a sample, to tell how often it is used
_BUNDLES = 256


@dataclass(frozen=True, eq=False)
class Node:
    """What one matcher could have: all of a region, or what is filed there under some terms."""

    region: Region
    posts: Int64
    """Rows of the sample: the posts that would visit."""
    stored: Int64
    """Rows of the sample: the conjunctions that would be stored."""
    load: float
    by_text: bool = False
    """Whether text is all that may divide it further."""
    terms: NDArray[np.bool_] | None = field(default=None, repr=False)
    """Which terms it has; None is all of them."""
    checks: float = 0.0
    """How many pairs of its posts and conjunctions are checked. No two nodes have one in common."""


class Halving(NamedTuple):
    """A region divided in two by a line."""

    region: Region
    axis: int
    line: int


class Division(NamedTuple):
    """A node divided: into which, and by which halvings of its region."""

    nodes: Sequence[Node]
    halvings: Sequence[Halving] = ()

    @property
    def load(self) -> float:
        """The loads of the nodes, added up."""
        return sum(node.load for node in self.nodes)


def root(sampled: Sampled) -> Node:
    """Return the node of everything."""
    whole = Region(0, 0, sampled.lattice.columns, sampled.lattice.rows)
    posts, stored = np.arange(len(sampled.cells)), np.arange(len(sampled.filed))
    checks = float(sampled.checked.sum())
    return Node(whole, posts, stored, float(sampled.price.load(len(posts), len(stored), checks)), checks=checks)


def similarity(sampled: Sampled, node: Node) -> float:
    """Return the cosine of the frequencies of terms in posts and in conjunctions; 0 where there is none of either."""
    of_posts, of_stored = (
        np.bincount(taken(rows, chosen).values, minlength=sampled.n_terms).astype(np.float64)
        for rows, chosen in ((sampled.terms, node.posts), (sampled.sets, node.stored))
    )
    lengths = np.linalg.norm(of_posts) * np.linalg.norm(of_stored)
    return float(of_posts @ of_stored / lengths) if lengths else 0.0


def halved(sampled: Sampled, node: Node, axis: int, share: float = 0.5) -> Division | None:
    """Divide a region by the line that gives its lower half nearest to `share` of the load; None if it has no line."""
    start, stop = (node.region.west, node.region.east) if axis == COLUMNS else (node.region.south, node.region.north)
    if stop - start < 2:
        return None
    cells = sampled.cells[node.posts]
    place = cells % sampled.lattice.columns if axis == COLUMNS else cells // sampled.lattice.columns
    first, last = sampled.spans[node.stored, axis], sampled.spans[node.stored, axis + 2]
    steps = stop - start
    # For each line within the region, what begins before it and what ends before it.
    posts, begun, ended = (
        np.cumsum(np.bincount(np.clip(at, start, stop - 1) - start, minlength=steps))[:-1]
        for at in (place, first, last)
    )
    checked = np.cumsum(np.bincount(place - start, sampled.checked[node.posts], steps))
    checks = checked[:-1], checked[-1] - checked[:-1]
    lower = sampled.price.load(posts, begun, checks[0])
    upper = sampled.price.load(len(node.posts) - posts, len(node.stored) - ended, checks[1])
    best = int(np.argmin(np.abs(lower * (1.0 - share) - upper * share)))
    line = start + best + 1
    regions = node.region.halves(axis, line)
    inside = (place < line, first < line), (place >= line, last >= line)
    halves = [
        Node(region, node.posts[has], node.stored[keeps], float(load[best]), node.by_text, checks=float(checked[best]))
        for region, (has, keeps), load, checked in zip(regions, inside, (lower, upper), checks, strict=True)
    ]
    return Division(halves, [Halving(node.region, axis, line)])


def shared_out(sampled: Sampled, node: Node, parts: int) -> Division:
    """Divide a node by its terms; into fewer parts if it has not as many terms.

    Terms are cut by their rank into runs of even load. So common terms, which bring many posts to few conjunctions and
    are often in a post together, are together. Where a sample has too little of a term to judge it, that is done in
    bundles of terms, also of those that it has not: else what is even in the sample is uneven in all that follows.
    """
    live, checks = taken(sampled.live, node.posts), taken(sampled.checks, node.posts).values
    if node.terms is not None:
        kept = node.terms[live.values]
        live, checks = (
            Csr(offsets_of(np.bincount(_rows(live)[kept], minlength=live.rows)), live.values[kept]),
            checks[kept],
        )
    filed = sampled.filed[node.stored]
    thing_of, things = _things(sampled.n_terms, live.values, filed)
    if node.terms is not None:
        thing_of[~node.terms] = -1

    things_of_posts = ranked_items(Csr(live.offsets, thing_of[live.values]), things)
    things_of_stored = Csr(np.arange(len(filed) + 1), thing_of[filed])
    posts_of, stored_of = (
        Csr(*inverted(rows, offsets_of(np.bincount(rows.values, minlength=things))))
        for rows in (things_of_posts, things_of_stored)
    )
    checks_of = np.bincount(thing_of[live.values], checks, things).astype(np.float64)
    part_of = even_runs(posts_of, stored_of, checks_of, min(parts, things), sampled.price)

    nodes = []
    for part in range(min(parts, things)):
        first, end = np.searchsorted(part_of, (part, part + 1)).tolist()
        posts = np.unique(posts_of.values[posts_of.offsets[first] : posts_of.offsets[end]])
        stored = stored_of.values[stored_of.offsets[first] : stored_of.offsets[end]]
        terms = (first <= thing_of) & (thing_of < end)
        checked = float(checks_of[first:end].sum())
        load = float(sampled.price.load(len(posts), len(stored), checked))
        nodes.append(Node(node.region, node.posts[posts], node.stored[np.sort(stored)], load, True, terms, checked))
    return Division(nodes or [node])


def _things(n_terms: int, live: Int32, filed: Int32) -> tuple[Int32, int]:
    """Return by term the number of the thing it is divided as, -1 for none, and how many there are.

    First come terms of their own, then bundles of those that posts and conjunctions have too little of.
    """
    uses = np.bincount(live, minlength=n_terms) + np.bincount(filed, minlength=n_terms)
    group_of = np.where(uses >= _ENOUGH, np.arange(n_terms), n_terms + np.arange(n_terms) % _BUNDLES)
    uses_of = np.bincount(group_of, uses, n_terms + _BUNDLES)
    number_of = np.full(len(uses_of), -1, np.int32)
    present = np.flatnonzero(uses_of)
    number_of[present] = np.arange(len(present), dtype=np.int32)
    return number_of[group_of], len(present)


def joined(sampled: Sampled, parts: Sequence[Node]) -> Node:
    """Return some parts of a node that was shared out as one."""
    posts, stored = (np.unique(np.concatenate([getattr(part, name) for part in parts])) for name in ("posts", "stored"))
    terms = np.logical_or.reduce([part.terms for part in parts if part.terms is not None])
    checks = sum(part.checks for part in parts)
    load = float(sampled.price.load(len(posts), len(stored), checks))
    return Node(parts[0].region, posts, stored, load, by_text=True, terms=terms, checks=checks)


def divided(sampled: Sampled, node: Node, parts: int) -> Division:
    """Divide a node by text or by space, whichever makes the lower load (PartitionNode).

    Halves of a region are divided further each in its own way. Fewer parts come back where there is nothing to divide.
    """
    if parts == 1 or not len(node.posts) + len(node.stored):
        return Division([node])
    by_text = shared_out(sampled, node, parts)
    if node.by_text:
        return by_text
    by_space = divided_by_space(sampled, node, parts)
    # One that falls short has a lower load only for having fewer parts.
    return min(by_text, by_space, key=lambda division: (-len(division.nodes), division.load))


def divided_by_space(sampled: Sampled, node: Node, parts: int, *, only: bool = False) -> Division:
    """Halve a region, and its halves, along the axis that makes the lower load; `only` so and never by text."""
    lower_parts = parts // 2
    axes = [halved(sampled, node, axis, lower_parts / parts) for axis in (COLUMNS, ROWS)] if parts > 1 else []
    halvings = [halving for halving in axes if halving is not None]
    if not halvings:
        return Division([node])
    best = min(halvings, key=lambda division: division.load)
    halves = [
        divided_by_space(sampled, half, share, only=True) if only else divided(sampled, half, share)
        for half, share in zip(best.nodes, (lower_parts, parts - lower_parts), strict=True)
    ]
    return Division(
        [node for half in halves for node in half.nodes],
        [*best.halvings, *(halving for half in halves for halving in half.halvings)],
    )


def _rows(rows: Csr) -> Int64:
    return np.repeat(np.arange(rows.rows), np.diff(rows.offsets))
