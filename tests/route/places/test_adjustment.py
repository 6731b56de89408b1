"""Live adjustment: loads as defined, better balance by each round, and no match lost or left behind by any change."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidegate.csr import Csr, from_rows
from tidegate.errors import ConfigError
from tidegate.index.placed import Placed, PlacedPosts
from tidegate.route.places.adjustment import adjusted_locally
from tidegate.route.places.counts import Counts, Weights, counted
from tidegate.route.places.draft import is_balanced, matcher_loads
from tidegate.route.places.grid_t import GridT
from tidegate.route.places.migration import at_random, by_dynamic_programming, by_size, greedy
from tidegate.route.places.transition import Relocation, Transition, relocated
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


class Cluster:
    """Matchers that have what they were told to have, by homes at insertion and by relocations; nothing else."""

    def __init__(self, grid: GridT, placed: Placed) -> None:
        self.placed = placed
        self.grid = grid
        self.transition: Transition | None = None
        self.inserted = 0
        self.old: list[int] = []
        self.new: list[int] = []
        self.stored: list[set[int]] = [set() for _ in range(grid.matchers)]

    def insert(self, n: int) -> None:
        entries = list(range(self.inserted, min(self.inserted + n, self.placed.rows)))
        self.inserted += len(entries)
        self.new += entries
        self._arrive(entries, self.grid.homes(subset(self.placed, entries)))
        if self.transition:
            self.transition.inserted(len(entries))

    def delete(self, n: int, generator: np.random.Generator) -> None:
        live = self.old + self.new
        gone = generator.choice(live, min(n, len(live)), replace=False).tolist() if live else []
        is_old = np.isin(gone, self.old)
        placed = subset(self.placed, gone)
        self._depart(gone, self.transition.homes(placed, is_old) if self.transition else self.grid.homes(placed))
        if self.transition:
            self.transition.removed(old=int(is_old.sum()), new=int((~is_old).sum()))
        self.old = [e for e in self.old if e not in gone]
        self.new = [e for e in self.new if e not in gone]

    def adjust(self, posts: PlacedPosts, weights: Weights, rounds: int) -> None:
        placed = subset(self.placed, self.new)
        adjusted = adjusted_locally(
            self.grid, counted(self.grid, posts, placed), sigma=1.1, p=3, rounds=rounds, weights=weights
        )
        self._relocate(self.new, relocated(self.grid, adjusted.grid, placed))
        self.grid = adjusted.grid
        if self.transition:
            self.transition.new = adjusted.grid

    def repartition(self, grid: GridT) -> None:
        self.finish()
        self.transition = Transition(self.grid, grid, len(self.new))
        self.old, self.new, self.grid = self.new, [], grid

    def finish(self) -> None:
        if self.transition:
            self._relocate(self.old, self.transition.finished(subset(self.placed, self.old)))
            self.old, self.new, self.transition = [], self.old + self.new, None

    def found(self, posts: PlacedPosts) -> set[tuple[int, int]]:
        new_heard = self.grid.heard(subset(self.placed, self.new))
        if self.transition:
            old_heard = self.transition.old.heard(subset(self.placed, self.old))
            visits = self.transition.visits(posts, old_heard, new_heard)
        else:
            visits = self.grid.visits(posts, new_heard)
        return {
            (post, entry)
            for post, matchers in enumerate(rows_of(visits))
            for matcher in matchers
            for entry in self.stored[matcher]
            if matched(self.placed, entry, posts, post)
        }

    def _arrive(self, entries: list[int], homes: Csr) -> None:
        for entry, matchers in zip(entries, rows_of(homes), strict=True):
            for matcher in matchers:
                assert entry not in self.stored[matcher]
                self.stored[matcher].add(entry)

    def _depart(self, entries: list[int], homes: Csr) -> None:
        for entry, matchers in zip(entries, rows_of(homes), strict=True):
            for matcher in matchers:
                self.stored[matcher].remove(entry)

    def _relocate(self, entries: list[int], relocation: Relocation) -> None:
        self._arrive(entries, relocation.arrivals)
        self._depart(entries, relocation.departures)


STEPS = ["insert", "delete", "adjust", "adjust", "repartition", "finish"]


@settings(max_examples=60)
@given(st.lists(st.tuples(st.sampled_from(STEPS), st.integers(1, 9)), min_size=1, max_size=12), seeds)
def test_whatever_is_adjusted_when_the_matches_are_those_of_brute_force(
    steps: list[tuple[str, int]], seed: int
) -> None:
    generator = np.random.default_rng(seed)
    posts = some_posts(generator, 60)
    cluster = Cluster(some_grid(generator), some_placed(generator, 60))
    cluster.insert(15)
    for step, n in steps:
        if step == "insert":
            cluster.insert(n)
        elif step == "delete":
            cluster.delete(n, generator)
        elif step == "adjust":
            weights = Weights(visit=float(generator.choice([0.0, 2.0, 20.0])))
            cluster.adjust(some_posts(generator, 60), weights, rounds=n)
        elif step == "repartition":
            # Another lattice as well: what is heard is not the same then.
            cluster.repartition(some_grid(generator, columns=int(generator.integers(2, 6))))
        else:
            cluster.finish()
        live = cluster.old + cluster.new
        expected = {(post, e) for post in range(60) for e in live if matched(cluster.placed, e, posts, post)}
        assert cluster.found(posts) == expected
    cluster.delete(60, generator)
    assert not any(cluster.stored), "nothing is left behind"


@given(seeds)
def test_counts_are_those_of_plain_python(seed: int) -> None:
    generator = np.random.default_rng(seed)
    grid, placed, posts = some_grid(generator), some_placed(generator, 20), some_posts(generator, 30)
    counts = counted(grid, posts, placed)
    under, cells = rows_of(grid.cells_under(placed.boxes)), grid.cells_of(posts.lat, posts.lon).tolist()
    filed = [(cell, int(placed.sets.row(e).max()), e) for e in range(20) for cell in under[e]]
    keys = sorted({(cell, term) for cell, term, _ in filed})
    texts = rows_of(posts.terms)
    assert list(zip(counts.cells.tolist(), counts.terms.tolist(), strict=True)) == keys
    for i, key in enumerate(keys):
        entries = [e for cell, term, e in filed if (cell, term) == key]
        assert counts.conjunctions[i] == len(entries)
        assert counts.nbytes[i] == sum(32 + 4 * len(placed.sets.row(e)) for e in entries)
        assert counts.posts[i] == sum(cells[p] == key[0] and key[1] in texts[p] for p in range(30))
    heard = grid.heard(placed)
    visits = rows_of(replace(grid, where=np.zeros(12, np.int32)).visits(posts, heard))
    for cell in range(12):
        assert counts.visitors[cell] == sum(cells[p] == cell and bool(visits[p]) for p in range(30))


def test_nothing_counted_is_nothing_to_adjust() -> None:
    generator = np.random.default_rng(1)
    grid = some_grid(generator)
    counts = counted(grid, some_posts(generator, 5), subset(some_placed(generator, 1), []))
    assert matcher_loads(grid, counts).tolist() == [0, 0, 0]
    adjusted = adjusted_locally(grid, counts, sigma=1.5)
    assert adjusted.cost == 0
    assert len(adjusted.moved.cells) == 0


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


def test_the_load_of_a_matcher_is_that_of_its_cells_and_of_its_parts_of_cells() -> None:
    grid = row_of_cells([0, -1], [[0, 1, 1, 0]])
    counts = counts_of([(0, 0, 3, 10), (0, 1, 2, 10), (1, 0, 5, 30), (1, 1, 7, 40), (1, 2, 1, 40)], [15, 80])
    # Cell 0, whole: 15 posts, 5 conjunctions. Of cell 1, matcher 0 has term 0, and matcher 1 two terms that half of
    # the posts have each: three quarters have one of them.
    assert matcher_loads(grid, counts).tolist() == [15 * 5 + 30 * 5, 60 * 8]
    visit, check, stored = Weights(0, 0, 1), Weights(0, 1, 0), Weights(0, 0, 0, 1)
    assert matcher_loads(grid, counts, visit).tolist() == [15 + 30, 60]
    assert matcher_loads(grid, counts, check).tolist() == [3 * 10 + 2 * 10 + 5 * 30, 7 * 40 + 1 * 40]
    assert matcher_loads(grid, counts, stored).tolist() == [3 + 2 + 5, 7 + 1]


@given(seeds)
def test_dividing_a_cell_never_saves_visits_and_a_map_to_one_matcher_weighs_like_a_whole_cell(seed: int) -> None:
    generator = np.random.default_rng(seed)
    grid, placed, posts = some_grid(generator, n_terms=TERMS), some_placed(generator, 30), some_posts(generator, 60)
    counts, visit = counted(grid, posts, placed), Weights(pair=0.0, visit=1.0)
    # Rounded, once for each part.
    assert matcher_loads(grid, counts, visit).sum() >= counts.visitors.sum() - 0.5 * 12 * 3
    alone = replace(grid, where=np.full(12, -1, np.int32), maps=np.full((1, TERMS), 2, np.int16))
    whole = replace(grid, where=np.full(12, 2, np.int32), maps=np.empty((0, TERMS), np.int16))
    assert matcher_loads(alone, counts).tolist() == matcher_loads(whole, counts).tolist()


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


def generated(kind: str) -> tuple[GridT, PlacedPosts, Placed]:
    """Stripes from west to east, all equally wide, of which the coasts have more than their share."""
    posts, placed = PlacedPosts(*objects(8_000, seed=3)), searches(8_000, kind, seed=4).placed
    country = COUNTRIES["us"]
    bounds = (country.west, country.south, country.east, country.north)
    where = (np.arange(64 * 64) % 64 // 16).astype(np.int32)
    return GridT(bounds, 64, 64, 4, 0, where, np.empty((0, 0), np.int16)), posts, placed


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
