"""Benchmark `spatial` reports what it promises, and does not let a wrong answer pass."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.progress import Progress

from tidegate.bench.report import Report, Row
from tidegate.bench.spatial import plot, run
from tidegate.bench.spatial.claims import report_claims
from tidegate.bench.spatial.cluster import Clock, Cluster, single_answers
from tidegate.bench.spatial.contest import BEST, HYBRID, SPACE, TEXT, Case, Trial, Trials
from tidegate.bench.spatial.memory import report_memory
from tidegate.bench.spatial.one_core import core_runs
from tidegate.bench.spatial.rivals import FLAT_GRID, GI2, INDEXES
from tidegate.bench.spatial.sizes import KINDS, Sizes
from tidegate.bench.spatial.stream import Stream
from tidegate.bench.spatial.world import Generated, Stored
from tidegate.csr import Csr
from tidegate.errors import ConfigError, TidegateError
from tidegate.index.contract import Matches
from tidegate.index.flat_grid import FlatGrid
from tidegate.index.grid_inverted import GridInverted
from tidegate.index.placed import EAST, NORTH, SOUTH, WEST, PlacedPosts
from tidegate.route.places.load import Costs
from tidegate.route.places.partitionings import PARTITIONINGS
from tidegate.route.places.sampled import Workload

TINY = Sizes(
    countries=("us",),
    queries=2_000,
    tuples=2_400,
    core_rounds=1,
    held=(500,),
    shared_queries=2_000,
    shared_tuples=24_000,
    learned_posts=1_000,
    learned_queries=1_000,
    rounds=1,
    matchers=4,
    scaled=(2,),
)
SUMMARY = {
    "tuples_per_s_core",
    "flatgrid_over_gi2_q1",
    "flatgrid_over_gi2_q2",
    "flatgrid_over_gi2_q3",
    "hybrid_over_best_baseline_q3",
}


@pytest.fixture(scope="module")
def world() -> Generated:
    return Generated.of("us", seed=1)


@pytest.fixture(scope="module")
def stream(world: Generated) -> Stream:
    return Stream.draw(world, "q1", queries=2_000, tuples=6_000, batch=600, seed=1)


@pytest.fixture(scope="module")
def report() -> Report:
    return run("small", seed=3, progress=Progress(disable=True), sizes=TINY)


@pytest.fixture(scope="module")
def city(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Posts of one city, two of which have no place or no word."""
    generator = np.random.default_rng(1)
    words = [f"{first}{second}" for first in "bcdfg" for second in ("arlo", "endra", "imsi", "olka")]
    n = 600
    table = pa.table(
        {
            "id": np.arange(n),
            "lat": [None, *generator.normal(42.3, 0.02, n - 1)],
            "lon": generator.normal(-71.1, 0.02, n),
            "text": [
                *(" ".join(words[int(i)] for i in generator.zipf(1.5, 6) % len(words)) for _ in range(n - 1)),
                "",
            ],
        }
    )
    path = tmp_path_factory.mktemp("city") / "city.parquet"
    pq.write_table(table, path)
    return path


def section(report: Report, title: str) -> list[Row]:
    (found,) = [section.rows for section in report.sections if section.title.startswith(title)]
    return found


@pytest.mark.parametrize(
    ("title", "rows"),
    [
        ("One core, us:", 2 * len(KINDS)),
        ("Memory, us:", 1),
        *[(f"Figures 6 to 10, us, {kind}, {index}:", 7) for kind in KINDS for index in (GI2, FLAT_GRID)],
        *[(f"Figure 11, us, {kind}, {GI2}:", 3 * 2) for kind in KINDS],
        ("What must hold", 5 + 2 * 6),
    ],
)
def test_every_figure_is_reported(report: Report, title: str, rows: int) -> None:
    found = section(report, title)
    assert len(found) == rows
    assert all(row.keys() == found[0].keys() for row in found)


def test_the_summary_has_its_keys_and_the_report_is_json(report: Report, tmp_path: Path) -> None:
    assert report.summary.keys() == SUMMARY
    assert all(value > 0 for value in report.summary.values())
    report.write_json(tmp_path / "spatial.json")
    assert json.loads((tmp_path / "spatial.json").read_text())["summary"] == report.summary


def test_the_figures_are_drawn(report: Report, tmp_path: Path) -> None:
    plot(report, tmp_path / "spatial.png")
    assert (tmp_path / "spatial.png").stat().st_size > 50_000


