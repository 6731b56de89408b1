"""`tidegate overlay simulate` as a person uses it."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.test_run import tidegate
from tidegate.cli.options import check_places
from tidegate.cli.simulating import Simulation
from tidegate.errors import ConfigError
from tidegate.workload.breadth_first import breadth_first
from tidegate.workload.follows import Follows, fans


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


def test_events_do_not_cross_the_cut_of_a_partition(tmp_path: Path) -> None:
    asked = ("--peers", "120", "--cycles", "30", "--every", "1", "--churn", "partition")
    run = tidegate(tmp_path, "overlay", "simulate", *asked)
    assert run.returncode == 0, run.stderr
    hits = {int(line.split()[0]): float(line.split()[3]) for line in run.stdout.splitlines()[1:]}
    # The network is cut after the tenth cycle and whole again after the twentieth.
    assert hits[10] > 0.95
    # A publisher has its own event, and what is left of a topic's ring may be open.
    assert all(0.4 < hits[cycle] < 0.6 for cycle in range(11, 21))
    assert hits[30] > 0.95


def test_a_crowd_comes_when_half_of_the_time_is_over_and_is_found(tmp_path: Path) -> None:
    asked = ("--peers", "100", "--cycles", "20", "--every", "10", "--churn", "crowd")
    run = tidegate(tmp_path, "overlay", "simulate", *asked)
    assert run.returncode == 0, run.stderr
    assert [line.split()[1] for line in run.stdout.splitlines()[1:]] == ["70", "70", "100"]
    assert run.stdout.splitlines()[-1].split()[3] == "1.0000"


def stored(folder: Path, follows: Follows) -> str:
    path = folder / "graph.parquet"
    source = np.repeat(np.arange(follows.users), np.diff(follows.followed.offsets))
    pq.write_table(pa.table({"src": source, "dst": follows.followed.values}), path)
    return str(path)


def asked(topics: str, peers: int, mean: int | None = None) -> Simulation:
    return Simulation(peers, topics, mean, 1, "none", "none", 2, 1, seed=3)


def test_of_a_graph_that_is_larger_a_part_is_taken_breadth_first_with_every_follow_inside(tmp_path: Path) -> None:
    graph = fans(400, 40, seed=5)
    file = stored(tmp_path, graph)
    wanted = breadth_first(graph, 100, seed=3)
    found = asked(file, 100).follows()
    assert found.followed.offsets.tolist() == wanted.followed.offsets.tolist()
    assert found.followed.values.tolist() == wanted.followed.values.tolist()
    assert asked(file, 400).follows().pairs == graph.pairs
    few = asked(file, 3).follows()
    assert (few.users, few.pairs > 0) == (3, True)


def test_of_a_graph_that_is_smaller_all_are_taken(tmp_path: Path) -> None:
    graph = fans(50, 4, seed=5)
    assert asked(stored(tmp_path, graph), 51).follows().pairs == graph.pairs
    asked_for = ("--peers", "1000", "--cycles", "2", "--churn", "partition", "--topics", "graph.parquet")
    run = tidegate(tmp_path, "overlay", "simulate", *asked_for)
    assert run.returncode == 0, run.stderr
    assert {line.split()[1] for line in run.stdout.splitlines()[1:]} == {"50"}


def test_follows_of_a_file_go_both_ways_if_they_are_mutual(tmp_path: Path) -> None:
    file = stored(tmp_path, Follows.of(3, np.array([0, 1, 2]), np.array([1, 2, 1])))
    assert asked(file, 3).follows().pairs == 3
    both = replace(asked(file, 3), mutual=True).follows().followed
    assert sorted(np.diff(both.offsets).tolist()) == [1, 1, 2]
    with pytest.raises(ConfigError, match="--mutual: it is for a graph in a file"):
        replace(asked("facebook", 40), mutual=True).follows()


def test_a_mean_is_refused_for_a_graph_that_is_given_and_where_there_are_not_as_many_peers(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="--mean 4: of a graph in a file every follow is kept"):
        asked(stored(tmp_path, fans(50, 4, seed=5)), 50, mean=4).follows()
    with pytest.raises(ConfigError, match="--peers 20 --mean 10: 10 follows a user among 20: give 2 to 9"):
        asked("facebook", 20).follows()
    with pytest.raises(ConfigError, match=r"--peers 3 --mean 10: 3 users: .* take at least 5"):
        asked("facebook", 3).follows()
    assert asked("facebook", 5, mean=2).follows().users == 5
    assert asked("twitter", 3, mean=1).follows().users == 3


def test_a_graph_in_which_nobody_follows_anybody_is_refused(tmp_path: Path) -> None:
    alone = tmp_path / "alone.parquet"
    pq.write_table(pa.table({"src": [1, 2, 3, 4], "dst": [1, 2, 3, 4]}), alone)
    with pytest.raises(ConfigError, match="nobody follows anybody but itself: give a graph in which somebody does"):
        asked(str(alone), 10).follows()
    two = tmp_path / "two.parquet"
    pq.write_table(pa.table({"src": [*range(1000), 7], "dst": [*range(1000), 8]}), two)
    with pytest.raises(ConfigError, match="of 3 users nobody follows anybody: give more than --peers 3"):
        asked(str(two), 3).follows()
    empty = tmp_path / "empty.parquet"
    pq.write_table(pa.table({"src": np.zeros(0, np.int64), "dst": np.zeros(0, np.int64)}), empty)
    with pytest.raises(ConfigError, match="there are no follows in it"):
        asked(str(empty), 10).follows()


def test_a_place_for_the_page_is_tried_before_the_run_and_left_as_it_was(tmp_path: Path) -> None:
    for place in (tmp_path / "kept.html", tmp_path / "new.html"):
        if place.name.startswith("kept"):
            place.write_text("before")
        check_places(place)
    assert [path.name for path in tmp_path.iterdir()] == ["kept.html"]
    assert (tmp_path / "kept.html").read_text() == "before"
    run = tidegate(tmp_path, "overlay", "simulate", "--show", "--into", "/proc/ring.html")
    assert (run.returncode, run.stdout) == (2, "")
    assert "/proc/ring.html: this cannot be written" in run.stderr


def test_a_link_to_a_file_that_is_not_there_yet_stays_one(tmp_path: Path) -> None:
    link = tmp_path / "page.html"
    link.symlink_to(tmp_path / "elsewhere.html")
    check_places(link)
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    assert link.is_symlink()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
def test_a_page_for_which_there_is_no_room_is_one_line_and_no_traceback(tmp_path: Path) -> None:
    asked_for = ("--peers", "30", "--mean", "4", "--cycles", "1", "--show", "--into", "/dev/full")
    run = tidegate(tmp_path, "overlay", "simulate", *asked_for)
    assert run.returncode == 2
    # Where the progress was there is an empty line.
    assert run.stderr.strip() == "tidegate: /dev/full: the page cannot be written: No space left on device"


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
