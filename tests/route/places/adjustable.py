"""Small worlds to adjust: grids partly divided by text, what stands and what is posted, counts made by hand."""

import numpy as np
from hypothesis import strategies as st

from tidegate.csr import Csr, from_rows
from tidegate.index.placed import Placed, PlacedPosts
from tidegate.route.places.counts import Counts
from tidegate.route.places.grid_t import GridT
from tidegate.workload.places import COUNTRIES, objects, searches

SIDE = 8.0
TERMS = 12
seeds = st.integers(0, 2**32 - 1)


def some_grid(generator: np.random.Generator, matchers: int = 3, columns: int = 4, n_terms: int = 9) -> GridT:
    """A grid with some cells split by text, whose maps do not know all terms."""
    cells = columns * 3
    return GridT(
        bounds=(0.0, 0.0, SIDE, SIDE),
        columns=columns,
        rows=3,
        matchers=matchers,
        n_terms=n_terms,
        where=generator.integers(-2, matchers, cells).astype(np.int32),
        maps=generator.integers(0, matchers, (2, n_terms)).astype(np.int16),
    )


def some_placed(generator: np.random.Generator, n: int) -> Placed:
    rows = [generator.choice(TERMS, generator.integers(1, 4), replace=False).tolist() for _ in range(n)]
    corner = generator.uniform(-1, SIDE, (n, 2))
    return Placed(from_rows(rows), np.hstack((corner, corner + generator.uniform(0, SIDE / 2, (n, 2)))))


def some_posts(generator: np.random.Generator, n: int) -> PlacedPosts:
    # With repeated terms, and beyond the bounds; some without a place.
    rows = [generator.integers(0, TERMS, generator.integers(0, 9)).tolist() for _ in range(n)]
    lat, lon = generator.uniform(-1, SIDE + 1, (2, n))
    lat[generator.random(n) < 0.1] = np.nan
    return PlacedPosts(from_rows(rows), lat, lon)


def matched(placed: Placed, entry: int, posts: PlacedPosts, post: int) -> bool:
    west, south, east, north = placed.boxes[entry]
    inside = west <= posts.lon[post] <= east and south <= posts.lat[post] <= north
    return bool(inside) and set(placed.sets.row(entry).tolist()) <= set(posts.terms.row(post).tolist())


def rows_of(csr: Csr) -> list[set[int]]:
    return [set(csr.row(i).tolist()) for i in range(csr.rows)]


def subset(placed: Placed, entries: list[int]) -> Placed:
    return Placed(from_rows([placed.sets.row(e).tolist() for e in entries]), placed.boxes[entries].reshape(-1, 4))


def counts_of(rows: list[tuple[int, int, int, int]], visitors: list[int]) -> Counts:
    """From rows of cell, term, conjunctions, posts; a conjunction takes ten bytes."""
    cells, terms, conjunctions, posts = (np.array(column) for column in zip(*rows, strict=True))
    return Counts(
        cells.astype(np.int32), terms.astype(np.int32), conjunctions, 10 * conjunctions, posts, np.array(visitors)
    )


def row_of_cells(where: list[int], maps: list[list[int]], matchers: int = 2, n_terms: int = 4) -> GridT:
    return GridT(
        (0.0, 0.0, 1.0, 1.0),
        len(where),
        1,
        matchers,
        n_terms,
        np.array(where, np.int32),
        np.array(maps, np.int16).reshape(-1, n_terms),
    )


def generated(kind: str) -> tuple[GridT, PlacedPosts, Placed]:
    """Stripes from west to east, all equally wide, of which the coasts have more than their share."""
    posts, placed = PlacedPosts(*objects(8_000, seed=3)), searches(8_000, kind, seed=4).placed
    country = COUNTRIES["us"]
    bounds = (country.west, country.south, country.east, country.north)
    where = (np.arange(64 * 64) % 64 // 16).astype(np.int32)
    return GridT(bounds, 64, 64, 4, 0, where, np.empty((0, 0), np.int16)), posts, placed
