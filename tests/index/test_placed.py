"""Indexes of words and places answer as brute force does, whatever was added and removed before."""

from collections.abc import Callable
from functools import partial
from math import inf, nan
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidegate.csr import from_rows
from tidegate.errors import ConfigError
from tidegate.index.flat_grid import FlatGrid
from tidegate.index.grid_inverted import GridInverted
from tidegate.index.placed import Placed, PlacedIndex, PlacedPosts
from tidegate.index.placed_brute_force import PlacedBruteForce
from tidegate.workload.places import COUNTRIES, objects, searches

Box = tuple[float, float, float, float]
Entry = tuple[list[int], Box]
Post = tuple[list[int], tuple[float, float]]

# Of each index that has bounds, one whose bounds end within the coordinates below.
INDEXES: list[Callable[[], PlacedIndex]] = [
    PlacedBruteForce,
    FlatGrid,
    partial(FlatGrid, smallest_merge=0),
    partial(FlatGrid, smallest_merge=7),
    GridInverted,
    partial(GridInverted, (0.0, 0.0, 4.0, 3.0), columns=4, rows=2),
    partial(GridInverted, COUNTRIES["us"][1:]),
]

# Few and round, so that points fall on the borders of boxes and of cells; some are outside of every grid.
degrees = st.sampled_from([-80.0, 0.0, 1.0, 1.5, 2.0, 3.0, 3.75, 4.0, 60.0])
sides = st.tuples(degrees, degrees).map(sorted)
boxes = st.tuples(sides, sides).map(lambda pair: (pair[0][0], pair[1][0], pair[0][1], pair[1][1]))
terms = st.integers(0, 8)
entries = st.tuples(st.lists(terms, min_size=1, max_size=5), boxes)
points = st.one_of(st.tuples(degrees, degrees), st.sampled_from([(nan, nan), (nan, 1.0), (1.0, nan)]))
posts = st.tuples(st.lists(st.one_of(terms, st.sampled_from([-1, 99])), max_size=10), points)
histories = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.lists(entries, max_size=8)),
        st.tuples(st.just("remove"), st.lists(st.integers(0), max_size=4)),
        st.tuples(st.just("match"), st.lists(posts, max_size=6)),
    ),
    max_size=14,
)

every_index = pytest.mark.parametrize("make", INDEXES)


def placed(rows: list[Entry]) -> Placed:
    return Placed(from_rows([terms for terms, _ in rows]), np.array([box for _, box in rows]).reshape(-1, 4))


def asked(rows: list[Post]) -> PlacedPosts:
    lat, lon = np.array([point for _, point in rows], np.float64).reshape(-1, 2).T
    return PlacedPosts(from_rows([terms for terms, _ in rows]), lat.copy(), lon.copy())


def answer(index: PlacedIndex, rows: list[Post]) -> list[list[int]]:
    found = index.match(asked(rows)).sets
    return [sorted(found.row(i).tolist()) for i in range(len(rows))]


def is_match(entry: Entry, post: Post) -> bool:
    (terms, (west, south, east, north)), (held, (lat, lon)) = entry, post
    return set(terms) <= set(held) and west <= lon <= east and south <= lat <= north


@every_index
@given(histories)
@settings(max_examples=150)
def test_any_history_equals_testing_every_entry(
    make: Callable[[], PlacedIndex], history: list[tuple[str, Any]]
) -> None:
    index = make()
    wanted: dict[int, Entry] = {}
    for step, arguments in history:
        if step == "add":
            wanted.update(zip(index.add(placed(arguments)).tolist(), arguments, strict=True))
        elif step == "remove" and wanted:
            gone = {sorted(wanted)[place % len(wanted)] for place in arguments}
            index.remove(sorted(gone))
            wanted = {number: entry for number, entry in wanted.items() if number not in gone}
        elif step == "match":
            expected = [[number for number, entry in wanted.items() if is_match(entry, post)] for post in arguments]
            assert answer(index, arguments) == expected


