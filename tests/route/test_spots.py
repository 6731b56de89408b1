"""Conjunctions that live by their place: in which cells, and in none if they are too many."""

import numpy as np

from tidegate.query.parse import parse
from tidegate.route.place_map import PlaceMap
from tidegate.route.places.grid_t import GridT
from tidegate.route.places.lattice import Lattice
from tidegate.route.spots import MOST_CELLS, Spots, filed
from tidegate.text.analyzer import Analyzer

ANALYZER = Analyzer()
SIDE = 36
WORLD = PlaceMap.of(
    GridT(
        (-180.0, -90.0, 180.0, 90.0),
        2 * SIDE,
        SIDE,
        1,
        0,
        np.zeros(2 * SIDE * SIDE, np.int32),
        np.empty((0, 0), np.int16),
    ),
    [],
)


def cells_of(text: str) -> list[int]:
    (conjunction,) = parse(text, ANALYZER).conjunctions
    found = filed([conjunction], WORLD)
    assert (found.conjunction_of == 0).all()
    return [int(cell) for cell in found.cells]


def test_a_rectangle_lies_in_the_cells_it_overlaps() -> None:
    middle = SIDE // 2 * 2 * SIDE + SIDE  # of the equator and the prime meridian, to its north-east
    assert cells_of("storm in:(1,1,2,2)") == [middle]
    assert cells_of("storm in:(1,1,6,2)") == [middle, middle + 1]
    assert cells_of("storm in:(1,1,2,6)") == [middle, middle + 2 * SIDE]


def test_a_place_across_the_antimeridian_lies_on_both_sides() -> None:
    row = SIDE // 2 * 2 * SIDE
    assert cells_of("storm in:(179,1,-179,2)") == [row, row + 2 * SIDE - 1]
    assert cells_of("storm near:(2,179.9,50)") == [row, row + 2 * SIDE - 1]


def test_who_wants_no_place_or_half_the_world_lives_by_words() -> None:
    assert cells_of("storm") == []
    assert cells_of("storm in:(-180,-90,180,90)") == []
    wide = [text for text in ("storm in:(0,0,75,75)", "storm in:(0,0,85,85)") if cells_of(text)]
    assert wide == ["storm in:(0,0,75,75)"]
    assert len(cells_of("storm in:(0,0,75,75)")) == MOST_CELLS


def test_the_boxes_of_a_conjunction_count_together() -> None:
    # Each half of it, on either side of the antimeridian, would be narrow enough.
    assert cells_of("storm in:(120,0,-120,59)") == []
    assert len(cells_of("storm in:(140,0,-140,59)")) == 17 * 12


def test_spots_lead_where_they_were_told_and_nowhere_else() -> None:
    cells, keys = np.array([0, 0, 3], np.int32), np.array([5, 6, 5])
    lattice = Lattice((0.0, 0.0, 4.0, 1.0), 4, 1)
    spots = Spots.of(lattice, cells, keys, np.array([2, 1, 0], np.int32), np.array([10, 20, 30]))
    read = Spots.read(spots.arrays())
    assert read.lattice == lattice
    pairs = {(int(key >> 31), int(key & (2**31 - 1))) for key in read.heard.keys}
    assert pairs == {(0, 5), (0, 6), (3, 5)}
    assert sorted(zip(read.matchers.tolist(), read.weights.tolist(), strict=True))[-3:] == [(0, 30), (1, 20), (2, 10)]
    assert Spots.none().size == 0
