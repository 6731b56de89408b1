"""Local adjustment as in the paper: better balance by each round. Matches meanwhile: see `test_adjustment_live`."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.route.places.adjustable import (
    SIDE,
    counts_of,
    generated,
    matched,
    row_of_cells,
    rows_of,
    seeds,
    some_grid,
    some_placed,
    some_posts,
    subset,
)
from tidegate.csr import from_rows
from tidegate.errors import ConfigError
from tidegate.index.placed import Placed
from tidegate.route.places.adjustment import adjusted_locally
from tidegate.route.places.counts import Weights, counted
from tidegate.route.places.draft import is_balanced, matcher_loads
from tidegate.route.places.migration import at_random, by_dynamic_programming, by_size, greedy


def test_nothing_counted_is_nothing_to_adjust() -> None:
    generator = np.random.default_rng(1)
    grid = some_grid(generator)
    counts = counted(grid, some_posts(generator, 5), subset(some_placed(generator, 1), []))
    assert matcher_loads(grid, counts).tolist() == [0, 0, 0]
    adjusted = adjusted_locally(grid, counts, sigma=1.5)
    assert adjusted.cost == 0
    assert len(adjusted.moved.cells) == 0


def test_a_cell_is_split_between_terms_of_posts_and_terms_of_conjunctions_if_the_total_falls() -> None:
    grid = row_of_cells([0, 1], [])
    # Terms 0 and 1 are common and hardly asked for; 2 and 3 rare and often asked for.
    rows = [(0, 0, 2, 90), (0, 1, 2, 80), (0, 2, 40, 2), (0, 3, 45, 1), (1, 0, 1, 1)]
    counts = counts_of(rows, [100, 1])
    adjusted = adjusted_locally(grid, counts, sigma=2.0, p=1)
    assert adjusted.grid.where.tolist() == [-1, 1]
    assert set(adjusted.moved.terms.tolist()) == {0, 1}, "those of fewer bytes move"
    assert adjusted.moved.targets.tolist() == [1, 1]
    assert adjusted.cost == 40
    assert matcher_loads(adjusted.grid, counts).sum() < matcher_loads(grid, counts).sum()
    dear = Weights(pair=1.0, visit=10_000.0)
    assert adjusted_locally(grid, counts, sigma=2.0, p=1, weights=dear).grid.where[0] >= 0, "visits are what costs"


def test_parts_of_a_cell_are_merged_if_the_total_falls() -> None:
    grid = row_of_cells([-1, 0], [[0, 0, 1, 1]])
    # All posts have terms of both parts: they need not visit both matchers.
    counts = counts_of([(0, 0, 1, 50), (0, 2, 1, 50), (1, 0, 1, 60)], [50, 60])
    visit = Weights(pair=0.0, visit=1.0)
    adjusted = adjusted_locally(grid, counts, sigma=1.2, p=2, weights=visit)
    assert adjusted.grid.maps.tolist() == [[1, 1, 1, 1]]
    assert adjusted.moved.cells.tolist() == [0]
    assert adjusted.moved.terms.tolist() == [0]
    assert matcher_loads(adjusted.grid, counts, visit).tolist() == [60, 50]
    kept = adjusted_locally(grid, counts, sigma=1.2, p=0, weights=visit)
    assert kept.grid.where[0] < 0, "only the p most loaded cells are looked at"


def test_parts_stay_apart_if_merged_they_would_weigh_more_than_the_most_loaded() -> None:
    grid = row_of_cells([-1, 0], [[0, 0, 1, 1]])
    counts = counts_of([(0, 0, 1, 90), (0, 2, 1, 60), (1, 0, 1, 5)], [100, 5])
    adjusted = adjusted_locally(grid, counts, sigma=1.2, p=2, weights=Weights(pair=0.0, visit=1.0))
    assert adjusted.grid.maps.tolist() == grid.maps.tolist()
    assert adjusted.grid.where.tolist() == [-1, 1], "something lighter moves instead"


def test_a_cell_that_would_only_turn_the_tables_stays_and_lighter_ones_move() -> None:
    grid = row_of_cells([0, 0, 0, 1], [])
    # The heavy one has by far the fewest bytes for its load.
    counts = counts_of([(0, 0, 1, 90), (1, 0, 5, 1), (2, 0, 5, 1), (3, 0, 15, 1)], [90, 1, 1, 1])
    assert matcher_loads(grid, counts).tolist() == [100, 15]
    adjusted = adjusted_locally(grid, counts, sigma=1.2, p=0)
    assert matcher_loads(adjusted.grid, counts).tolist() == [90, 25]


def test_a_part_that_would_meet_too_much_of_its_cell_at_the_target_stays() -> None:
    grid = row_of_cells([-1, 0], [[0, 0, 1, 1]])
    counts = counts_of([(0, 0, 10, 10), (0, 2, 1, 40), (1, 0, 10, 40)], [50, 40])
    assert matcher_loads(grid, counts).tolist() == [500, 40]
    # Together they are 50 posts by 11 conjunctions, more than all that the source has.
    adjusted = adjusted_locally(grid, counts, sigma=1.2, p=0, rounds=5)
    assert adjusted.cost == 0


def test_cells_that_share_a_map_share_it_after_they_have_moved() -> None:
    grid = row_of_cells([-1, -1, -1, 1], [[0, 0, 0, 0]])
    counts = counts_of([(cell, 0, 10, 10) for cell in range(4)], [10] * 4)
    adjusted = adjusted_locally(grid, counts, sigma=1.0, p=0)
    assert sorted(adjusted.grid.maps[:, 0].tolist()) == [0, 1]
    assert is_balanced(matcher_loads(adjusted.grid, counts), 1.0)


def test_terms_that_no_map_knew_are_adjusted_like_others() -> None:
    grid = row_of_cells([-1, 1], [[0, 0, 0, 0]])
    # Term 6 belongs to matcher 0 because it is even.
    counts = counts_of([(0, 0, 1, 5), (0, 6, 10, 20)], [25, 0])
    adjusted = adjusted_locally(grid, counts, sigma=2.0, p=0)
    assert adjusted.grid.n_terms == 7
    assert adjusted.grid.maps[0, 5] == 1, "unasked ones stay where they were"
    assert matcher_loads(grid, counts)[0] == matcher_loads(adjusted.grid, counts).max(), (
        "one cell: no gain in moving it"
    )


@given(seeds, st.sampled_from([0.0, 3.0, 30.0]), st.sampled_from([greedy, by_size, by_dynamic_programming]))
def test_a_round_lowers_the_load_of_the_most_loaded_or_changes_nothing(seed: int, visit: float, select) -> None:  # type: ignore[no-untyped-def]
    generator = np.random.default_rng(seed)
    grid, placed, posts = some_grid(generator, matchers=4), some_placed(generator, 40), some_posts(generator, 80)
    counts, weights = counted(grid, posts, placed), Weights(visit=visit)
    before = matcher_loads(grid, counts, weights)
    adjusted = adjusted_locally(grid, counts, 1.2, p=4, select=select, weights=weights)
    after = matcher_loads(adjusted.grid, counts, weights)
    assert after.max() <= before.max()
    if len(adjusted.moved.cells):
        assert after[before.argmax()] < before.max()
    else:
        assert after.tolist() == before.tolist()


@given(seeds)
def test_what_is_said_to_move_is_what_changes_its_matcher(seed: int) -> None:
    generator = np.random.default_rng(seed)
    grid, placed, posts = some_grid(generator), some_placed(generator, 30), some_posts(generator, 60)
    counts = counted(grid, posts, placed)
    adjusted = adjusted_locally(grid, counts, 1.1, p=3, rounds=3)
    moved = set(zip(*(column.tolist() for column in adjusted.moved), strict=True))
    # A box well inside a cell, asking for one term, has the home of that cell and term.
    cell_width, cell_height = SIDE / grid.columns, SIDE / grid.rows
    for cell, term in zip(counts.cells.tolist(), counts.terms.tolist(), strict=True):
        lon, lat = (cell % grid.columns + 0.5) * cell_width, (cell // grid.columns + 0.5) * cell_height
        probe = Placed(from_rows([[term]]), np.array([[lon, lat, lon, lat]]))
        (source,), (target,) = grid.homes(probe).values, adjusted.grid.homes(probe).values
        assert ((cell, term, source, target) in moved) == (source != target)
    sizes = dict(
        zip(zip(counts.cells.tolist(), counts.terms.tolist(), strict=True), counts.nbytes.tolist(), strict=True)
    )
    assert adjusted.cost == sum(sizes[cell, term] for cell, term, _, _ in moved)


@pytest.mark.parametrize("kind", ["q1", "q2", "q3"])
def test_generated_places_shared_out_badly_come_into_balance_and_no_match_is_lost(kind: str) -> None:
    grid, posts, placed = generated(kind)
    counts = counted(grid, posts, placed)
    before = matcher_loads(grid, counts)
    adjusted = adjusted_locally(grid, counts, 1.5, p=8, rounds=30).grid
    after = matcher_loads(adjusted, counts)
    assert not is_balanced(before, 3.0)
    assert is_balanced(after, 1.5)
    assert after.sum() < 0.95 * before.sum(), "splitting by text lowers the total"
    visits, homes = adjusted.visits(posts, adjusted.heard(placed)), rows_of(adjusted.homes(placed))
    estimated, counted_visits = matcher_loads(adjusted, counts, Weights(0, 0, 1)), np.bincount(visits.values)
    assert estimated == pytest.approx(counted_visits, rel=0.05)
    visited = rows_of(visits)
    for entry in range(0, placed.rows, 40):
        west, south, east, north = placed.boxes[entry]
        inside = (west <= posts.lon) & (posts.lon <= east) & (south <= posts.lat) & (posts.lat <= north)
        for post in np.flatnonzero(inside).tolist():
            assert not matched(placed, entry, posts, post) or homes[entry] & visited[post]


def test_where_balance_is_slightly_broken_greedy_moves_far_fewer_bytes_than_its_rivals() -> None:
    costs = []
    for kind in ("q1", "q2", "q3"):
        grid, posts, placed = generated(kind)
        counts = counted(grid, posts, placed)
        for sigma in (3.0, 2.0, 1.5):
            grid = adjusted_locally(grid, counts, sigma, p=0, rounds=30).grid
            loads = matcher_loads(grid, counts)
            # A live system adjusts as soon as the constraint is broken.
            just_broken = 1 + 0.9 * (loads.max() / loads.min() - 1)
            ways = (by_dynamic_programming, greedy, by_size, at_random)
            costs.append([adjusted_locally(grid, counts, just_broken, p=0, select=way).cost for way in ways])
    exact, quick, largest, random = np.sum(costs, axis=0)
    assert quick <= 1.05 * exact
    assert quick <= 0.7 * min(largest, random)


def test_settings_that_make_no_sense_are_refused() -> None:
    grid = row_of_cells([0], [])
    counts = counts_of([(0, 0, 1, 1)], [1])
    with pytest.raises(ConfigError, match="0 rounds"):
        adjusted_locally(grid, counts, 1.5, rounds=0)
    with pytest.raises(ConfigError, match=r"0\.5"):
        adjusted_locally(grid, counts, 0.5)
