"""Place maps: who has a term in a cell, and files that are what was written."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.properties.plans import WORDS, place_maps
from tidegate.errors import StoreError
from tidegate.route.ownership import owner
from tidegate.route.place_map import PlaceMap
from tidegate.route.places.grid_t import GridT
from tidegate.route.word_map import WordMap


def two_cells() -> PlaceMap:
    """The west belongs to matcher 3, the east is shared out: storm to 1, flood to 2."""
    where, maps = np.array([3, -1], np.int32), np.array([[1, 2]], np.int16)
    return PlaceMap.of(GridT((0.0, 0.0, 2.0, 1.0), 2, 1, 4, 2, where, maps), ["storm", "flood", "tide"])


def test_a_cell_belongs_to_its_matcher_and_a_shared_one_to_those_of_its_words() -> None:
    terms = ["flood", "unheard", "storm"]
    cells, term_of = np.array([0, 0, 1, 1, 1], np.int32), np.array([0, 1, 0, 1, 2])
    assert two_cells().matchers_of(cells, terms, term_of).tolist() == [3, 3, 2, owner("unheard", 4), 1]


def test_words_beyond_the_term_maps_are_owned_by_hash() -> None:
    assert two_cells().words.to_pylist() == ["storm", "flood"]
    assert two_cells().matchers_of(np.array([1], np.int32), ["tide"], np.array([0])).tolist() == [owner("tide", 4)]


@given(data=st.data(), matchers=st.integers(1, 8))
def test_a_map_is_opened_as_it_was_saved(
    data: st.DataObject, matchers: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    drawn = data.draw(place_maps(matchers))
    path = tmp_path_factory.mktemp("places") / "map.arrow"
    drawn.save(path)
    opened = PlaceMap.open(path)
    assert opened.lattice == drawn.lattice
    cells = np.repeat(np.arange(drawn.lattice.cells, dtype=np.int32), len(WORDS))
    terms = np.tile(np.arange(len(WORDS)), drawn.lattice.cells)
    assert np.array_equal(opened.matchers_of(cells, WORDS, terms), drawn.matchers_of(cells, WORDS, terms))


def test_another_kind_of_file_is_refused(tmp_path: Path) -> None:
    two_cells().save(tmp_path / "x")
    with pytest.raises(StoreError, match="a segment of kind 'places', not 'words'"):
        WordMap.open(tmp_path / "x")
