"""Benchmark `drift` reports what it promises."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from rich.progress import Progress

from tidegate.bench.drift import Sizes, _report_spans, _report_statements, generated_weeks, plot, run, stored_weeks
from tidegate.bench.report import Report
from tidegate.errors import ConfigError
from tidegate.route.measures import Measured

TINY = Sizes(weeks=2, posts=300, topics=3, subscriptions=200, matchers=8)
MAPS = ("hash", "gfcl", "gnfcl", "salb", "refined", "salb, relearned")


def stored(folder: Path, **columns: Any) -> Path:
    path = folder / "posts.parquet"
    pq.write_table(pa.table(columns), path)
    return path


@pytest.mark.slow
def test_every_map_is_measured_on_every_week(spark: SparkSession, tmp_path: Path) -> None:
    report = run("small", seed=3, progress=Progress(disable=True), sizes=TINY)
    rows = report.sections[0].rows
    assert [(row["week"], row["to"], row["map"]) for row in rows] == [
        (first, last, name) for first, last in ((0, 0), (1, 2)) for name in MAPS
    ]
    for row in rows:
        assert 0 < row["spread"] <= 8
        assert 1 <= row["imbalance"] <= 8
        assert row["throughput"] > 0
    assert all(value > 0 for value in report.summary.values())
    plot(report, tmp_path / "drift.png")
    assert (tmp_path / "drift.png").stat().st_size > 20_000


def made_up() -> dict[str, list[Measured]]:
    """Twelve weeks of 100 posts: SALB's matchers have 10 posts at most in week 0, and 20 after; the others' 40."""
    return {
        name: [
            Measured(100, np.array([10 if name == "salb" and week == 0 else 20 if "salb" in name else 40]))
            for week in range(12)
        ]
        for name in MAPS
    }


def test_week_0_stands_alone_and_the_others_are_means_of_five() -> None:
    report = Report("drift", "small", {})
    _report_spans(report, made_up(), TINY, posts=100)
    salb = [row for row in report.sections[0].rows if row["map"] == "salb"]
    assert [(row["week"], row["to"], row["throughput"]) for row in salb] == [
        (0, 0, 10),
        (1, 5, 5),
        (6, 10, 5),
        (11, 11, 5),
    ]
    hashed = [row["× SALB"] for row in report.sections[0].rows if row["map"] == "hash"]
    assert hashed == [0.25, 0.5, 0.5, 0.5]


def test_what_is_kept_after_week_0_is_summed_up() -> None:
    report = Report("drift", "small", {})
    _report_statements(report, made_up())
    assert report.summary == {
        "drift_kept_by_salb": 0.5,
        "drift_trend_of_salb": 1.0,
        "drift_salb_over_next": 2.0,
        "drift_relearned_over_salb": 1.0,
    }


def test_the_weeks_with_the_most_posts_are_taken(tmp_path: Path) -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    posts = [
        (start + timedelta(weeks=week, hours=hour), f"post {week}")
        for week in range(6)
        for hour in range((5, 1, 1, 3, 4, 2)[week])
    ]
    times, texts = zip(*posts, strict=True)
    expected = [["post 3"] * 3, ["post 4"] * 4, ["post 5"] * 2]
    for column in (pa.array(times), pa.array([time.isoformat() for time in times])):
        path = stored(tmp_path, ts=column, text=list(texts))
        assert [week.to_pylist() for week in stored_weeks(path, 3)] == expected
    assert len(stored_weeks(path, 99)) == 6


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"text": ["storm"]}, "which needs columns 'ts' and 'text'"),
        ({"ts": ["yesterday"], "text": ["storm"]}, "which needs columns 'ts' and 'text'"),
        ({"ts": ["2026-01-01T00:00:00Z"], "text": ["storm"]}, "has posts of less than two weeks"),
        ({"ts": pa.array([], pa.string()), "text": pa.array([], pa.string())}, "has posts of less than two weeks"),
    ],
)
def test_posts_without_weeks_are_refused(columns: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=message):
        stored_weeks(stored(tmp_path, **columns), 3)


def test_generated_weeks_drift_apart() -> None:
    sizes = Sizes(weeks=12, posts=2_000)
    weeks = generated_weeks(sizes, seed=1)
    shares = np.array([np.mean(["storm" in text for text in week.to_pylist()]) for week in weeks])
    assert len(weeks) == 13
    # Neighbours are alike, distant weeks are not.
    assert np.ptp(shares) > 2 * np.abs(np.diff(shares)).mean()
    assert weeks[1].equals(generated_weeks(sizes, seed=1)[1])
