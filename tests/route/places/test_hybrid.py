"""Hybrid partitioning and its tree."""

from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.route.places.workloads import generated, workloads
from tidegate.csr import from_rows
from tidegate.errors import ConfigError
from tidegate.index.placed import Placed, PlacedPosts
from tidegate.route.places.evening import Plan, evened
from tidegate.route.places.hybrid import hybrid_tree, uniform_regions
from tidegate.route.places.kd_t_tree import KdTTree, Leaf, Split
from tidegate.route.places.merging import merged
from tidegate.route.places.nodes import divided, halved, joined, root, shared_out, similarity
from tidegate.route.places.partitionings import PARTITIONINGS, outcome
from tidegate.route.places.sampled import Sampled, Settings, Workload

SMALL = Settings(columns=8, rows=4, population=10)


def opposites(n: int = 400) -> Workload:
    """In the west, posts and conjunctions have the same terms; in the east, posts have few terms that are asked for."""
    generator = np.random.default_rng(3)
    lon = generator.uniform(0, 4, n)
    lat = generator.uniform(0, 2, n)
    west = lon < 2
    rows = [
        generator.integers(0, 5, 3) if w else [*generator.integers(10, 15, 3), generator.integers(20, 60)] for w in west
    ]
    asked = [generator.integers(0, 5, 1) if w else generator.integers(20, 60, 1) for w in west]
    boxes = np.column_stack((lon - 0.01, lat - 0.01, lon + 0.01, lat + 0.01))
    return Workload(PlacedPosts(from_rows(rows), lat, lon), Placed(from_rows(asked), boxes), (0.0, 0.0, 4.0, 2.0), 1e5)


def walked(node: Split | Leaf) -> Iterator[Split | Leaf]:
    yield node
    if isinstance(node, Split):
        yield from walked(node.lower)
        yield from walked(node.upper)


