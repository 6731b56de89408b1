import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.progress import Progress

from tidegate.bench.index import plot, rivals, run
from tidegate.bench.index.measure import require_same
from tidegate.bench.index.rivals import report_rivals
from tidegate.bench.index.sizes import SIZES, Sizes
from tidegate.bench.index.trial import paper_workload, run_trial
from tidegate.bench.report import Report
from tidegate.csr import Csr, from_rows
from tidegate.errors import ConfigError, TidegateError
from tidegate.index.contract import Index, Matches
from tidegate.index.fanout import FanOut
from tidegate.index.registry import INDEXES

TINY = Sizes(
    subscriptions=3_000,
    vocabulary=5_000,
    items=120,
    counting_items=110,
    fan_out_items=20,
    rounds=1,
    small_vocabulary=1_000,
    vocabularies=(),
    scaled_subscriptions=(1_500,),
    model_subscriptions=3_000,
    model_items=20,
    occurrences=3_600,
    rules=300,
    rival_posts=200,
    perq_posts=100,
    live_sets=2_000,
    live_single=50,
)
SUMMARY = {
    "flat_us_per_item",
    "ril_us_per_item",
    "pot_us_per_item",
    "cil_us_per_item",
    "flat_bytes_per_subscription",
    "flat_build_per_s",
    "flat_speedup_over_best",
    "model_max_deviation_pct",
    "perq_speedup",
    "duckdb_speedup",
    "live_adds_per_s",
}


@pytest.fixture(scope="module")
def progress() -> Progress:
    return Progress(disable=True)


@pytest.fixture(scope="module")
def report(progress: Progress) -> Report:
    return run("small", seed=3, progress=progress, sizes=TINY)


@pytest.mark.parametrize(
    "title",
    [
        "Matching: 3,000 subscriptions over 5,000 terms",
        "Matching: 3,000 subscriptions over 1,000 terms",
        "Indexing times",
        "Fan-out",
        "Table 3",
        "Table 4",
        *(f"Figure {number}:" for number in range(2, 12)),
        "choose_index: predicted",
        "choose_index: why",
        "Taus:",
        "Taus of building:",
        "Live",
        "Rivals",
    ],
)
def test_every_table_and_figure_is_reported(report: Report, title: str) -> None:
    (section,) = [section for section in report.sections if section.title.startswith(title)]
    assert section.rows
    assert all(row.keys() == section.rows[0].keys() for row in section.rows)


def test_the_summary_has_its_keys_and_the_report_is_json(report: Report, tmp_path: Path) -> None:
    assert report.summary.keys() >= SUMMARY
    report.write_json(tmp_path / "index.json")
    written = json.loads((tmp_path / "index.json").read_text())
    assert written["params"]["subscriptions"] == 3_000
    assert written["summary"]["flat_us_per_item"] > 0


@pytest.mark.usefixtures("report")
def test_the_last_part_is_announced_when_all_others_are_done(progress: Progress) -> None:
    (task,) = progress.tasks
    assert task.description == "rivals"
    assert task.total == task.completed + 1


def test_the_paper_s_table_3_stands_beside_ours(report: Report) -> None:
    (table,) = [section for section in report.sections if section.title.startswith("Table 3")]
    assert [row["terms"] for row in table.rows] == list(range(2, 9))
    assert table.rows[-1]["paper, %"] == pytest.approx(-1.27, abs=0.01)
    assert report.summary["model_max_deviation_pct"] == max(abs(row["deviation, %"]) for row in table.rows)


def test_the_figures_are_drawn_on_one_page(report: Report, tmp_path: Path) -> None:
    plot(report, tmp_path / "index.png")
    assert (tmp_path / "index.png").read_bytes().startswith(b"\x89PNG")


def test_the_largest_scale_runs_the_headline_alone() -> None:
    assert SIZES["max"].is_headline_only
    tiny = Sizes(
        3_000, vocabulary=5_000, items=120, rounds=1, is_headline_only=True, model_subscriptions=3_000, model_items=50
    )
    report = run("max", sizes=tiny)
    assert [section.title.split()[0] for section in report.sections] == [
        "Matching:",
        "Indexing",
        "Fan-out",
        "Table",
    ]
    assert all("ROT" not in row["index"] for row in report.sections[0].rows)


def drops_a_match(method: Callable[..., Matches]) -> Callable[..., Matches]:
    def match(self: Index, items: Csr) -> Matches:
        found = method(self, items)
        shorter = np.minimum(found.sets.offsets, found.sets.offsets[-1] - 1)
        return found._replace(sets=Csr(shorter, found.sets.values[:-1]))

    return match


@pytest.mark.parametrize("name", ["counting", "ranked-key", "ordered-trie", "patricia-trie", "flat"])
def test_an_index_that_misses_a_match_ends_the_run(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(INDEXES[name], "match", drops_a_match(Index.match))
    with pytest.raises(TidegateError, match=f"wrong answers: {name}"):
        run_trial(paper_workload(3_000, 5_000), TINY, seed=3)


def test_a_fan_out_that_misses_a_subscription_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    fan_out = FanOut.subscriptions
    monkeypatch.setattr(FanOut, "subscriptions", lambda self, queries: fan_out(self, queries.slice(0, 0)))
    with pytest.raises(TidegateError, match="wrong answers: fan-out"):
        run("small", sizes=TINY)


def test_a_rival_that_disagrees_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rivals.Perq, "match", lambda self, posts: [[] for _ in posts])
    with pytest.raises(TidegateError, match="wrong answers: perq and tidegate"):
        report_rivals(Report("index", "small", {}), TINY, seed=3)


def test_answers_are_compared_as_sets_of_numbers_without_repeats() -> None:
    expected = from_rows([[4, 7], [], [1]])
    require_same("a", from_rows([[7, 4], [], [1]]), "b", expected)
    for wrong in ([[4, 7], [1], []], [[4, 7, 7], [], [1]], [[4], [], [1]], [[4, 7], []], []):
        with pytest.raises(TidegateError, match="wrong answers: a and b"):
            require_same("a", from_rows(wrong), "b", expected)


def stored(folder: Path, **columns: Any) -> Path:
    path = folder / "posts.parquet"
    pq.write_table(pa.table(columns), path)
    return path


def test_rivals_agree_on_stored_posts_of_any_spelling(tmp_path: Path) -> None:
    texts = ["Storms! The river OTTER swims, swims...", None, "Otter & river: #otter", "été à Zürich 42", "river"]
    report = Report("index", "small", {})
    report_rivals(report, TINY, seed=3, posts=stored(tmp_path, text=texts * 3))
    assert "posts.parquet" in report.sections[0].title
    assert all(row["matches a post"] > 0 for row in report.sections[0].rows)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"body": ["a river"]}, "needs a column 'text'"),
        ({"text": pa.array([], pa.string())}, "holds no posts"),
        ({"text": ["the", "river"]}, "no post has two plain words"),
    ],
)
def test_posts_that_no_rules_can_be_drawn_from_are_refused(
    columns: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=message):
        report_rivals(Report("index", "small", {}), TINY, seed=3, posts=stored(tmp_path, **columns))
