"""Benchmark `shed` reports what it promises, and does not let a wrong answer pass."""

from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tidegate.bench.report import Report
from tidegate.bench.shed import plot, run
from tidegate.bench.shed.accuracy import Way
from tidegate.bench.shed.control import simulated
from tidegate.bench.shed.scene import Scene, Sizes
from tidegate.csr import Csr
from tidegate.errors import ConfigError, TidegateError
from tidegate.index.flat import Flat

TINY = Sizes(3_000, posts=8_000, learned=8_000)


@pytest.fixture(scope="module")
def scene() -> Scene:
    return Scene.draw(TINY, seed=1, path=None)


@pytest.fixture(scope="module")
def report() -> Report:
    return run("small", seed=1, sizes=TINY)


def test_every_figure_is_there(report: Report) -> None:
    assert [section.title.split(":")[0] for section in report.sections] == [
        "Figure 26",
        "Figure 26, keys",
        "Figure 26 at a quarter",
        "Levels of subscription shedding",
        "Rates",
        "Figure 27",
    ]
    assert all(section.rows for section in report.sections)
    assert report.params["subscriptions"] == 3_000
    assert len(report.sections[3].rows) == 9


def test_subscription_shedding_keeps_more_than_its_rivals(report: Report) -> None:
    kept = report.summary
    rivals = kept["consensus_accuracy_at_25pct"], kept["random_accuracy_at_25pct"]
    assert 1 > kept["shed_accuracy_at_25pct"] > max(rivals)


def test_less_is_found_the_more_is_shed(report: Report) -> None:
    for section in report.sections[:2]:
        assert set(section.rows[0].values()) == {"all", 0.0, 100.0}
        for name in ("subscription shedding, % found", "consensus shedding, % found"):
            found = [row[name] for row in section.rows]
            assert found == sorted(found, reverse=True)
            assert 0 < found[-1] < 50


def test_keys_alone_ask_for_fewer_visits_and_lead_to_the_same_matches(scene: Scene) -> None:
    every_word, keys = (Way.of("", scene, router) for router in (scene.router_by_every_word(), scene.router))
    assert every_word.matches.sum() == keys.matches.sum() > 0
    assert len(keys.visits) < len(every_word.visits)


def test_a_visit_is_worth_the_subscriptions_with_its_words_that_live_there(scene: Scene) -> None:
    visits = scene.routed(scene.router_by_every_word())
    homes = [scene.placement.homes.row(number).tolist() for number in range(scene.sets.rows)]
    words = [set(scene.sets.terms.row(number).tolist()) for number in range(scene.sets.rows)]
    for visit in np.random.default_rng(1).integers(len(visits), size=5):
        matcher = int(visits.matchers.values[visit])
        held = scene.posts.row(int(visits.post_of[visit])).tolist()
        leading = {word for word in held if scene.owners.row(word).tolist() == [matcher]}
        hot = {word for word in held if len(scene.owners.row(word)) > 1}
        living = [(number, its) for number, its in enumerate(words) if matcher in homes[number]]
        least, most = (
            sum(len(its & leads) * int(scene.asking[number]) for number, its in living)
            for leads in (leading, leading | hot)
        )
        assert least <= visits.subscriptions[visit] <= most


def written(folder: Path, texts: Iterable[str]) -> Path:
    pq.write_table(pa.table({"text": list(texts)}), folder / "posts.parquet")
    return folder / "posts.parquet"


def test_subscriptions_of_hot_words_alone_are_found_once(tmp_path: Path) -> None:
    words = np.random.default_rng(3).zipf(1.3, size=(3_000, 4)) % 50
    path = written(tmp_path, (" ".join(f"w{word}" for word in set(row[: 1 + row[0] % 4])) for row in words.tolist()))
    scene = Scene.draw(Sizes(500, posts=1_000, learned=1_000, matchers=8), seed=1, path=path)
    routers = scene.router, scene.router_by_every_word()
    assert len({scene.matches(scene.routed(router)).sum() for router in routers}) == 1
    # And some would be found twice, were there no rule as to which copy reports.
    homes, visits = scene.placement.homes, scene.routed(scene.router).matchers
    sets = Flat.build(scene.sets).match(scene.posts).sets
    assert any(
        len(np.intersect1d(homes.row(number), visits.row(post))) > 1
        for post in range(sets.rows)
        for number in sets.row(post)
    )


def test_matchers_that_miss_a_match_end_the_run(scene: Scene) -> None:
    homes = scene.placement.homes
    elsewhere = Csr(homes.offsets, (homes.values + 1) % scene.sizes.matchers)
    wrong = replace(scene, placement=replace(scene.placement, homes=elsewhere))
    with pytest.raises(TidegateError, match=r"post \d+ has \d+ matches, and its matchers found \d+"):
        wrong.matches(scene.routed(scene.router))


def test_a_file_is_shared_out_by_thirds_where_it_is_small(tmp_path: Path) -> None:
    path = written(tmp_path, ["storm", "flood"] * 50)
    assert Scene.draw(TINY, 1, path).sizes == Sizes(33, posts=33, learned=34)
    with pytest.raises(ConfigError, match="2 posts to register, to match and to learn from: give at least 3"):
        Scene.draw(TINY, 1, written(tmp_path, ["storm", "flood"]))


def test_posts_that_match_nothing_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path, (f"a{number}" for number in range(30)))
    with pytest.raises(ConfigError, match="no post matches a subscription, so none can be lost"):
        run("small", posts=path, sizes=TINY)


def test_the_simulated_queue_asks_for_levels_that_follow_the_rate() -> None:
    loads = [5.6, 4.8, 4.5, 4.1, 3.7, 3.2, 2.6, 1.8, 1.0]
    seconds = list(simulated(loads))
    assert len(seconds) == 2_000
    for before, after in pairwise(seconds):
        assert abs(after.waiting - max(before.waiting + before.rate - before.served, 0)) <= 1
        assert abs(after.level - before.level) <= 1
    settled = [{second.level for second in seconds[start + 60 : start + 500]} for start in range(0, 2_000, 500)]
    assert settled == [{2, 3}, {6, 7}, {0}, {2, 3}]


def test_the_figures_are_drawn(report: Report, tmp_path: Path) -> None:
    plot(report, tmp_path / "shed.svg")
    assert "Figure 27" in (tmp_path / "shed.svg").read_text()