@settings(max_examples=30, deadline=None)
@given(workloads, st.integers(1, 5))
def test_every_cell_is_in_one_leaf_and_the_grid_says_what_the_leaf_says(workload: Workload, matchers: int) -> None:
    tree = hybrid_tree(Sampled.of(workload, SMALL), matchers, SMALL)
    covered = Counter(
        (column, row)
        for leaf in tree.leaves()
        for column in range(leaf.region.west, leaf.region.east)
        for row in range(leaf.region.south, leaf.region.north)
    )
    assert covered == Counter((column, row) for column in range(8) for row in range(4))
    for columns, rows in ((8, 4), (16, 12)):
        grid = tree.grid(columns, rows)
        for cell, where in enumerate(grid.where.tolist()):
            owner = tree.leaf_at(cell % columns * 8 // columns, cell // columns * 4 // rows).owner
            assert np.array_equal(grid.maps[-1 - where] if where < 0 else where, owner)


def test_a_tree_goes_only_on_lattices_that_have_its_lines() -> None:
    tree = hybrid_tree(Sampled.of(opposites(), SMALL), 3, SMALL)
    with pytest.raises(ConfigError, match="12 x 4 cells for a tree over 8 x 4: take multiples"):
        tree.grid(12, 4)


def test_regions_where_posts_and_conjunctions_differ_are_found_and_kept_for_text() -> None:
    sampled = Sampled.of(opposites(4_000), SMALL)
    assert 0.3 < similarity(sampled, root(sampled)) < 0.9
    chosen = Settings(columns=8, rows=4, population=10, delta=0.9)
    regions = uniform_regions(sampled, chosen).nodes
    by_text = {node.by_text for node in regions if node.region.west >= 4}
    by_load = {node.by_text for node in regions if node.region.east <= 4}
    assert by_text == {True}
    assert by_load == {False}


def test_similarity_is_the_cosine_of_term_frequencies() -> None:
    boxes = np.tile([0.0, 0.0, 4.0, 2.0], (2, 1))
    posts = PlacedPosts(from_rows([[0, 1], [1, 3]]), np.ones(2), np.ones(2))
    sampled = Sampled.of(Workload(posts, Placed(from_rows([[1], [2, 3]]), boxes), (0.0, 0.0, 4.0, 2.0)), SMALL)
    # Posts (1, 2, 0, 1), conjunctions (0, 1, 1, 1).
    assert similarity(sampled, root(sampled)) == pytest.approx(3 / (6 * 3) ** 0.5)


def test_a_sample_that_stands_for_more_comes_nearer_to_what_all_conjunctions_hear() -> None:
    whole = generated("q3", 5_000, 50_000)
    tenth = whole._replace(placed=whole.placed.slice(0, whole.placed.rows // 10))
    live = [
        len(Sampled.of(workload, Settings()).live.values)
        for workload in (tenth, tenth._replace(stands_for=10.0), whole)
    ]
    # Terms and regions are taken for independent, and terms that the sample has not are not expected: some is missed.
    assert live[1] < live[2]
    assert live[2] - live[1] < 0.6 * (live[2] - live[0])


def test_uniform_regions_end_with_theta_and_with_the_population() -> None:
    sampled = Sampled.of(generated("q3", 3_000, 3_000), Settings())
    never_similar = {"delta": 2.0, "epsilon": -1.0}
    assert len(uniform_regions(sampled, Settings(**never_similar, population=1, theta=20)).nodes) <= 21  # type: ignore[arg-type]
    assert len(uniform_regions(sampled, Settings(**never_similar, population=10**6)).nodes) == 1  # type: ignore[arg-type]


def test_a_node_below_delta_is_divided_by_text_even_if_space_were_cheaper() -> None:
    sampled = Sampled.of(generated("q1", 20_000, 40_000), Settings())
    by_space = divided(sampled, root(sampled), 2)
    assert by_space.halvings
    alike = uniform_regions(sampled, Settings(population=10**6, delta=2.0)).nodes[0]
    by_text = divided(sampled, alike, 2)
    assert not by_text.halvings
    assert by_text.load > by_space.load


@settings(max_examples=30, deadline=None)
@given(workloads, st.integers(2, 4))
def test_parts_by_text_have_every_term_post_and_conjunction_of_the_node(workload: Workload, parts: int) -> None:
    sampled = Sampled.of(workload, SMALL)
    whole = root(sampled)
    nodes = shared_out(sampled, whole, parts).nodes
    if len(nodes) > 1:
        owned = np.array([node.terms for node in nodes])
        assert owned.sum(axis=0).max() == 1
        assert sorted(np.concatenate([node.stored for node in nodes]).tolist()) == whole.stored.tolist()
        for node in nodes:
            assert node.terms is not None
            visitors = [i for i in whole.posts.tolist() if node.terms[sampled.live.row(i)].any()]
            assert node.posts.tolist() == visitors
            assert node.checks == sampled.checks.values[node.terms[sampled.live.values]].sum()
            assert node.terms[sampled.filed[node.stored]].all()
            again = shared_out(sampled, node, 2)
            if len(again.nodes) > 1:
                whole_again = joined(sampled, again.nodes)
                assert whole_again.terms is not None
                assert np.array_equal(whole_again.terms, node.terms)
                assert np.array_equal(whole_again.posts, node.posts)


@settings(max_examples=30, deadline=None)
@given(workloads, st.sampled_from([0, 1]), st.floats(0.1, 0.9))
def test_halves_have_the_posts_inside_and_the_conjunctions_that_overlap(
    workload: Workload, axis: int, share: float
) -> None:
    sampled = Sampled.of(workload, SMALL)
    division = halved(sampled, root(sampled), axis, share)
    assert division is not None
    for node in division.nodes:
        west, south, east, north = node.region
        columns, rows = sampled.cells % 8, sampled.cells // 8
        inside = (west <= columns) & (columns < east) & (south <= rows) & (rows < north)
        first_column, first_row, last_column, last_row = sampled.spans.T
        over = (first_column < east) & (last_column >= west) & (first_row < north) & (last_row >= south)
        assert node.posts.tolist() == np.flatnonzero(inside).tolist()
        assert node.stored.tolist() == np.flatnonzero(over).tolist()
        assert node.checks == sampled.checked[inside].sum()
        assert node.load == pytest.approx(sampled.price.load(len(node.posts), len(node.stored), node.checks))


def leaves(tree: KdTTree) -> int:
    return sum(1 for _ in tree.leaves())


def test_dividing_ends_when_loads_are_balanced_or_there_are_theta_nodes() -> None:
    workload = generated("q3", 5_000, 10_000)
    few, many = (Settings(sigma=1.0001, theta=theta) for theta in (9, 60))
    sampled = Sampled.of(workload, few)
    assert leaves(hybrid_tree(sampled, 8, few)) <= 10
    assert leaves(hybrid_tree(sampled, 8, many)) <= 61
    assert outcome(PARTITIONINGS["hybrid"](workload, 8), workload).imbalance < 1.1


def test_evening_out_makes_a_plan_cheaper_within_theta_nodes() -> None:
    workload = generated("q3", 20_000, 40_000)
    sampled = Sampled.of(workload, Settings())
    start = divided(sampled, root(sampled), 8)
    plan = Plan(start.nodes, start.halvings, merged(start.nodes, 8, sampled.price))
    better = evened(sampled, plan, theta=60)
    assert better.price < plan.price
    assert better.merged.loads.max() < plan.merged.loads.max()
    assert evened(sampled, plan, theta=8) is plan


def test_on_mixed_regions_the_total_load_is_lower_than_by_terms_or_by_space_alone() -> None:
    workload = generated("q3", 20_000, 50_000)
    found = {name: outcome(PARTITIONINGS[name](workload, 8), workload) for name in ("hybrid", "metric", "kd_tree")}
    assert found["hybrid"].total <= 0.8 * min(found["metric"].total, found["kd_tree"].total)


def test_terms_that_a_sample_has_too_little_of_are_shared_out_with_those_that_it_has_not() -> None:
    planned, later = (Sampled.of(generated("q2", 20_000, 50_000, seed=seed), Settings()) for seed in (10, 20))
    shares = []
    for part in shared_out(planned, root(planned), 8).nodes:
        assert part.terms is not None
        known = np.append(part.terms, np.zeros(max(0, later.n_terms - planned.n_terms), np.bool_))
        shares.append((len(part.stored) / len(planned.filed), known[later.filed].mean()))
    before, after = np.array(shares).T
    assert after.sum() > 0.999, "terms that were not in the sample have a part as well"
    assert np.abs(after / before - 1).max() < 0.05


@pytest.mark.parametrize("wrong", [{"sigma": 1.0}, {"theta": 0}, {"population": 0}])
def test_settings_that_no_plan_can_meet_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        Settings(**wrong)  # type: ignore[arg-type]