def test_text_copies_no_conjunction_and_space_sends_no_post_twice(report: Report) -> None:
    rows = {row["partitioning"]: row for row in section(report, f"Figures 6 to 10, us, q1, {GI2}:")}
    assert all(rows[name]["copies"] == 1 for name in TEXT)
    assert all(rows[name]["copies"] > 1 >= rows[name]["visits"] for name in SPACE)


def test_there_are_five_posts_to_an_update_and_queries_that_come_are_as_many_as_those_that_go(stream: Stream) -> None:
    inserted = stream.queries.queries - stream.standing_queries
    deleted = stream.tuples - stream.posts - inserted
    assert stream.posts == 10 * inserted == 5_000
    assert deleted == pytest.approx(inserted, rel=0.2)
    assert stream.standing_queries == pytest.approx(2_000, rel=0.1)


def test_a_query_goes_whole_after_it_has_come_and_only_once(stream: Stream) -> None:
    stands = set(range(stream.standing))
    for number, batch in enumerate(stream.batches, 1):
        removed = set(batch.removed.tolist())
        assert removed <= stands
        gone = np.unique(stream.queries.query_of[batch.removed])
        assert len(removed) == np.isin(stream.queries.query_of, gone).sum() == len(batch.removed)
        stands = stands - removed | set(batch.added.tolist())
        assert sorted(stands) == stream.living(number).tolist()


class Forgetful(FlatGrid):
    """Loses a match in every batch that has one."""

    def match(self, posts: PlacedPosts) -> Matches:
        return without_last(super().match(posts))


class ForgetfulToo(GridInverted):
    """Loses the same."""

    def match(self, posts: PlacedPosts) -> Matches:
        return without_last(super().match(posts))


def without_last(found: Matches) -> Matches:
    last = np.searchsorted(found.sets.offsets, found.sets.offsets[-1]) - 1
    rows = [np.sort(found.sets.row(i))[: -1 if i == last else None] for i in range(found.sets.rows)]
    offsets = np.append(0, np.cumsum([len(row) for row in rows]))
    return found._replace(sets=Csr(offsets, np.concatenate(rows)))


