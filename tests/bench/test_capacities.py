"""Both benchmarks of capacity run, check what they time, and say what they are asked for."""

from pathlib import Path

import numpy as np
import pytest

from tidegate.bench import provision, satisfaction
from tidegate.bench.demands import SPOTIFY, TWITTER, demand_like, files_like


def test_demand_is_the_same_for_a_seed_and_on_disk(tmp_path: Path) -> None:
    drawn, again, other = (demand_like(SPOTIFY, 0.001, seed) for seed in (1, 1, 2))
    assert drawn.topics.values.tolist() == again.topics.values.tolist() != other.topics.values.tolist()
    stored, mended = files_like(SPOTIFY, 0.001, 1, tmp_path).demand()
    assert stored.events.tolist() == drawn.events.tolist()
    assert stored.topics.values.tolist() == drawn.topics.values.tolist()
    assert mended.repeated == 0


@pytest.mark.parametrize(("like", "followed", "rate"), [(SPOTIFY, 2.45, 2_763), (TWITTER, 22.8, 57)])
def test_demand_has_about_the_means_of_the_traces(like: object, followed: float, rate: float) -> None:
    demand = demand_like(like, 0.02 if like is SPOTIFY else 0.002, 1)  # type: ignore[arg-type]
    assert demand.pairs / demand.n_subscribers == pytest.approx(followed, rel=0.25)
    assert float(np.mean(demand.events)) == pytest.approx(rate, rel=0.25)


def test_satisfaction_tells_ratios_that_are_none_above_1(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(satisfaction, "_SCALES", {"small": 0.002})
    report = satisfaction.run("small", 1)
    assert set(report.summary) == {"b3m_s", "fb3m_s", "b3m_ratio", "fb3m_ratio"}
    assert 0.5 < report.summary["b3m_ratio"] <= 1
    assert 0.5 < report.summary["fb3m_ratio"] <= 1
    satisfaction.plot(report, tmp_path / "satisfaction.png")
    assert (tmp_path / "satisfaction.png").stat().st_size > 0


def test_provision_tells_what_is_saved(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(provision, "_SCALES", {"small": (0.01, 0.001, 0.0005)})
    report = provision.run("small", 1)
    assert report.summary["saving_spotify_pct"] > 10
    assert report.summary["saving_twitter_pct"] > 40
    assert {"mcss_spotify_s", "mcss_twitter_s", "over_lower_bound_pct"} < set(report.summary)
    provision.plot(report, tmp_path / "provision.png")
    assert (tmp_path / "provision.png").stat().st_size > 0
