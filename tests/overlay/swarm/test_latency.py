"""How long letters take."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tidegate.errors import ConfigError
from tidegate.overlay.swarm.latency import drawn_latency, read_latency


def test_what_was_not_measured_is_filled_by_the_way_back_or_by_what_is_usual(tmp_path: Path) -> None:
    rows = [(0, 1, 100.0), (1, 0, 120.0), (0, 2, 60.0), (2, 0, None), (1, 2, None), (2, 1, None), (0, 0, 0.0)]
    source, target, trips = zip(*rows, strict=True)
    path = tmp_path / "trips.parquet"
    pq.write_table(pa.table({"src": source, "dst": target, "rtt_ms": pa.array(trips, pa.float32())}), path)
    latency = read_latency(path, 1000, seed=1)
    assert np.allclose(latency.one_way * 2000, [[60, 100, 60], [120, 120, 120], [60, 120, 60]])
    assert sorted(set(latency.place.tolist())) == [0, 1, 2]


def test_drawn_ways_are_the_same_both_ways_and_some_are_much_longer() -> None:
    latency = drawn_latency(1000, seed=1)
    assert (latency.one_way > 0).all()
    assert np.allclose(latency.one_way, latency.one_way.T)
    assert np.median(latency.one_way) == pytest.approx(0.065)
    assert latency.one_way.max() > 3 * np.median(latency.one_way)


def test_a_file_without_round_trips_is_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table({"src": [1], "dst": [2]}), tmp_path / "other.parquet")
    with pytest.raises(ConfigError, match="'rtt_ms'"):
        read_latency(tmp_path / "other.parquet", 10, seed=1)