def test_an_index_that_loses_a_match_ends_the_run(
    world: Generated, stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(INDEXES, FLAT_GRID, lambda bounds: Forgetful())
    with pytest.raises(TidegateError, match=r"post \d+ and conjunction \d+: .* do not agree"):
        core_runs(stream, world)


def test_indexes_that_are_wrong_alike_are_found_out_by_brute_force(
    world: Generated, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(INDEXES, FLAT_GRID, lambda bounds: Forgetful())
    monkeypatch.setitem(INDEXES, GI2, ForgetfulToo)
    # The whole last batch is seen by brute force: ten posts are few enough that its last match is among the first five.
    for seed in range(20):
        stream = Stream.draw(world, "q1", queries=5_000, tuples=12, batch=12, seed=seed)
        index = FlatGrid()
        stream.fill(index)
        hit = np.flatnonzero(np.diff(index.match(stream.batches[0].posts).sets.offsets))
        if len(hit) and hit.max() < 5:
            with pytest.raises(TidegateError, match="match other queries by brute force"):
                core_runs(stream, world)
            return
    pytest.fail("no seed gives a batch whose last match is among its first posts")


def test_memory_is_not_measured_of_an_index_that_is_wrong(world: Generated, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(INDEXES, FLAT_GRID, lambda bounds: Nothing())
    report = Report("spatial", "small", {})
    with pytest.raises(TidegateError, match="do not find the same matches"):
        list(report_memory(report, world, (200_000,), seed=2))


class Nothing(FlatGrid):
    """Finds nothing."""

    def match(self, posts: PlacedPosts) -> Matches:
        return Matches(Csr(np.zeros(posts.terms.rows + 1, np.int64), np.empty(0, np.int32)), 0, 0)


@pytest.fixture(scope="module")
def clusters(world: Generated, stream: Stream) -> dict[str, Cluster]:
    workload = Workload(world.posts(1_000, 2), world.searches(1_000, "q1", 2).placed, world.bounds)
    return {name: Cluster.of(PARTITIONINGS[name](workload, 4), stream, routers=4) for name in (*BEST, HYBRID)}


@pytest.mark.parametrize("name", [*BEST, HYBRID])
def test_matchers_together_find_what_one_index_finds(clusters: dict[str, Cluster], stream: Stream, name: str) -> None:
    expected = single_answers(stream, FlatGrid())
    clock = clusters[name].clocked(GI2, expected)
    assert len(expected) > 0
    assert (clock.matching > 0).all()
    assert (clock.matcher_bytes > 0).all()


def test_a_matcher_that_loses_a_match_ends_the_run(
    clusters: dict[str, Cluster], stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = single_answers(stream, FlatGrid())
    monkeypatch.setitem(INDEXES, FLAT_GRID, lambda bounds: Forgetful())
    with pytest.raises(TidegateError, match=r"4 matchers with flat grid lost \d+ and invented 0"):
        clusters["metric"].clocked(FLAT_GRID, expected)


def test_a_cluster_is_as_fast_as_its_slowest_matcher_or_its_routers(clusters: dict[str, Cluster]) -> None:
    cluster = clusters["kd_tree"]
    clock = Clock(4.0, np.array([1.0, 2.0, 0.5, 0.5]), 0.0, np.ones(4))
    assert cluster.throughput(clock) == cluster.stream.tuples / 2.0
    assert cluster.throughput(clock._replace(routing=12.0)) == cluster.stream.tuples / 3.0


def test_latency_is_filling_routing_the_slowest_matcher_visited_and_merging(clusters: dict[str, Cluster]) -> None:
    cluster = clusters["metric"]
    even = Clock(0.0, np.full(4, 1.0), 0.0, np.ones(4))
    batch = 1_000 / cluster.stream.tuples
    visiting = np.mean(np.diff(cluster.visits.offsets) > 0)
    assert cluster.latency(even) == pytest.approx(batch * (1.0 + visiting))
    assert cluster.latency(even._replace(routing=0.5, merging=0.25)) == pytest.approx(batch * (1.75 + visiting))
    first = Clock(0.0, np.array([1.0, 0.0, 0.0, 0.0]), 0.0, np.ones(4))
    at_first = np.count_nonzero(cluster.visits.values == 0) / cluster.stream.posts
    assert cluster.latency(first) == pytest.approx(batch * (1.0 + at_first))


def test_loads_count_what_every_matcher_gets(clusters: dict[str, Cluster], stream: Stream) -> None:
    cluster = clusters["kd_tree"]
    gets = [
        (sum(len(parcel.posts.lat) for parcel in part.parcels), part.standing.rows, len(part.rows) - part.standing.rows)
        for part in cluster.parts
    ]
    removed = [sum(len(parcel.removed) for parcel in part.parcels) for part in cluster.parts]
    expected = [
        posts * stored + 10 * posts + 100 * added + 1000 * gone
        for (posts, stored, added), gone in zip(gets, removed, strict=True)
    ]
    assert cluster.loads(Costs(1, 10, 100, 1000)).tolist() == expected


def test_the_better_time_of_each_clock_counts() -> None:
    first = Clock(1.0, np.array([1.0, 4.0]), 3.0, np.array([5.0, 6.0]))
    best = first.best(Clock(2.0, np.array([2.0, 3.0]), 1.0, np.array([5.0, 6.0])))
    assert (best.routing, best.matching.tolist(), best.merging) == (1.0, [1.0, 3.0], 1.0)


def made_up(**throughputs: dict[str, float]) -> Trials:
    """By kind of queries: the throughputs that are not 100."""
    trials = Trials()
    for kind in KINDS:
        for name in PARTITIONINGS:
            trials[Case("us", kind, GI2, 8, name)] = Trial(throughputs.get(kind, {}).get(name, 100.0), {})
    return trials


def held(trials: Trials, core: float = 2e5, over: float = 3.0) -> dict[str, str]:
    report = Report("spatial", "small", {}, summary={"tuples_per_s_core": core})
    report.summary |= {f"flatgrid_over_gi2_{kind}": over for kind in KINDS}
    report_claims(report, trials, ["us"], replace(TINY, matchers=8, indexes=(GI2,)))
    return {row["statement"]: row["holds"] for row in report.sections[-1].rows}


def test_what_holds_is_said_to_hold() -> None:
    trials = made_up(q1={"r_tree": 120, HYBRID: 117}, q2={"metric": 120, HYBRID: 130}, q3={HYBRID: 131})
    assert set(held(trials).values()) == {"yes"}


@pytest.mark.parametrize(
    ("trials", "statement"),
    [
        (made_up(q1={"frequency": 101}), "best by space over best by text, q1"),
        (made_up(q2={"grid": 101}), "best by text over best by space, q2"),
        (made_up(q1={"grid": 104}), "hybrid over the first, q1"),
        (made_up(q3={"hypergraph": 140, HYBRID: 131}), "hybrid over the first, q3"),
        (made_up(q3={HYBRID: 135, "kd_tree": 105}), "hybrid over the better of metric and kd_tree, q3"),
    ],
)
def test_what_does_not_hold_is_shown(trials: Trials, statement: str) -> None:
    assert held(trials)[statement] == "no"


def test_one_core_has_bounds_too() -> None:
    statements = held(made_up(), core=9e4, over=1.5)
    assert statements["tuples/s on q1"] == "no"
    assert statements["throughput over GI² on q1"] == "no"
    assert statements["throughput over GI² on q2"] == "yes"


def test_the_summary_is_over_the_better_baseline() -> None:
    report = Report("spatial", "small", {}, summary={"tuples_per_s_core": 1.0})
    report.summary |= {f"flatgrid_over_gi2_{kind}": 1.0 for kind in KINDS}
    trials = made_up(q3={"metric": 50, "kd_tree": 80, "r_tree": 200, HYBRID: 120})
    report_claims(report, trials, ["us"], replace(TINY, matchers=8, indexes=(GI2,)))
    assert report.summary["hybrid_over_best_baseline_q3"] == 1.5


def test_real_posts_keep_their_words_and_places(city: Path) -> None:
    posts = Stored.read(city, seed=1).posts(100, seed=2)
    assert posts.terms.rows == len(posts.lat) == 100
    assert np.isfinite(posts.lat).all()
    assert (np.diff(posts.terms.offsets) > 0).all()


def test_what_is_learned_from_is_not_measured_on(city: Path) -> None:
    world = Stored.read(city, seed=1)
    learned, measured = (set(world.posts(1_000, seed).lat.tolist()) for seed in (2, 3))
    assert len(learned) == len(measured) == 299  # two posts of 600 are left out
    assert not learned & measured


@pytest.mark.parametrize(("kind", "longest"), [("q1", 50), ("q2", 100)])
def test_sides_are_scaled_to_the_extent_of_real_posts(city: Path, kind: str, longest: float) -> None:
    world = Stored.read(city, seed=1)
    west, south, east, north = world.bounds
    boxes = world.searches(5_000, kind, seed=2).placed.boxes
    inside = (boxes[:, [WEST, SOUTH]] > (west, south)).all(axis=1) & (boxes[:, [EAST, NORTH]] < (east, north)).all(
        axis=1
    )
    height = (boxes[inside, NORTH] - boxes[inside, SOUTH]) / (north - south)
    country = longest / 111.195 / np.sqrt((49.4 - 24.5) * (124.8 - 66.9) * np.cos(np.radians((49.4 + 24.5) / 2)))
    shape = np.sqrt((east - west) * np.cos(np.radians((south + north) / 2)) / (north - south))
    assert height.max() == pytest.approx(country * shape, rel=0.05)


def test_keywords_are_distinct_and_q2_has_a_rare_one_in_every_conjunction(city: Path) -> None:
    world = replace(Stored.read(city, seed=1), words=300)  # of which one in a hundred is frequent: the first three
    found = world.searches(2_000, "q2", seed=2)
    sets = found.placed.sets
    rows = [sets.row(i) for i in range(sets.rows)]
    assert all(len(set(row.tolist())) == len(row) and row.max() >= 3 for row in rows)
    assert found.query_of[-1] == found.queries - 1 == 1_999
    assert len(rows) > 2_000, "some are joined by OR"


def test_real_posts_are_measured_like_generated_ones(city: Path) -> None:
    sizes = replace(TINY, held=(), scaled=(), indexes=(GI2,), tuples=1_200, shared_tuples=2_400)
    report = run("small", seed=2, objects=city, progress=Progress(disable=True), sizes=sizes)
    assert section(report, f"Figures 6 to 10, city, q3, {GI2}:")
    assert report.summary.keys() == SUMMARY


def test_a_file_without_places_is_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table({"text": ["storm"]}), tmp_path / "posts.parquet")
    with pytest.raises(ConfigError, match=r"posts\.parquet, which needs text, lat and lon"):
        Stored.read(tmp_path / "posts.parquet", seed=1)


def test_a_file_with_one_post_is_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table({"text": ["storm"], "lat": [1.0], "lon": [2.0]}), tmp_path / "posts.parquet")
    with pytest.raises(ConfigError, match="1 posts with words and a place: give at least 2"):
        Stored.read(tmp_path / "posts.parquet", seed=1)
