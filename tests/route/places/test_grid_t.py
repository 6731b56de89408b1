"""The plan that routers read."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.route.places.workloads import (
    BOUNDS,
    assert_matches_meet,
    boxes,
    placed,
    placed_of,
    points,
    posts,
    posts_of,
    sets_of,
)
from tidegate.errors import ConfigError
from tidegate.index.placed import Placed, PlacedPosts
from tidegate.route.places.grid_t import GridT

FOUR_BY_TWO = GridT(
    BOUNDS,
    4,
    2,
    3,
    10,
    np.array([0, 1, -1, -2, 2, 2, -1, 0], np.int32),
    np.arange(20, dtype=np.int16).reshape(2, 10) % 3,
)


@st.composite
def grids(draw: st.DrawFn) -> GridT:
    matchers, columns, rows, n_maps = (draw(st.integers(1, most)) for most in (4, 5, 4, 3))
    n_terms = draw(st.integers(0, 10))
    cells = columns * rows
    where = draw(st.lists(st.integers(-n_maps, matchers - 1), min_size=cells, max_size=cells))
    owners = st.lists(st.integers(0, matchers - 1), min_size=n_terms, max_size=n_terms)
    maps = np.array([draw(owners) for _ in range(n_maps)], np.int16).reshape(n_maps, n_terms)
    return GridT(BOUNDS, columns, rows, matchers, n_terms, np.array(where, np.int32), maps, draw(st.booleans()))


@given(grids(), posts, placed)
def test_what_matches_meets_whoever_has_the_cells_and_terms(grid: GridT, posts: PlacedPosts, placed: Placed) -> None:
    assert_matches_meet(grid, posts, placed)


@given(boxes, points)
def test_a_point_in_a_box_is_in_a_cell_under_it(box: tuple[float, ...], point: tuple[float, float]) -> None:
    lat, lon = point
    cells = FOUR_BY_TWO.cells_under(np.array([box])).row(0).tolist()
    assert cells == sorted(set(cells))
    if box[0] <= lon <= box[2] and box[1] <= lat <= box[3]:
        assert FOUR_BY_TWO.cells_of(np.array([lat]), np.array([lon])).item() in cells


def test_cells_are_counted_from_the_south_west_and_what_is_outside_is_at_the_border() -> None:
    lat = np.array([0.0, 0.9, 1.0, 9.0, -np.inf, 2.0, np.nan, 1.0])
    lon = np.array([0.0, 3.0, 0.0, 9.0, np.inf, -9.0, 0.0, np.nan])
    assert FOUR_BY_TWO.cells_of(lat, lon).tolist() == [0, 3, 4, 7, 3, 4, -1, -1]
    everything = np.array([[-np.inf, -np.inf, np.inf, np.inf]])
    assert FOUR_BY_TWO.cells_under(everything).row(0).tolist() == list(range(8))


def test_a_conjunction_lives_with_the_matchers_of_its_cells_and_of_its_least_frequent_term() -> None:
    boxes = [(0.1, 0.1, 0.2, 0.2), (0.1, 0.1, 1.2, 0.2), (2.5, 0.5, 2.6, 0.6), (2.5, 0.5, 3.6, 0.6)]
    rows = [([3, 1], box) for box in boxes]
    homes = FOUR_BY_TWO.homes(placed_of(rows))
    of_both_maps = {int(FOUR_BY_TWO.maps[0, 3]), int(FOUR_BY_TWO.maps[1, 3])}
    assert sets_of(homes) == [{0}, {0, 1}, {int(FOUR_BY_TWO.maps[0, 3])}, of_both_maps]


def test_a_term_that_no_map_knows_belongs_to_the_rest_of_its_rank() -> None:
    asked = placed_of([([1, 101], (2.5, 0.5, 2.6, 0.6))])
    assert FOUR_BY_TWO.homes(asked).row(0).tolist() == [101 % 3]
    heard = FOUR_BY_TWO.heard(asked)
    assert FOUR_BY_TWO.visits(posts_of([([101, 1], (0.5, 2.5))]), heard).row(0).tolist() == [101 % 3]


def test_a_post_goes_nowhere_without_a_place_or_a_term_that_is_heard_in_its_cell() -> None:
    heard = FOUR_BY_TWO.heard(placed_of([([4, 2], (0.1, 0.1, 0.2, 0.2)), ([5], (2.5, 0.5, 2.6, 0.6))]))
    rows = [([4], (0.9, 0.9)), ([2], (0.9, 0.9)), ([4], (0.5, 1.5)), ([5, 4], (0.5, 2.5)), ([4], (np.nan, np.nan))]
    assert sets_of(FOUR_BY_TWO.visits(posts_of(rows), heard)) == [
        {0},
        set(),
        set(),
        {int(FOUR_BY_TWO.maps[0, 5])},
        set(),
    ]


def test_a_grid_that_does_not_hear_sends_every_post_with_a_place() -> None:
    deaf = replace(FOUR_BY_TWO, hears=False)
    heard = deaf.heard(placed_of([([4], (0.1, 0.1, 0.2, 0.2))]))
    rows = [([4], (0.9, 0.9)), ([2], (0.9, 0.9)), ([5, 4], (0.5, 2.5)), ([], (0.5, 1.5)), ([4], (np.nan, np.nan))]
    of_terms = {int(FOUR_BY_TWO.maps[0, term]) for term in (4, 5)}
    assert sets_of(deaf.visits(posts_of(rows), heard)) == [{0}, {0}, of_terms, {1}, set()]


def test_checks_are_the_pairs_of_one_cell_and_a_term_of_the_post_at_the_matcher_of_both() -> None:
    box, shared_box = (0.1, 0.1, 1.2, 0.2), (2.5, 0.5, 2.6, 0.6)
    asked = placed_of([([4], box), ([4, 1], box), ([2], box), ([5], shared_box), ([4], shared_box)])
    rows = [([4, 2], (0.9, 0.9)), ([4, 3], (0.5, 1.5)), ([5, 4], (0.5, 2.5)), ([4], (np.nan, np.nan))]
    expected = np.array([3, 2, 0])
    for term in (4, 5):
        expected[FOUR_BY_TWO.maps[0, term]] += 1
    assert FOUR_BY_TWO.checks(posts_of(rows), asked).tolist() == expected.tolist()


@given(placed)
def test_heard_are_the_least_frequent_terms_in_the_cells_under_the_boxes(placed: Placed) -> None:
    cells = sets_of(FOUR_BY_TWO.cells_under(placed.boxes))
    asked = {(cell, int(placed.sets.row(i).max())) for i in range(placed.rows) for cell in cells[i]}
    assert [divmod(key, 2**31) for key in FOUR_BY_TWO.heard(placed).keys.tolist()] == sorted(asked)


def test_more_keys_than_the_first_table_holds_are_all_heard() -> None:
    asked = placed_of([([term], (0.0, 0.0, 4.0, 2.0)) for term in range(1_000)])
    heard = FOUR_BY_TWO.heard(asked)
    assert len(heard.keys) == 8_000
    assert heard.nbytes == 8 * 2**14


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"bounds": (4.0, 0.0, 0.0, 2.0)}, "hold nothing: the order is west, south, east, north"),
        ({"columns": 0}, "0 x 2 cells: at least one"),
        ({"matchers": 2}, "cells belong to -2 to 2: there are 2 matchers and 2 term maps"),
        ({"matchers": 0}, "0 matchers: a grid has from 1"),
        ({"columns": 5}, r"for 5 x 2 cells and 10 terms, give \(10,\)"),
        ({"maps": np.full((2, 10), 3, np.int16)}, "a term belongs to matcher 3: there are 3"),
        ({"maps": np.zeros((1, 10), np.int16)}, "3 matchers and 1 term maps"),
    ],
)
def test_a_grid_that_leaves_something_without_a_matcher_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        replace(FOUR_BY_TWO, **changes)
