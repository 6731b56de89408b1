"""A sample of posts and conjunctions, made ready for planning on a lattice."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np

from tidegate.csr import Csr, Int32, Int64, taken
from tidegate.errors import ConfigError
from tidegate.index.placed import Placed, PlacedPosts, checked
from tidegate.index.sets import ranked_items
from tidegate.kernels import njit
from tidegate.route.places.heard import Heard, filed_on, heard_on, rarest, slot_of
from tidegate.route.places.lattice import SIDE, Bounds, Lattice, checked_lattice
from tidegate.route.places.load import Costs, Floats, Price


class Workload(NamedTuple):
    """What a partitioning is planned for: samples of the posts and of the conjunctions that are stored."""

    posts: PlacedPosts
    placed: Placed
    bounds: Bounds
    """West, south, east, north."""
    stands_for: float = 1.0
    """How many stored conjunctions each of `placed` stands for."""


@dataclass(frozen=True)
class Settings:
    """What partitionings go by. All but the cells and costs concern the hybrid alone."""

    columns: int = SIDE
    rows: int = SIDE
    sigma: float = 1.2
    """The highest load over the lowest must not exceed it."""
    delta: float = 0.5
    """From this similarity of posts and conjunctions on, text is no reason to divide a region further."""
    theta: int = 128
    """No region is divided further once there are so many nodes."""
    epsilon: float = 0.01
    """A split that changes similarity by no more than this shows a region to be uniform."""
    population: int = 500
    """No region of fewer posts and conjunctions is divided for its similarity."""
    costs: Costs = field(default_factory=Costs)

    def __post_init__(self) -> None:
        """Refuse what no plan can meet."""
        if not self.sigma > 1:
            raise ConfigError(f"sigma is {self.sigma}: the allowed ratio of loads is a number above 1")
        if self.theta < 1 or self.population < 1:
            raise ConfigError(f"theta is {self.theta} and population {self.population}: both are at least 1")


@dataclass(frozen=True)
class Sampled:
    """Posts that go somewhere, and conjunctions, with their cells.

    A term is *live* in a post if it is heard in the post's cell, or would be once all is stored that the sample stands
    for (drawn, by hash, with the probability of it). Posts go where their live terms lead; those without one go
    nowhere and are left out, unless the plan is one that does not hear.
    """

    lattice: Lattice
    terms: Csr
    """By post: its distinct terms, rising."""
    live: Csr
    """By post: those of its terms that are live, rising."""
    checks: Csr
    """By post, for each of these: how many conjunctions are filed in the post's cell under it."""
    cells: Int32
    """By post."""
    sets: Csr
    """By conjunction: its terms."""
    filed: Int32
    """By conjunction: its least frequent term."""
    spans: Int32
    """By conjunction: first column and row, last column and row."""
    n_terms: int
    price: Price
    hears: bool
    """Whether routers will drop posts without a live term."""

    @cached_property
    def checked(self) -> Floats:
        """By post: how many conjunctions it is checked against, all its terms together."""
        posts = np.repeat(np.arange(self.checks.rows), np.diff(self.checks.offsets))
        return np.bincount(posts, self.checks.values, self.checks.rows).astype(np.float64)

    @classmethod
    def of(cls, workload: Workload, settings: Settings, *, hears: bool = True) -> Self:
        """Look up the cells and what is heard there."""
        lattice = checked_lattice(Lattice(workload.bounds, settings.columns, settings.rows))
        posts, placed = workload.posts, workload.placed
        checked(placed)
        n_terms = 1 + max(0, int(posts.terms.values.max(initial=0)), int(placed.sets.values.max(initial=0)))
        cells = lattice.cells_of(posts.lat, posts.lon)
        located = np.flatnonzero(cells >= 0)
        terms = ranked_items(taken(posts.terms, located), n_terms)
        filed, spans = rarest(placed.sets), lattice.spans(placed.boxes)
        # As many more are filed under a term in a cell as the shares of the term and of the cell in the sample say.
        asked = np.bincount(filed, minlength=n_terms) * ((workload.stands_for - 1.0) / max(placed.rows, 1))
        under = np.bincount(lattice.cells_under_spans(spans).values, minlength=lattice.cells)
        heard = heard_on(lattice, placed)
        offsets, values, checks = _live(terms, cells[located], heard, filed_on(lattice, placed, heard), asked, under)
        live = Csr(offsets, values)
        going = np.flatnonzero(np.diff(live.offsets)) if hears else np.arange(live.rows)
        return cls(
            lattice,
            taken(terms, going),
            taken(live, going),
            taken(Csr(offsets, checks), going),
            cells[located[going]],
            placed.sets,
            filed,
            spans,
            n_terms,
            Price.of(settings.costs, len(located), placed.rows, workload.stands_for),
            hears,
        )


@njit(cache=True, nogil=True)
def _live(terms: Csr, cells: Int32, heard: Heard, filed: Int64, asked: Floats, under: Int64) -> Any:
    offsets = np.zeros(len(terms.offsets), np.int64)
    values = np.empty(len(terms.values), np.int32)
    checks = np.zeros(len(terms.values), np.int32)
    end = 0
    for post in range(len(cells)):
        for k in range(terms.offsets[post], terms.offsets[post + 1]):
            term = terms.values[k]
            expected = asked[term] * under[cells[post]]
            slot = slot_of(heard, cells[post], term)
            if slot >= 0 or _draw(cells[post], term) < 1.0 - np.exp(-expected):
                values[end] = term
                checks[end] = filed[slot] if slot >= 0 else 0
                end += 1
        offsets[post + 1] = end
    return offsets, values[:end], checks[:end]


@njit(cache=True, nogil=True)
def _draw(cell: int, term: int) -> float:
    """Return a number from 0 to 1 that depends on nothing but the cell and the term."""
    mixed = (np.uint64(cell) << np.uint64(31) | np.uint64(term)) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
    return float(mixed >> np.uint64(11)) * 2.0**-53
