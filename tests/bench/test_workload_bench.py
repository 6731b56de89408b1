"""The benchmark of workloads shows every figure of chapter 5, and judges only what its size can show."""

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tidegate.bench import workload
from tidegate.bench.report import Report
from tidegate.bench.workload.claims import of_twitter
from tidegate.bench.workload.sizes import Sizes
from tidegate.errors import ConfigError, TidegateError
from tidegate.workload.account import Account
from tidegate.workload.analysis import analysed
from tidegate.workload.social import SPOTIFY, Social
from tidegate.workload.tally import Topics


@pytest.fixture(scope="module")
def report(spark: SparkSession) -> Report:
    return workload.run("small", seed=1, sizes=Sizes(0.05, 0.01))


def test_all_figures_are_there_and_drawn(report: Report, tmp_path: Path) -> None:
    told = report.as_json()
    numbers = {figure["title"].split(",")[0] for figure in told["figures"]}
    assert numbers == {f"Figure 5.{number}" for number in range(1, 16)}
    json.dumps(told)
    workload.plot(report, tmp_path / "figures.png")
    assert (tmp_path / "figures.png").stat().st_size > 10_000


def test_what_can_be_seen_at_this_size_holds(report: Report) -> None:
    rows = [row for section in report.sections for row in section.rows if "property" in row]
    assert [row["property"] for row in rows if row["holds"] == "no"] == []
    small = {row["property"] for row in rows if row["holds"] == "too small"}
    assert "5.11: topics with more than 10⁶ followers" in small
    assert report.summary["properties_held"] == len(rows) - len(small)


def test_a_workload_like_another_is_not_taken_for_twitters() -> None:
    social = Social.draw(SPOTIFY, SPOTIFY.numbers.scaled(0.02), seed=1)
    pairs = social.all_pairs()
    who = [row for row in range(pairs.rows) for _ in range(pairs.offsets[row + 1] - pairs.offsets[row])]
    account = Account(analysed(Topics.of(range(len(social.events)), social.events), who, pairs.values))
    missed = {row["property"][:5] for row in of_twitter(account, 0.02) if row["holds"] == "no"}
    assert {"5.11:", "5.12:", "5.14:"} <= missed


def test_a_wrong_answer_ends_the_run(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workload, "analysed", lambda topics, who, what: analysed(topics, who[1:], what[1:]))
    with pytest.raises(TidegateError, match="Spark and one process disagree about the popularity of spotify"):
        workload.run("small", seed=1, sizes=Sizes(0.005, 0.001))


def test_posts_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="takes no posts"):
        workload.run("small", posts=tmp_path / "posts.parquet")
