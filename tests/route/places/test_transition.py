"""From one grid to another: who moves, and when the old one may go. Matches meanwhile: see `test_adjustment_live`."""

import numpy as np
import pytest

from tidegate.csr import from_rows
from tidegate.errors import ConfigError
from tidegate.index.placed import Placed
from tidegate.route.places.grid_t import GridT
from tidegate.route.places.transition import Transition, is_worth_it, relocated


def cells_of(*where: int) -> GridT:
    """Cells in a row from 0 to 1, of two matchers."""
    return GridT((0.0, 0.0, 1.0, 1.0), len(where), 1, 2, 0, np.array(where, np.int32), np.empty((0, 0), np.int16))


def test_an_entry_moves_only_where_it_is_not_yet_and_leaves_only_where_none_of_its_cells_is_left() -> None:
    in_first, in_both, in_second = [0.1, 0.1, 0.2, 0.2], [0.1, 0.1, 0.9, 0.2], [0.8, 0.1, 0.9, 0.2]
    placed = Placed(from_rows([[0], [0], [0]]), np.array([in_first, in_both, in_second]))
    relocation = relocated(cells_of(0, 1), cells_of(1, 1), placed)
    assert [relocation.arrivals.row(i).tolist() for i in range(3)] == [[1], [], []]
    assert [relocation.departures.row(i).tolist() for i in range(3)] == [[0], [0], []]


def test_a_transition_is_due_when_few_of_the_entries_are_old() -> None:
    grid = cells_of(0)
    transition = Transition(grid, grid, old_entries=100)
    transition.inserted(400)
    transition.removed(old=50, new=2)
    assert not transition.is_due
    transition.removed(old=5)
    transition.inserted(8)
    assert transition.is_due
    assert Transition(grid, grid, old_entries=0).is_due


def test_a_new_grid_is_worth_it_if_it_saves_more_than_the_threshold() -> None:
    assert is_worth_it(100.0, 89.0)
    assert not is_worth_it(100.0, 91.0)
    assert is_worth_it(100.0, 91.0, threshold=0.05)


def test_a_transition_that_never_ends_is_refused() -> None:
    with pytest.raises(ConfigError, match="share of 0"):
        Transition(cells_of(0), cells_of(0), 1, share=0.0)