@pytest.mark.parametrize("make", INDEXES[1:])
@pytest.mark.parametrize(("kind", "least"), [("q1", 50), ("q3", 20)])
def test_generated_searches_equal_brute_force_under_churn(
    make: Callable[[], PlacedIndex], kind: str, least: int
) -> None:
    index, reference = make(), PlacedBruteForce()
    terms, lat, lon = objects(2000, seed=1)
    asking = searches(20_000, kind, seed=2).placed
    generator = np.random.default_rng(3)
    alive = np.empty(0, np.int32)
    for start in range(0, asking.rows, 6000):
        batch = asking.slice(start, min(start + 6000, asking.rows))
        numbers = index.add(batch)
        assert numbers.tolist() == reference.add(batch).tolist()
        alive = generator.permutation(np.append(alive, numbers))
        gone, alive = np.split(alive, [len(alive) // 3])
        index.remove(gone)
        reference.remove(gone)
        found, expected = (one.match(PlacedPosts(terms, lat, lon)).sets for one in (index, reference))
        assert np.array_equal(found.offsets, expected.offsets)
        assert len(expected.values) > least
        for i in range(terms.rows):
            assert sorted(found.row(i).tolist()) == expected.row(i).tolist()


@every_index
def test_a_box_holds_its_border_and_nothing_beyond(make: Callable[[], PlacedIndex]) -> None:
    index = make()
    index.add(placed([([1], (1.0, 2.0, 3.0, 4.0)), ([1], (2.0, 3.0, 2.0, 3.0))]))
    corners = [(2.0, 1.0), (4.0, 1.0), (2.0, 3.0), (4.0, 3.0)]
    assert answer(index, [([1], point) for point in corners]) == [[0]] * 4
    assert answer(index, [([1], (3.0, 2.0)), ([1], (3.0, np.nextafter(2.0, 3.0)))]) == [[0, 1], [0]]
    beyond = [(np.nextafter(2.0, 1.0), 1.0), (2.0, np.nextafter(1.0, 0.0)), (np.nextafter(4.0, 5.0), 3.0)]
    assert answer(index, [([1], point) for point in beyond]) == [[], [], []]


@every_index
def test_a_number_is_never_used_again(make: Callable[[], PlacedIndex]) -> None:
    index = make()
    entry: Entry = ([1, 2, 3, 4], (0.0, 0.0, 1.0, 1.0))
    for first in range(0, 20, 2):
        assert index.add(placed([entry, entry])).tolist() == [first, first + 1]
        index.remove([first + 1, first])
        assert answer(index, [([1, 2, 3, 4], (0.5, 0.5))]) == [[]]


@every_index
def test_an_entry_that_is_not_there_is_named_and_nothing_is_removed(make: Callable[[], PlacedIndex]) -> None:
    index = make()
    entry: Entry = ([1], (0.0, 0.0, 1.0, 1.0))
    first, second = index.add(placed([entry, entry])).tolist()
    index.remove([first])
    for stranger in (first, 2, 77, -1):
        with pytest.raises(ConfigError, match=f"entry {stranger} is not in the index"):
            index.remove([second, stranger])
    assert answer(index, [([1], (0.5, 0.5))]) == [[second]]


@every_index
@pytest.mark.parametrize(
    ("entry", "complaint"),
    [
        (([1], (2.0, 0.0, 1.0, 1.0)), "inside out"),
        (([1], (0.0, 2.0, 1.0, 1.0)), "inside out"),
        (([1], (0.0, nan, 1.0, 1.0)), "inside out"),
        (([], (0.0, 0.0, 1.0, 1.0)), "a term set is empty"),
        (([-3], (0.0, 0.0, 1.0, 1.0)), "term ids run from -3"),
    ],
)
def test_what_no_index_can_take_is_refused_whole(make: Callable[[], PlacedIndex], entry: Entry, complaint: str) -> None:
    index = make()
    good: Entry = ([1], (0.0, 0.0, 1.0, 1.0))
    with pytest.raises(ConfigError, match=complaint):
        index.add(placed([good, entry]))
    assert answer(index, [([1], (0.5, 0.5))]) == [[]]
    assert index.add(placed([good])).tolist() == [0]


@every_index
def test_boxes_that_are_too_few_are_refused(make: Callable[[], PlacedIndex]) -> None:
    with pytest.raises(ConfigError, match=r"2 conjunctions with boxes of shape \(1, 4\)"):
        make().add(Placed(from_rows([[1], [2]]), np.zeros((1, 4))))


@every_index
def test_nothing_matches_nothing(make: Callable[[], PlacedIndex]) -> None:
    index = make()
    assert index.match(asked([])).sets.rows == 0
    assert answer(index, [([1], (0.0, 0.0)), ([], (nan, nan))]) == [[], []]
    assert index.add(placed([])).tolist() == []
    index.remove([])


@every_index
def test_a_border_is_exact_where_no_round_number_is(make: Callable[[], PlacedIndex]) -> None:
    index = make()
    index.add(placed([([1], (0.1, 0.1, 0.3, 0.3))]))
    inside = [(0.1, 0.1), (0.3, 0.3), (0.2, 0.3)]
    outside = [(np.nextafter(0.1, 0), 0.2), (np.nextafter(0.3, 1), 0.2), (0.2, np.nextafter(0.1, 0))]
    assert answer(index, [([1], point) for point in inside + outside]) == [[0]] * 3 + [[]] * 3


@every_index
def test_boxes_may_be_without_end(make: Callable[[], PlacedIndex]) -> None:
    index = make()
    index.add(placed([([1], (-inf, -inf, inf, inf)), ([1], (0.0, -inf, inf, 0.5)), ([1], (0.0, 0.0, 0.25, 0.25))]))
    assert answer(index, [([1], (90.0, -180.0)), ([1], (-90.0, 180.0)), ([1], (0.5, 0.0))]) == [[0], [0, 1], [0, 1]]


@every_index
@pytest.mark.parametrize("most", [1_023, 1_024, 3_000])
def test_one_post_may_match_more_than_there_is_room_for_at_first(make: Callable[[], PlacedIndex], most: int) -> None:
    index = make()
    rows: list[Entry] = [([n % 5] if n % 2 else [n % 5, 1, 2, 3], (0.0, 0.0, 1.0, 1.0)) for n in range(most)]
    index.add(placed(rows))
    index.add(placed(rows[:10]))
    every, few = ([0, 1, 2, 3, 3, 4, 0], (0.5, 0.5)), ([1, 2], (0.5, 0.5))
    for _ in range(2):
        expected = [[n for n, row in enumerate(rows + rows[:10]) if is_match(row, post)] for post in (few, every, few)]
        assert answer(index, [few, every, few]) == expected


def test_a_grid_reads_the_lists_of_one_cell_and_of_the_rarest_terms_only() -> None:
    index = GridInverted((0.0, 0.0, 4.0, 4.0), columns=4, rows=4)
    here, elsewhere = (1.2, 1.2, 1.4, 1.4), (3.2, 3.2, 3.4, 3.4)
    index.add(placed([([1, 7], here), ([7], here), ([1], here), ([7], elsewhere), ([8, 7], here)]))
    found = index.match(asked([([1, 7], (1.3, 1.3))]))
    assert sorted(found.sets.values.tolist()) == [0, 1, 2]
    assert (found.visited, found.candidates) == (2, 3), "lists of 7 and of 1; nobody reads the list of 8"


def test_a_grid_drops_removed_entries_where_it_reads_and_only_there() -> None:
    index = GridInverted((0.0, 0.0, 2.0, 1.0), columns=2, rows=1)
    both_cells = (0.5, 0.0, 1.5, 1.0)
    index.add(placed([([1], both_cells)] * 10))
    index.remove(range(9))
    left, right = asked([([1], (0.5, 0.6))]), asked([([1], (0.5, 1.4))])
    assert [index.match(left).candidates for _ in range(2)] == [10, 1]
    assert [index.match(right).candidates for _ in range(2)] == [10, 1]


def test_churn_does_not_grow_a_grid() -> None:
    index = GridInverted(COUNTRIES["us"][1:])
    terms, lat, lon = objects(500, seed=1)
    asking = searches(1000, "q1", seed=2).placed
    # Of four terms and more as well: their tails have a pool of their own.
    longer = Placed(from_rows([[*asking.sets.row(i), 3, 2, 1, 0] for i in range(500)]), asking.boxes[:500])
    sizes = []
    for _ in range(60):
        numbers = np.append(index.add(asking), index.add(longer))
        index.match(PlacedPosts(terms, lat, lon))
        index.remove(numbers)
        sizes.append(index.nbytes)
    assert sizes[-1] <= 1.1 * sizes[9]


@pytest.mark.parametrize("bounds", [(1.0, 0.0, 0.0, 1.0), (0.0, 1.0, 1.0, 1.0), (0.0, 0.0, inf, 1.0), (nan, 0, 1, 1)])
def test_bounds_that_hold_no_cells_are_refused(bounds: Box) -> None:
    with pytest.raises(ConfigError, match="hold no cells"):
        GridInverted(bounds)


@pytest.mark.parametrize(("columns", "rows"), [(0, 4), (4, -1), (2**16, 2**16)])
def test_a_number_of_cells_that_cannot_be_is_refused(columns: int, rows: int) -> None:
    with pytest.raises(ConfigError, match=f"{columns} columns and {rows} rows"):
        GridInverted(columns=columns, rows=rows)


def test_a_term_that_has_grown_is_cut_anew_without_its_removed_entries() -> None:
    index, spread = FlatGrid(), np.random.default_rng(4).uniform(0, 50, (2_000, 2))
    rows: list[Entry] = [([0], (x, y, x + 0.5, y + 0.5)) for x, y in spread.tolist()]
    index.add(placed([([1], row[1]) for row in rows] * 3))  # these make cells, and so many of them that nothing merges
    for start in range(0, 2_000, 50):
        numbers = index.add(placed(rows[start : start + 50]))
        index.remove(numbers[::2])
    found = index.match(asked([([0], (y + 0.25, x + 0.25)) for x, y in spread[1::2].tolist()]))
    assert set(found.sets.values.tolist()) == set(range(6_001, 8_000, 2))
    assert found.candidates < 100 * 1_000, "uncut, each of a thousand posts would read a thousand and more"


def test_a_flat_grid_under_churn_is_swept_and_does_not_grow() -> None:
    index, reference = FlatGrid(smallest_merge=50), PlacedBruteForce()
    terms, lat, lon = objects(300, seed=1)
    asking = searches(4_000, "q1", seed=2).placed
    # Some of four terms and more as well, which are kept apart.
    rows = [[*asking.sets.row(i).tolist(), *([3, 2, 1, 0] if i % 3 == 0 else [])] for i in range(asking.rows)]
    asking = Placed(from_rows(rows), asking.boxes)
    generator = np.random.default_rng(3)
    alive, sizes, found = np.empty(0, np.int32), [], 0
    for _ in range(60):
        batch = asking.only(generator.choice(asking.rows, 400, replace=False))
        numbers = index.add(batch)
        reference.add(batch)
        alive = generator.permutation(np.append(alive, numbers))
        gone, alive = np.split(alive, [max(len(alive) - 2_000, 0)])
        index.remove(gone)
        reference.remove(gone)
        ours, expected = (one.match(PlacedPosts(terms, lat, lon)).sets for one in (index, reference))
        assert [sorted(ours.row(i).tolist()) for i in range(300)] == [expected.row(i).tolist() for i in range(300)]
        found += len(expected.values)
        sizes.append(index.nbytes)
    assert found > 1_000
    assert max(sizes[30:]) < 1.2 * max(sizes[10:30])
