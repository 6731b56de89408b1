"""What a period saw, and the loads that follow from it."""

from dataclasses import replace

import numpy as np
from hypothesis import given

from tests.route.places.adjustable import (
    TERMS,
    counts_of,
    row_of_cells,
    rows_of,
    seeds,
    some_grid,
    some_placed,
    some_posts,
)
from tidegate.route.places.counts import Weights, counted
from tidegate.route.places.draft import matcher_loads


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
