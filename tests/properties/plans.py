"""Plans of any kind with any maps, over the world of `tests.strategies`."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tidegate.csr import from_rows
from tidegate.index.strings import strings
from tidegate.route.place_map import PlaceMap
from tidegate.route.places.grid_t import GridT
from tidegate.route.plan import PLACEMENTS, Plan
from tidegate.route.word_map import WordMap

WORDS = [
    "storm",
    "flood",
    "rain",
    "warn",
    "stormi",
    "#storm",
    "#rain",
    "@esa",
    "from:nasa",
    "lang:en",
    "has:place",
    "kiel",
]


class Planned(NamedTuple):
    """What `place` and `Store.publish` are given."""

    plan: Plan
    words: WordMap | None = None
    places: PlaceMap | None = None


@st.composite
def plans(draw: st.DrawFn) -> Planned:
    """A plan of any kind, with any word map: some words hot, some unknown; and with any place map."""
    matchers = draw(st.integers(1, 8))
    kind = draw(st.sampled_from(["hash", "salb", "refined", "headtail", "hybrid", "grid"]))
    plan = Plan(kind, matchers, placement=draw(st.sampled_from(PLACEMENTS)))
    if not plan.learned:
        return Planned(plan)
    words = draw(st.permutations(WORDS).map(lambda known: known[: len(known) * 3 // 4]))
    owners = [draw(st.lists(st.integers(0, matchers - 1), min_size=1, max_size=3)) for _ in words]
    frequency = sorted((draw(st.integers(1, 20)) for _ in words), reverse=True)
    if plan.has_head:
        plan = replace(plan, head=draw(st.integers(0, 6)))
    map_of_words = WordMap(matchers, strings(words), np.array(frequency), 30, from_rows(owners))
    return Planned(plan, map_of_words, draw(place_maps(matchers)) if plan.by_place else None)


@st.composite
def place_maps(draw: st.DrawFn, matchers: int) -> PlaceMap:
    """Any owners of the cells of any lattice, some of which are shared out by words."""
    # In the largest, some places are of too many cells.
    columns, rows = draw(st.tuples(st.integers(1, 7), st.integers(1, 5)) | st.just((40, 40)))
    west, east = sorted(draw(st.lists(degrees(180), min_size=2, max_size=2, unique=True)))
    south, north = sorted(draw(st.lists(degrees(90), min_size=2, max_size=2, unique=True)))
    words = draw(st.permutations(WORDS).map(lambda known: known[: len(known) // 2]))
    n_maps = draw(st.integers(0, 3))
    a_matcher = st.integers(0, matchers - 1)
    maps = draw(arrays(np.int16, (n_maps, len(words)), elements=a_matcher))
    owners = np.random.default_rng(draw(st.integers(0, 2**16))).integers(-n_maps, matchers, columns * rows)
    grid = GridT((west, south, east, north), columns, rows, matchers, len(words), owners.astype(np.int32), maps)
    return PlaceMap.of(grid, words)


def degrees(most: int) -> st.SearchStrategy[float]:
    return st.integers(-most, most).map(float) | st.floats(-most, most).map(lambda value: round(value, 3))
