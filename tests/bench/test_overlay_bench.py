"""Benchmark `overlay` reports what it promises."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console
from rich.progress import Progress

from tests.bench.test_overlay_statements import found, verdicts
from tidegate.bench.overlay import plot, run
from tidegate.bench.overlay.convergence import wrong_links
from tidegate.bench.overlay.scene import classes, graphs_of, settled_forest
from tidegate.bench.overlay.sizes import SIZES, Sizes
from tidegate.bench.overlay.spread import KNOWN, known_degrees, ring_degrees
from tidegate.bench.overlay.upkeep import unwanted_copies
from tidegate.bench.registry import run_bench
from tidegate.bench.report import Report, Row
from tidegate.errors import ConfigError
from tidegate.overlay.swarm.completeness import links_by_topic
from tidegate.overlay.swarm.swarm import Swarm
from tidegate.workload.follows import friends

TINY = Sizes(
    peers=100,
    facebook_follows=6,
    twitter_follows=8,
    cycles=40,
    slow_cycles=40,
    fan_outs=(2, 3, 4),
    rounds=2,
    kept=2,
    means=(4, 8),
    churned_peers=80,
    hours=(0.0, 0.25),
    adaptive=(0.05, 0.15),
    gusty_peers=60,
    gusts=4,
    settling=12,
    most_peers=150,
)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """With files of everything."""
    folder = tmp_path_factory.mktemp("real")
    generator = np.random.default_rng(1)
    pairs = generator.zipf(1.4, (5_000, 2)) % 150
    pq.write_table(pa.table({"src": pairs[:, 0], "dst": pairs[:, 1]}), folder / "graph.parquet")
    begin = generator.integers(0, 900, 120)
    sessions = {"node": np.arange(120) % 50, "start_s": begin, "end_s": begin + generator.integers(60, 900, 120)}
    pq.write_table(pa.table(sessions), folder / "churn.parquet")
    trips = {"src": [0, 0, 1], "dst": [0, 1, 0], "rtt_ms": [None, 80.0, 100.0]}
    pq.write_table(pa.table(trips), folder / "latency.parquet")
    return run(
        "small",
        seed=2,
        progress=Progress(disable=True),
        sizes=TINY,
        graph=folder / "graph.parquet",
        churn=folder / "churn.parquet",
        latency=folder / "latency.parquet",
    )


def rows_of(report: Report, title: str) -> list[Row]:
    return next(section.rows for section in report.sections if section.title.startswith(title))


def test_every_figure_is_reported_and_drawn(report: Report, tmp_path: Path) -> None:
    titles = [section.title.split(":")[0] for section in report.sections]
    assert titles == [
        "Figure 3.4",
        "As many peers as one process is to run",
        "Figure 3.5",
        "Figure 3.5, cycles until 99 % of rings are complete",
        "Figure 3.5, by how much peers follow",
        "Figure 3.6",
        "Figure 3.7",
        "Figures 3.8a and 3.8b",
        "Figure 3.8c",
        "Figure 3.8c, by size",
        "Figure 3.8d",
        "Figure 3.9",
        "Figure 3.10",
        "Figure 3.10, by how much peers follow",
        "Figure 3.11",
        "Figure 3.11, in which weather",
        "Adaptive fan-out",
        "Table 3.1",
        "What has to hold",
    ]
    assert set(report.summary) == {
        "cycles_to_99pct",
        "hit_ratio_static",
        "miss_ratio_churn",
        "hops_ratio_scribe",
        "node_cycles_per_s",
    }
    plot(report, tmp_path / "overlay.png")
    assert (tmp_path / "overlay.png").stat().st_size > 20_000


def test_the_part_of_a_real_graph_that_is_run_is_shown_beside_the_whole(report: Report) -> None:
    rows = rows_of(report, "Figure 3.4")
    assert {row["graph"] for row in rows} == {"Facebook-like", "Twitter-like", "graph", "graph, all of it"}
    # A user is in the whole with all that it follows.
    part, whole = ([row for row in rows if row["graph"] == name] for name in ("graph", "graph, all of it"))
    assert len(whole) >= len(part) > 3


def test_scribe_is_shown_with_a_rendezvous_that_is_known_which_takes_fewer_hops(report: Report) -> None:
    rows = rows_of(report, "Figures 3.8a")
    routed, known = ({row["mean hops"] for row in rows if row["shortcuts"] == way} for way in ("Scribe", KNOWN))
    assert 1 < min(known) == max(known) < min(routed)


def test_most_peers_are_run_by_themselves_where_that_is_asked_for(report: Report) -> None:
    (row,) = rows_of(report, "As many peers")
    assert row["peers"] == 150
    assert 0 < row["cycles to 99 %"] < 60
    assert row["rings complete, share"] >= 0.99
    assert row["node cycles/s"] > 0 < row["GB, most so far"]
    assert {scale: sizes.most_peers for scale, sizes in SIZES.items()} == {"small": 0, "paper": 0, "max": 100_000}


def test_complete_rings_reach_everybody_with_at_most_f_copies(report: Report) -> None:
    assert report.summary["hit_ratio_static"] == 1.0
    for row in rows_of(report, "Figures 3.8a"):
        assert row["hit ratio"] == 1.0
        assert 1 <= row["duplication"] <= row["f"]


def test_a_trace_is_run_as_it_tells_it_and_spread(report: Report) -> None:
    assert {row["times"] for row in rows_of(report, "Figure 3.11: who")} == {"as asked every half hour", "spread"}
    systems = [row["way"].rpartition(", ")[0] for row in rows_of(report, "Figure 3.11, in")]
    assert systems == 2 * ["PolderCast", "PolderCast, no haste", "Scribe, at once", "Scribe"]


def test_what_letters_cost_under_churn_is_told(report: Report) -> None:
    letters = [row["letters a peer"] for row in rows_of(report, "Figure 3.11, in")]
    for haste, none, *scribe in (letters[:4], letters[4:]):
        # Without haste a peer writes three letters in a minute, and answers as many.
        assert 3 < none < 6.5
        assert none < haste
        assert min(scribe) > haste


def test_fan_outs_that_adapt_are_beside_fixed_ones_and_say_what_peers_have_found_out(report: Report) -> None:
    for pace in ("haste", "no haste"):
        rows = [row for row in rows_of(report, "Adaptive") if row["pace"].startswith(f"{pace},")]
        fixed, adaptive = rows[:4], rows[5:]
        assert [row["rule"] for row in rows[:5]] == ["f = 2", "f = 3", "f = 4", "f = 5", "publishers 8, others 2"]
        assert {row["pace"] for row in adaptive} == {f"{pace}, adaptive"}
        assert all(0 <= row["told by peers"] <= 1 and 0 <= row["given up"] <= 1 for row in adaptive)
        # Among so few peers most know who has an event, and more copies than three go nowhere.
        assert fixed[0]["duplication"] == min(row["duplication"] for row in fixed)
    gusts = [row["rule"] for row in rows_of(report, "Adaptive") if row["pace"].startswith("gusts,")]
    assert gusts[4:] == ["publishers 8, others 2", "adaptive, target 0.01", "adaptive, target 0.0025"]


def test_unwanted_shares_fall_as_more_is_asked_for(report: Report) -> None:
    shares = [row["Scribe"] for row in rows_of(report, "Figure 3.10:")]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] > 0.5


def test_upkeep_that_is_about_no_topic_counts_alike_for_both(report: Report) -> None:
    rows = rows_of(report, "Figure 3.10:")
    # Cyclon's letters are some of everybody's, and never most; PolderCast sends no event to one that does not follow.
    assert rows[0]["PolderCast"] > 0.9
    assert rows[0]["PolderCast, without Cyclon"] == 0.0
    for row in rows:
        assert row["Scribe, trees alone"] <= row["Scribe"]
        assert row["PolderCast"] <= row["Scribe"]


def test_a_run_says_of_all_that_has_to_hold_whether_it_does(report: Report) -> None:
    rows = rows_of(report, "What has to hold")
    printed = "without Vicinity 3 to 6 times as many, as printed"
    assert {row["statement"] for row in rows} == {printed, *verdicts(found())}
    told = {row["statement"]: row["holds"] for row in rows}
    assert told["hit ratio 1 without churn, on all graphs"] == "yes"
    # Among so few peers trees have few relays.
    assert told["the same without what keeps Pastry, which the thesis counts"] == "no"


def test_wrong_links_are_those_that_completeness_counts() -> None:
    swarm = Swarm(friends(80, 6, 4).followed, seed=4)
    swarm.warm()
    for _ in range(4):
        swarm.run(2)
        _, missing = links_by_topic(swarm)
        assert np.bincount(swarm.topics.values, wrong_links(swarm)).tolist() == missing.tolist()


def test_a_neighbour_in_several_rings_is_one() -> None:
    swarm = Swarm(friends(80, 6, 4).followed, seed=4)
    swarm.warm()
    swarm.run(10)
    half = swarm.settings.rings.view // 2
    for peer, degree in enumerate(ring_degrees(swarm).tolist()):
        rings = swarm.nodes.rings[swarm.topics.offsets[peer] : swarm.topics.offsets[peer + 1]]
        assert degree == len({int(entry) & 0xFFFFFFFF for entry in rings[:, (0, half)].ravel() if entry >= 0})


def test_classes_of_sizes_double() -> None:
    found = {name: inside.tolist() for name, inside in classes(np.array([1, 2, 3, 9, 0]))}
    assert found == {"1": [0], "2 to 3": [1, 2], "8 to 15": [3]}


def test_a_copy_for_one_that_does_not_follow_is_unwanted() -> None:
    swarm = Swarm(friends(80, 6, 4).followed, seed=4)
    swarm.warm()
    swarm.run(10)
    unwanted, copies = unwanted_copies(swarm, 4)
    assert unwanted.sum() == 0
    assert copies.sum() > 2 * len(swarm.topics.values)
    # A stranger in the place of a ring neighbour.
    peer = 0
    topic, pair = int(swarm.topics.row(peer)[0]), int(swarm.topics.offsets[peer])
    stranger = next(one for one in range(1, 80) if topic not in swarm.topics.row(one))
    swarm.nodes.rings[pair, 0] = swarm.nodes.rings[pair, 0] & ~0xFFFFFFFF | stranger
    unwanted, _ = unwanted_copies(swarm, 4)
    assert np.flatnonzero(unwanted).tolist() == [stranger]


def test_whom_a_peer_of_scribe_knows_twice_is_one() -> None:
    forest = settled_forest(friends(80, 6, 4).followed, 4)
    for peer, degree in enumerate(known_degrees(forest).tolist()):
        known = {*forest.nodes.table[peer].ravel().tolist(), *forest.nodes.leaves[peer].tolist()} - {-1}
        assert degree == len(known)


def test_of_a_real_graph_every_follow_between_those_that_are_taken_is_kept(tmp_path: Path) -> None:
    one, other = np.divmod(np.arange(60 * 60), 60)
    pq.write_table(pa.table({"src": one, "dst": other}), tmp_path / "all.parquet")
    sizes = replace(TINY, peers=40, facebook_follows=4, twitter_follows=4)
    real = graphs_of(sizes, 1, tmp_path / "all.parquet")[2]
    assert (real.name, real.follows.users, real.follows.pairs) == ("all", 40, 40 * 39)
    assert (real.whole.users, real.whole.pairs) == (60, 60 * 59) if real.whole else False


def test_of_a_real_graph_with_fewer_users_than_peers_all_are_taken_and_follows_may_go_both_ways(tmp_path: Path) -> None:
    pq.write_table(pa.table({"src": [0, 1, 2], "dst": [1, 2, 3]}), tmp_path / "way.parquet")
    one, both = (graphs_of(TINY, 1, tmp_path / "way.parquet", mutual=mutual)[2] for mutual in (False, True))
    assert (one.follows.users, one.follows.pairs, one.whole) == (4, 3, None)
    assert (both.follows.users, both.follows.pairs, both.whole) == (4, 6, None)


def test_that_follows_go_both_ways_is_said_of_a_graph_in_a_file_alone(tmp_path: Path) -> None:
    pq.write_table(pa.table({"src": [0], "dst": [1]}), tmp_path / "graph.parquet")
    with pytest.raises(ConfigError, match="leave it out or give one to --graph"):
        run_bench(Console(), "overlay", "small", 1, mutual=True)
    with pytest.raises(ConfigError, match="'rank' reads no friendships: leave --mutual out"):
        run_bench(Console(), "rank", "small", 1, graph=tmp_path / "graph.parquet", mutual=True)


def test_a_trace_that_ends_before_the_run_does_is_refused_before_anything_runs(tmp_path: Path) -> None:
    short = tmp_path / "short.parquet"
    pq.write_table(pa.table({"node": [0, 1], "start_s": [100, 100], "end_s": [400, 960]}), short)
    with pytest.raises(
        ConfigError, match=r"short\.parquet tells of 0\.24 hours, and 0\.25 are run: give a smaller --scale"
    ):
        run("small", sizes=TINY, churn=short)
    with pytest.raises(ConfigError, match=r"and 2\.5 are run"):
        run("small", sizes=replace(TINY, hours=(0.0, 0.2), adaptive=(2.0, 2.5)), churn=short)


def test_files_that_are_none_are_refused_before_anything_runs(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1]}), tmp_path / "other.parquet")
    other = tmp_path / "other.parquet"
    with pytest.raises(ConfigError, match="src"):
        run_bench(Console(), "overlay", "small", 1, graph=other)
    with pytest.raises(ConfigError, match="start_s"):
        run_bench(Console(), "overlay", "small", 1, churn=other)
    with pytest.raises(ConfigError, match="rtt_ms"):
        run_bench(Console(), "overlay", "small", 1, latency=other)
    with pytest.raises(ConfigError, match="leave --churn"):
        run_bench(Console(), "text", "small", 1, churn=tmp_path / "other.parquet")
