"""Benchmark `rank` reports what it promises, and notices what is wrong."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console
from rich.progress import Progress

from tidegate.bench.rank import plot, run
from tidegate.bench.rank.checks import check_explained, check_links, checked_small_cases
from tidegate.bench.rank.scene import Scene
from tidegate.bench.rank.sizes import Sizes
from tidegate.bench.rank.social import Society
from tidegate.bench.registry import run_bench
from tidegate.bench.report import Report
from tidegate.errors import ConfigError, TidegateError
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
)


@pytest.fixture(scope="module")
def report() -> Report:
    return run("small", seed=3, progress=Progress(disable=True), sizes=TINY)


def rows_of(report: Report, title: str) -> list[dict[str, object]]:
    return next(section.rows for section in report.sections if section.title.startswith(title))


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
        "Scalability",
        "What has to hold",
        "Checked",
    ]
    assert {"bchunk_source_fraction", "sync_gain_points_facebook"} <= set(report.summary)
    plot(report, tmp_path / "rank.png")
    assert (tmp_path / "rank.png").stat().st_size > 20_000


def test_the_statements_of_the_comparison_hold_at_any_size(report: Report) -> None:
    assert report.summary["bchunk_source_fraction"] == pytest.approx(0.43)
    held = {row["statement"]: row["holds"] for row in rows_of(report, "What has to hold")}
    assert [held[what] for what in list(held)[:4]] == ["yes"] * 4


def test_the_fraction_is_what_counting_by_hand_says(report: Report) -> None:
    for row in rows_of(report, "k, W and C"):
        assert row["source"] == pytest.approx(row["(2W + k(C/W − 2))/C"])


def test_a_real_graph_is_reported_besides(tmp_path: Path) -> None:
    pairs = np.random.default_rng(1).zipf(1.4, (20_000, 2)) % 500
    pq.write_table(pa.table({"src": pairs[:, 0], "dst": pairs[:, 1]}), tmp_path / "real.parquet")
    sizes = replace(TINY, social_posts=2_000)
    report = run("small", progress=Progress(disable=True), sizes=sizes, graph=tmp_path / "real.parquet")
    assert [section.title.split(":")[0] for section in report.sections if "real" in section.title] == [
        "Figure 10, real, 5 a user",
        "Synchronised chunks, real, 5 a user",
        "Figure 10, real, 30 a user",
        "Synchronised chunks, real, 30 a user",
    ]


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
    assert feeds == 4 * 3 * 2 * 2 * 2
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


def test_mixed_subscribers_join_one_a_second() -> None:
    scene = Scene.draw(9, 100, 1, mixed=True)
    assert [int(feed.matched[0]) for feed in scene.feeds] == [0, 1, 1, 1, 1, 2, 2, 2, 2]
