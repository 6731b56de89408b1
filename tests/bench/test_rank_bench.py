"""Benchmark `rank` reports what it promises, and notices what is wrong."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from rich.console import Console
from rich.progress import Progress

from tests.rank.central import Match, delivered
from tidegate.bench.rank import plot, run
from tidegate.bench.rank.checks import check_explained, check_links, checked_small_cases
from tidegate.bench.rank.matches import SLICES, Best, Matches, check_best
from tidegate.bench.rank.scene import Scene
from tidegate.bench.rank.sensitivity import fractions
from tidegate.bench.rank.sizes import Sizes
from tidegate.bench.rank.social import Society
from tidegate.bench.registry import run_bench
from tidegate.bench.report import Report, Row
from tidegate.errors import ConfigError, TidegateError
from tidegate.overlay.borders import EveryCount
from tidegate.overlay.setting import Setting
from tidegate.overlay.simulation import Run
from tidegate.workload.follows import friends

TINY = Sizes(
    (10, 20),
    posts=400,
    late=(5, 10),
    late_posts=100,
    publishers=(1, 2),
    users=120,
    social_subscribers=(20, 120),
    social_posts=8_000,
    periods=(1.0, 2.0),
    brokers=(24, 96),
    shuffled_feeds=50,
    ranked_feeds=300,
    ranked_batches=3,
    slice_rows=2_000,
)
RUNS = pytest.mark.slow
RANKINGS = (
    '{"k": 2, "window": 6, "score": "field:likes", "feed": true}',
    '{"k": 3, "window": "10m", "score": "field:likes", "feed": true}',
)


@pytest.fixture(scope="module")
def report(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Report:
    """Of generated graphs, and of a real one besides."""
    graph = tmp_path_factory.mktemp("graph") / "real.parquet"
    pairs = np.random.default_rng(1).zipf(1.4, (20_000, 2)) % 500
    pq.write_table(pa.table({"src": pairs[:, 0], "dst": pairs[:, 1]}), graph)
    return run("small", seed=3, progress=Progress(disable=True), sizes=TINY, graph=graph)


def rows_of(report: Report, title: str) -> list[Row]:
    return next(section.rows for section in report.sections if section.title.startswith(title))


@RUNS
def test_every_figure_is_reported_and_drawn(report: Report, tmp_path: Path) -> None:
    titles = [section.title.split(":")[0] for section in report.sections]
    assert titles == [
        "Figure 3a",
        "Figure 3b",
        "Figure 5",
        "k, W and C",
        "Figure 6",
        "Figure 7",
        "Figure 8",
        "Figure 9",
        "Figure 10, Facebook-like",
        "Synchronised chunks, Facebook-like",
        "Figure 10, Twitter-like",
        "Synchronised chunks, Twitter-like",
        "Figure 10, real, 5 a user",
        "Synchronised chunks, real, 5 a user",
        "Figure 10, real, 30 a user",
        "Synchronised chunks, real, 30 a user",
        "Scalability",
        "Spark, matches ranked a second",
        "Spark, what is shuffled",
        "What has to hold",
        "Checked",
    ]
    assert {
        "bchunk_source_fraction",
        "sync_gain_points_facebook",
        "spark_shuffle_fraction_count",
        "spark_shuffle_fraction_time",
        "ranked_matches_per_s",
    } <= set(report.summary)
    plot(report, tmp_path / "rank.png")
    assert (tmp_path / "rank.png").stat().st_size > 20_000


@RUNS
def test_the_statements_of_the_comparison_hold_at_any_size(report: Report) -> None:
    assert report.summary["bchunk_source_fraction"] == pytest.approx(0.43)
    held = {row["statement"]: row["holds"] for row in rows_of(report, "What has to hold")}
    assert [held[what] for what in list(held)[:4]] == ["yes"] * 4


def test_with_fifty_at_an_edge_what_cores_send_does_not_depend_on_how_many_subscribe() -> None:
    """Figures 6b and 7b: a stable 20 % less if publications are delayed, and constant for any scoring."""
    for drawn, at_fifty in (({"mixed": True}, 0.826), ({"scoring": "Zipfian"}, 0.71), ({"scoring": "uniform"}, 0.955)):
        few, many = (Scene.draw(n, 1_000, 1, each=50, **drawn) for n in (50, 500))
        for scene in (few, many):
            assert fractions(scene, Setting("B-CHUNK"))["all cores"] == pytest.approx(at_fifty, abs=0.03)


@RUNS
def test_the_fraction_is_what_counting_by_hand_says(report: Report) -> None:
    for row in rows_of(report, "k, W and C"):
        assert row["source"] == pytest.approx(row["(2W + k(C/W − 2))/C"])


@RUNS
def test_chunks_shuffle_what_is_promised_and_nothing_is_saved_where_nothing_can_be(report: Report) -> None:
    random, timed, rising = rows_of(report, "Spark, what is shuffled")
    assert random["matches"] == rising["matches"] == 50 * 100 * SLICES * 2
    # Guards, and about two of twenty-one between them; all; and five of fifty.
    assert 0.38 < report.summary["spark_shuffle_fraction_count"] <= 0.46
    assert rising["rows, of"] == 1
    assert report.summary["spark_shuffle_fraction_time"] == 0.1
    for row in (random, timed):
        assert row["bytes, of"] < 1
        assert row["Spark wrote, of"] < 1


@RUNS
def test_feeds_on_spark_are_timed_beside_spark_itself(report: Report) -> None:
    rows = rows_of(report, "Spark, matches ranked a second")
    mixed = [row["matches/s"] for row in rows if row["windows"] == "half of each"]
    assert len(mixed) == 2
    assert report.summary["ranked_matches_per_s"] == min(mixed)
    for row in rows:
        assert row["delivered"] > 0
        assert row["ours, of these"] == pytest.approx(row["matches/s"] / row["window functions"])
        assert row["ours, of this"] == pytest.approx(row["matches/s"] / row["shuffle"])
    (checked,) = rows_of(report, "Checked")
    assert checked["delivered on Spark"] > sum(row["delivered"] for row in rows)


def test_the_best_in_one_place_are_those_of_the_definition() -> None:
    matches = Matches.followed(friends(60, 4, 2), RANKINGS, 6, 150, seed=5)
    assert len(matches) > 600
    rows = [
        [
            Match(
                f"{p}", int(matches.time[p]), None, int(matches.likes[p]), f"{f}", f"{f}", RANKINGS[matches.ranking[f]]
            )
            for p, f in zip(one.post.tolist(), one.feed.tolist(), strict=True)
        ]
        for one in matches.slices
    ]
    delay = 60_000_000
    expected = delivered([rows[i : i + SLICES] for i in range(0, len(rows), SLICES)], delay)
    best = Best.of(pa.Table.from_pylist([one._asdict() for one in expected]))
    found = matches.best(int(matches.time.max()) - delay)
    assert {int(matches.ranking[feed]) for feed in found.feed} == {0, 1}
    assert check_best(found, best, "one place") == len(expected)


def test_windows_that_differ_end_the_run() -> None:
    right = Matches.even(50, RANKINGS[0], 2, 20, 10**9, seed=1).best()
    assert check_best(right, right, "it") == 50 * 7 * 2
    wrong = right._replace(post=np.where(np.arange(len(right.post)) == 3, -1, right.post))
    with pytest.raises(TidegateError, match=r"it: .* number 3 are \(0, 1, 2, -1\), and have to be \(0, 1, 2, \d+\)"):
        check_best(wrong, right, "it")
    with pytest.raises(TidegateError, match=r"number 699 are none, and have to be \(49, 6, 2, \d+\)"):
        check_best(Best(*(column[:-1] for column in right)), right, "it")


def test_files_that_are_of_no_use_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"takes no posts, and some\.parquet was given"):
        run("small", posts=tmp_path / "some.parquet")
    with pytest.raises(ConfigError, match="'text' has no use for who follows whom: leave --graph out"):
        run_bench(Console(), "text", "small", 1, graph=tmp_path / "some.parquet")
    with pytest.raises(ConfigError, match="there is no such file of follows"):
        run_bench(Console(), "rank", "small", 1, graph=tmp_path / "some.parquet")


def test_a_link_on_which_counts_differ_ends_the_run() -> None:
    scene = Scene.draw(3, 200, 1)
    setting = Setting("B-CHUNK")
    traffic = scene.simulated(setting).traffic
    assert check_links(scene.chain, scene.posts, scene.feeds, setting) > 3
    traffic.publications[0, 1] += 1
    with pytest.raises(TidegateError, match=r"B-CHUNK, link \(0, 1\): 86 publications by arrays, 87 by messages"):
        check_links(scene.chain, scene.posts, scene.feeds, setting, Run(traffic, []))


def test_a_delivery_that_no_order_explains_ends_the_run() -> None:
    scene = Scene.draw(1, 20, 1)
    right = scene.simulated(Setting("B-CHUNK"))
    assert check_explained(scene.posts, scene.feeds, right, "it") == 1
    with pytest.raises(TidegateError, match="it: no legal order explains the 1 posts delivered to feed 0"):
        check_explained(scene.posts, scene.feeds, Run(right.traffic, [{7: 1.0}]), "it")


def test_small_cases_are_checked_in_every_setting() -> None:
    links, feeds = checked_small_cases(1, 1)
    assert feeds == 4 * 3 * 3 * 2 * 2
    assert links > feeds


def test_a_feed_has_the_posts_of_those_that_its_user_follows() -> None:
    follows = friends(60, 4, 1)
    society = Society.draw("some", follows, 500, 1)
    authors = follows.authors(500, 1)
    users = np.random.default_rng([1, 4]).permutation(60).tolist()
    for user, feed in zip(users, society.feeds, strict=True):
        followed = set(follows.followed.row(user).tolist())
        assert feed.matched.tolist() == [post for post, author in enumerate(authors.tolist()) if author in followed]
        np.testing.assert_array_equal(feed.scores, follows.popularity[authors])


def test_synchronised_chunks_are_no_longer_in_the_mean_than_by_count() -> None:
    society = Society.draw("some", friends(200, 4, 1), 20_000, 1)
    placed = society.on(24, 200)
    by_count = placed.once(EveryCount(100))
    for rule in (society.synchronised(1.0), society.by_the_clock):
        assert placed.once(rule).chunks >= by_count.chunks
    # And not much shorter, which would be unfair to them.
    assert placed.once(society.synchronised(1.0)).chunks < 1.1 * by_count.chunks


def test_mixed_subscribers_join_one_a_second() -> None:
    scene = Scene.draw(9, 100, 1, mixed=True)
    assert [int(feed.matched[0]) for feed in scene.feeds] == [0, 1, 1, 1, 1, 2, 2, 2, 2]
