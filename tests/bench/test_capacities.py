"""Both benchmarks of capacity run, check what they time, and say what they are asked for."""

from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tidegate.bench import provision, satisfaction
from tidegate.bench.traces import demand_like
from tidegate.capacity.demand import Demand
from tidegate.errors import ConfigError
from tidegate.workload.social import SPOTIFY, TWITTER, Kind


@pytest.mark.parametrize(("kind", "scale"), [(SPOTIFY, 0.002), (TWITTER, 0.0002)])
def test_demand_like_a_trace_is_what_its_pairs_would_be_mended_to(kind: Kind, scale: float) -> None:
    drawn = demand_like(kind, scale, 1)
    who = np.repeat(np.arange(drawn.n_subscribers), np.diff(drawn.topics.offsets))
    made, mended = Demand.of(drawn.events, who, drawn.topics.values)
    assert str(mended) == ""
    assert made.events.tolist() == drawn.events.tolist()
    assert made.topics.offsets.tolist() == drawn.topics.offsets.tolist()
    assert made.topics.values.tolist() == drawn.topics.values.tolist()


def numbers(figure: Any) -> list[str]:
    """Of the thesis's figures that are drawn, each with something in it."""
    assert all(axes.lines for axes in figure.axes)
    return sorted(axes.get_title().split()[1].rstrip(":") for axes in figure.axes)


def test_satisfaction_tells_ratios_that_are_none_above_1(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(satisfaction, "_SCALES", {"small": 0.002})
    report = satisfaction.run("small", 1)
    assert set(report.summary) == {"b3m_s", "fb3m_s", "b3m_ratio", "fb3m_ratio"}
    assert 0.5 < report.summary["b3m_ratio"] <= 1
    assert 0.5 < report.summary["fb3m_ratio"] <= 1
    assert numbers(satisfaction.drawn(report)) == [f"6.{number}" for number in range(2, 8)]
    satisfaction.plot(report, tmp_path / "satisfaction.png")
    assert (tmp_path / "satisfaction.png").stat().st_size > 0


def test_provision_tells_what_is_saved(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(provision, "_SCALES", {"small": (0.01, 0.001, 0.0005)})
    report = provision.run("small", 1)
    assert report.summary["saving_spotify_pct"] > 10
    assert report.summary["saving_twitter_pct"] > 40
    assert 0 <= report.summary["over_lower_bound_pct"] < 20
    assert {"mcss_spotify_s", "mcss_twitter_s"} < set(report.summary)
    assert numbers(provision.drawn(report)) == [f"7.{number}" for number in range(4, 10)]
    provision.plot(report, tmp_path / "provision.png")
    assert (tmp_path / "provision.png").stat().st_size > 0


@pytest.mark.parametrize("bench", [satisfaction, provision])
def test_posts_of_others_are_refused(bench: ModuleType) -> None:
    with pytest.raises(ConfigError, match=r"takes no posts, and some\.parquet was given"):
        bench.run("small", 1, Path("some.parquet"))
