"""Balance by what matchers really store: cells go where most of what they hold is, and hot ones are divided."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.route.places.adjustable import (
    counts_of,
    generated,
    row_of_cells,
    rows_of,
    seeds,
    some_grid,
    some_placed,
    some_posts,
)
from tidegate.csr import from_rows
from tidegate.errors import ConfigError
from tidegate.index.placed import Placed, PlacedPosts
from tidegate.route.places.adjustment import adjusted_locally
from tidegate.route.places.counts import Counts, Weights, counted
from tidegate.route.places.draft import is_balanced, matcher_loads
from tidegate.route.places.grid_t import GridT
from tidegate.route.places.rebalancing import Stored, rebalanced, stored_loads

STORED, VISIT = Weights(0, 0, 0, 1), Weights(0, 0, 1)
NOTHING_STORED = Stored(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))


def seen(grid: GridT, posts: PlacedPosts, placed: Placed) -> tuple[Counts, Stored]:
    counts = counted(grid, posts, placed)
    return counts, Stored.of(grid, counts, placed)


@given(seeds)
def test_all_cells_of_a_conjunction_weigh_at_every_matcher_that_has_it(seed: int) -> None:
    generator = np.random.default_rng(seed)
    grid, placed, posts = some_grid(generator), some_placed(generator, 30), some_posts(generator, 40)
    counts, stored = seen(grid, posts, placed)
    expected = [0, 0, 0]
    for homes, cells in zip(rows_of(grid.homes(placed)), rows_of(grid.cells_under(placed.boxes)), strict=True):
        for matcher in homes:
            expected[matcher] += len(cells)
    assert stored_loads(grid, counts, stored, STORED).tolist() == expected
    weights = Weights(pair=0.0, check=2.0, visit=3.0)
    assert stored_loads(grid, counts, stored, weights).tolist() == matcher_loads(grid, counts, weights).tolist()


def test_a_sample_stands_for_all_that_is_stored() -> None:
    grid, posts, placed = generated("q3")
    counts = counted(grid, posts, placed)
    whole, part = (stored_loads(grid, counts, Stored.of(grid, counts, placed, n), STORED) for n in (10**6, 8_000))
    assert part == pytest.approx(whole, rel=0.05)


@given(seeds, st.sampled_from([0.0, 3.0, 30.0]), st.sampled_from([0.0, 1.0, 10.0]))
def test_the_highest_load_never_rises_and_falls_if_anything_changes(seed: int, visit: float, stored: float) -> None:
    generator = np.random.default_rng(seed)
    grid, placed, posts = some_grid(generator, matchers=4), some_placed(generator, 40), some_posts(generator, 80)
    weights = Weights(pair=0.0, check=1.0, visit=visit, stored=stored)
    given_seen = seen(grid, posts, placed)
    before = stored_loads(grid, *given_seen, weights)
    adjusted = rebalanced(grid, *given_seen, weights, travel=0.0)
    after = stored_loads(adjusted.grid, *given_seen, weights)
    assert after.max() <= before.max()
    if not len(adjusted.moved.cells):
        assert after.tolist() == before.tolist()


def in_cells(*spans: tuple[int, int], of: int) -> Placed:
    """Conjunctions of term 0, each from one cell of a row to another."""
    boxes = [[(first + 0.1) / of, 0.1, (last + 0.9) / of, 0.9] for first, last in spans]
    return Placed(from_rows([[0]] * len(spans)), np.array(boxes))


def posted(*cells: int, of: int) -> PlacedPosts:
    return PlacedPosts(from_rows([[0]] * len(cells)), np.full(len(cells), 0.5), (np.array(cells) + 0.5) / of)


def test_a_cell_goes_to_where_its_conjunctions_are_already() -> None:
    grid = row_of_cells([0, 0, 0, 1, 2], [], matchers=3)
    # Those of cell 2 lie in cell 3 as well. Matcher 2 has a little less to do than matcher 1.
    placed = in_cells((0, 0), (1, 1), *[(2, 3)] * 5, (4, 4), of=5)
    posts = posted(*[0] * 20, *[1] * 20, *[2] * 20, *[3] * 12, *[4] * 10, of=5)
    weights = Weights(pair=0.0, visit=1.0, stored=1.0)
    adjusted = rebalanced(grid, *seen(grid, posts, placed), weights, rounds=1)
    assert adjusted.grid.where.tolist() == [0, 0, 1, 1, 2]
    assert adjusted.moved.cells.tolist() == [2]
    assert adjusted.moved.targets.tolist() == [1]
    indifferent = rebalanced(grid, *seen(grid, posts, placed), Weights(pair=0.0, visit=1.0), rounds=1)
    assert indifferent.moved.targets.tolist() == [2], "but for what is stored, to the least loaded"


def test_what_travels_too_dearly_stays() -> None:
    grid = row_of_cells([0, 0, 1], [])
    placed, posts = in_cells((0, 0), (1, 1), (2, 2), of=3), posted(*[0] * 9, *[1] * 9, *[2] * 2, of=3)
    weights = Weights(pair=0.0, visit=1.0, stored=1.0)
    assert len(rebalanced(grid, *seen(grid, posts, placed), weights, travel=1.0).moved.cells) == 1
    assert len(rebalanced(grid, *seen(grid, posts, placed), weights, travel=20.0).moved.cells) == 0


def test_a_cell_too_hot_for_one_matcher_is_divided_by_text() -> None:
    grid = row_of_cells([0, 1], [])
    # Terms 2 and 3 are asked for often and posted rarely: their checks are many and their posts few.
    rows = [(0, 0, 2, 90), (0, 1, 2, 80), (0, 2, 40, 5), (0, 3, 45, 5), (1, 0, 1, 1)]
    counts, weights = counts_of(rows, [100, 1]), Weights(pair=0.0, check=1.0, visit=1.0)
    adjusted = rebalanced(grid, counts, NOTHING_STORED, weights, rounds=1)
    assert adjusted.grid.where.tolist() == [-1, 1]
    assert set(adjusted.moved.terms.tolist()) == {2, 3}
    assert adjusted.moved.targets.tolist() == [1, 1]
    assert adjusted.cost == 850
    after = matcher_loads(adjusted.grid, counts, weights)
    assert after.max() < 0.7 * matcher_loads(grid, counts, weights).max()
    whole = rebalanced(grid, counts, NOTHING_STORED, weights, p=0)
    assert whole.grid.where.tolist() == [0, 1], "only the p heaviest are looked at"


def test_a_part_is_divided_further() -> None:
    grid = row_of_cells([-1, 1, 2], [[0, 0, 0, 1]], matchers=3)
    counts = counts_of([(0, 0, 50, 10), (0, 1, 50, 10), (0, 3, 50, 10), (1, 0, 1, 9), (2, 0, 1, 1)], [30, 9, 1])
    adjusted = rebalanced(grid, counts, NOTHING_STORED, Weights(pair=0.0, check=1.0, visit=1.0), rounds=1)
    assert sorted(adjusted.grid.maps[0, [0, 1]].tolist()) == [0, 2]
    assert adjusted.grid.maps[0, 2:].tolist() == [0, 1], "what is not asked for stays, and so does the other part"


def test_parts_that_the_same_posts_visit_become_one_again() -> None:
    grid = row_of_cells([-1, 0, 2], [[0, 0, 1, 1]], matchers=3)
    # Matcher 2 has less to do, but at matcher 1 those posts are already.
    counts = counts_of([(0, 0, 1, 50), (0, 2, 1, 50), (1, 0, 1, 60), (2, 0, 1, 45)], [50, 60, 45])
    adjusted = rebalanced(grid, counts, NOTHING_STORED, VISIT, rounds=1)
    assert adjusted.moved.targets.tolist() == [1]
    assert matcher_loads(adjusted.grid, counts, VISIT).tolist() == [60, 50, 45]


@pytest.mark.parametrize("kind", ["q1", "q2", "q3"])
def test_on_generated_places_the_highest_load_is_lower_than_by_what_cells_weigh_alone(kind: str) -> None:
    grid, posts, placed = generated(kind)
    given_seen, weights = seen(grid, posts, placed), Weights(pair=0.0, check=0.01, visit=0.4, stored=0.02)
    ours = rebalanced(grid, *given_seen, weights, rounds=300, travel=0.0).grid
    theirs = adjusted_locally(grid, given_seen[0], 1.05, rounds=300, weights=weights).grid
    before, after, rival = (stored_loads(one, *given_seen, weights) for one in (grid, ours, theirs))
    assert not is_balanced(before, 1.2)
    assert after.max() < before.max()
    assert after.max() < rival.max()


def test_nothing_seen_is_nothing_to_balance() -> None:
    generator = np.random.default_rng(1)
    grid = some_grid(generator)
    given_seen = seen(grid, some_posts(generator, 5), some_placed(generator, 0))
    assert rebalanced(grid, *given_seen, Weights(stored=1.0)).cost == 0


def test_settings_that_make_no_sense_are_refused() -> None:
    grid, counts = row_of_cells([0], []), counts_of([(0, 0, 1, 1)], [1])
    with pytest.raises(ConfigError, match="0 rounds"):
        rebalanced(grid, counts, NOTHING_STORED, VISIT, rounds=0)
    with pytest.raises(ConfigError, match="travel -1"):
        rebalanced(grid, counts, NOTHING_STORED, VISIT, travel=-1.0)
