"""`tidegate overlay simulate` as a person uses it."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tests.cli.test_run import tidegate


def test_a_simulation_shows_rings_that_become_complete_and_writes_a_page(tmp_path: Path) -> None:
    run = tidegate(tmp_path, "overlay", "simulate", "--peers", "120", "--cycles", "20", "--show", "--into", "ring.html")
    assert run.returncode == 0, run.stderr
    heads, first, *_, last, page = run.stdout.splitlines()
    assert heads.split() == ["cycle", "peers", "complete", "hit", "ratio", "missed", "by", "hops", "copies"]
    assert first.split()[:3] == ["0", "120", "0.00%"]
    cycle, peers, complete, hits, *_ = last.split()
    assert (cycle, peers, hits) == ("20", "120", "1.0000")
    assert float(complete.rstrip("%")) > 95
    assert page.startswith("ring.html: the ring of topic")
    assert "peers find their ring" in (tmp_path / "ring.html").read_text("utf-8")


def test_peers_come_and_go_as_a_trace_has_it(tmp_path: Path) -> None:
    sessions = {"node": [1, 2, 3, 3], "start_s": [0, 0, 0, 400], "end_s": [900, 300, 200, 900]}
    pq.write_table(pa.table(sessions), tmp_path / "trace.parquet")
    asked = ("--peers", "30", "--mean", "4", "--cycles", "10", "--churn", "trace.parquet", "--latency", "none")
    run = tidegate(tmp_path, "overlay", "simulate", *asked)
    assert run.returncode == 0, run.stderr
    assert len({line.split()[1] for line in run.stdout.splitlines()[1:]}) > 1
    assert tidegate(tmp_path, "overlay", "simulate", *asked).stdout == run.stdout


def test_what_cannot_be_simulated_is_refused_with_the_remedy(tmp_path: Path) -> None:
    for option, value, remedy in (
        ("--churn", "nowhere", "or one of none, skype, crowd, departure, partition"),
        ("--latency", "nowhere", "or one of none, drawn"),
        ("--topics", "nowhere", "or one of facebook, twitter"),
        ("--fan-out", "1", "give at least 2"),
        ("--topic", "3", "give --show as well"),
    ):
        run = tidegate(tmp_path, "overlay", "simulate", "--peers", "50", option, value)
        assert run.returncode == 2
        assert remedy in run.stderr
