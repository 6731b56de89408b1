"""Files that are not what they should be are refused, with what is wrong about them."""

from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tidegate.errors import ConfigError
from tidegate.overlay.swarm.latency import read_latency
from tidegate.overlay.swarm.sessions import read_sessions
from tidegate.workload.columns import Columns
from tidegate.workload.follows import thinned

TRACE = {"node": [1, 2], "start_s": [0, 1], "end_s": [5, 6]}
TRIPS = {"src": ["a", "b"], "dst": ["b", "a"], "rtt_ms": [1.0, 2.0]}
GRAPH = {"src": [1, 2, 3], "dst": [2, 3, 1]}
DAY = datetime(2026, 1, 1)


@pytest.mark.parametrize(
    ("file", "column", "values", "remedy"),
    [
        (TRACE, "node", [1, None], "'node' is empty in 1 rows: leave them out"),
        (TRACE, "node", [1.5, 2.5], "'node' have double: give integers, or text"),
        (TRACE, "start_s", ["0", "1"], "'start_s' has string: give numbers"),
        (TRACE, "end_s", [DAY, DAY], "'end_s' has timestamp.*: give numbers"),
        (TRACE, "end_s", [5, None], "'end_s' is empty in 1 rows: leave them out"),
        (TRACE, "end_s", [5.0, float("inf")], "'end_s' is inf in 1 rows: give finite numbers"),
        (TRACE, "start_s", [0.0, float("nan")], "'start_s' is nan in 1 rows: give finite numbers"),
        (TRIPS, "src", [None, "b"], "'src' is empty in 1 rows: leave them out"),
        (TRIPS, "src", [1, 2], "'src' and 'dst' have int64, string: give integers, or text"),
        (TRIPS, "rtt_ms", ["1", "2"], "'rtt_ms' has string: give numbers"),
        (TRIPS, "rtt_ms", [float("inf"), 2.0], "'rtt_ms' is inf in 1 rows: give finite numbers"),
        (GRAPH, "src", [1, 2, None], "'src' is empty in 1 rows: leave them out"),
        (GRAPH, "dst", [DAY, DAY, DAY], "give integers, or text"),
    ],
)
def test_what_no_simulation_can_read_is_refused_with_the_remedy(
    tmp_path: Path, file: dict[str, list[Any]], column: str, values: list[Any], remedy: str
) -> None:
    path = tmp_path / "file.parquet"
    for content in (file, {**file, column: values}):
        pq.write_table(pa.table(content), path)
        if content is file:
            read(path, file)
            continue
        with pytest.raises(ConfigError, match=remedy):
            read(path, file)


def read(path: Path, kind: dict[str, list[Any]]) -> None:
    if kind is TRACE:
        read_sessions(path)
    elif kind is TRIPS:
        read_latency(path, 10, seed=1)
    else:
        thinned(path, 3, 1, seed=1)


def test_names_and_numbers_are_read_as_they_are_and_numbers_may_be_left_out_where_that_is_said(tmp_path: Path) -> None:
    path = tmp_path / "file.parquet"
    pq.write_table(pa.table({"b": pa.array([1, None], pa.int32()), "a": ["x", "y"], "c": [0, 0]}), path)
    (names,), (numbers,) = Columns("things", ("a",), ("b",), may_be_empty=True).read(path)
    assert names.tolist() == ["x", "y"]
    assert numbers[0] == 1
    assert numbers[1] != numbers[1]


def test_a_file_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "file.parquet"
    pq.write_table(pa.table(GRAPH), path, compression="none")
    whole = path.read_bytes()
    path.write_bytes(whole[:4] + bytes(40) + whole[44:])
    with pytest.raises(ConfigError, match="no follows can be read from"):
        Columns("follows", ("src", "dst")).read(path)
