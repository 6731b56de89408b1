"""Small worlds in which matches are frequent, matches by brute force, and the workload that benchmarks use."""

from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

from tidegate.csr import Csr, from_rows
from tidegate.index.placed import Placed, PlacedPosts
from tidegate.route.places.grid_t import GridT
from tidegate.route.places.sampled import Workload
from tidegate.workload.places import COUNTRIES, kinds_of_regions, objects, searches

BOUNDS = (0.0, 0.0, 4.0, 2.0)

terms = st.lists(st.integers(0, 9), min_size=1, max_size=4)
# Cell borders, points between, and points outside of the bounds.
degrees = st.sampled_from([-1.0, 0.0, 0.5, 0.7, 1.0, 1.3, 2.0, 2.5, 4.0, 5.0])
boxes = st.builds(
    lambda x, y: (min(x), min(y), max(x), max(y)), st.tuples(degrees, degrees), st.tuples(degrees, degrees)
)
points = st.one_of(st.tuples(degrees, degrees), st.just((np.nan, np.nan)))


def placed_of(rows: Sequence[tuple[list[int], tuple[float, ...]]]) -> Placed:
    return Placed(from_rows([row for row, _ in rows]), np.array([box for _, box in rows], float).reshape(-1, 4))


def posts_of(rows: Sequence[tuple[list[int], tuple[float, float]]]) -> PlacedPosts:
    lat, lon = np.array([point for _, point in rows], float).reshape(-1, 2).T
    return PlacedPosts(from_rows([row for row, _ in rows]), lat.copy(), lon.copy())


placed = st.lists(st.tuples(terms, boxes), max_size=25).map(placed_of)
posts = st.lists(st.tuples(terms, points), max_size=25).map(posts_of)
workloads = st.builds(Workload, posts, placed, st.just(BOUNDS), st.sampled_from([1.0, 1e6]))


def generated(kind: str, n_posts: int, n_queries: int, stands_for: float = 1.0, seed: int = 1) -> Workload:
    """Posts and queries; the kinds of the regions of "q3" are the same for all seeds."""
    _, west, south, east, north = COUNTRIES["us"]
    placed = searches(n_queries, kind, seed + 1, kinds=kinds_of_regions(2)).placed
    return Workload(PlacedPosts(*objects(n_posts, seed)), placed, (west, south, east, north), stands_for)


def matches(posts: PlacedPosts, placed: Placed) -> list[tuple[int, int]]:
    """Every post with every conjunction."""
    sets = [set(placed.sets.row(j).tolist()) for j in range(placed.rows)]
    found = []
    for i in range(posts.terms.rows):
        has = set(posts.terms.row(i).tolist())
        west, south, east, north = placed.boxes.T
        inside = (west <= posts.lon[i]) & (posts.lon[i] <= east) & (south <= posts.lat[i]) & (posts.lat[i] <= north)
        found += [(i, j) for j in np.flatnonzero(inside).tolist() if sets[j] <= has]
    return found


def sets_of(rows: Csr) -> list[set[int]]:
    return [set(rows.row(i).tolist()) for i in range(rows.rows)]


def assert_matches_meet(grid: GridT, posts: PlacedPosts, placed: Placed) -> int:
    """Assert that whatever matches meets at a matcher; return how many matches there are."""
    homes, visits = sets_of(grid.homes(placed)), sets_of(grid.visits(posts, grid.heard(placed)))
    found = matches(posts, placed)
    assert all(visits[i] & homes[j] for i, j in found)
    return len(found)
