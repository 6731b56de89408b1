"""`tidegate satisfy` and `tidegate provision` say what they decide, write it, and refuse what is no demand."""

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from tests.capacity.plain import drawn_case
from tests.capacity.test_streamed import of_case, written
from tidegate.cli.app import app
from tidegate.errors import ConfigError

CASE = drawn_case(np.random.default_rng(4), 30, 60, 20, priced=False)


def told(*arguments: object) -> str:
    found = CliRunner().invoke(app, [str(one) for one in arguments], catch_exceptions=True)
    if found.exception is not None and found.exit_code:
        raise found.exception
    return found.output


@pytest.fixture
def demand(tmp_path: Path) -> Path:
    (folder := tmp_path / "demand").mkdir()
    of_case(folder, CASE, 2)
    return folder


@pytest.mark.parametrize("goal", ["b3m", "fb3m"])
def test_satisfy_writes_which_topics_are_served(goal: str, demand: Path, tmp_path: Path) -> None:
    topics, figures = tmp_path / "topics.parquet", tmp_path / "figures.json"
    arguments = ("satisfy", demand, "--threshold", 12, "--capacity", "30%", "--goal", goal)
    assert "served topics" in told(*arguments, "--into", topics, "--json", figures)
    said, table = json.loads(figures.read_text()), pq.read_table(topics).to_pydict()
    served = [i for i, is_served in enumerate(table["served"]) if is_served]
    assert said["served_topics"] == len(served) < len(CASE.events)
    assert said["used"] == sum(table["events"][i] * table["followers"][i] for i in served) <= said["capacity"]
    assert 0 < said["ratio"] <= 1


def test_provision_writes_an_allocation_and_follows_it_without_a_move(demand: Path, tmp_path: Path) -> None:
    first, figures, placed = tmp_path / "first.parquet", tmp_path / "figures.json", tmp_path / "placed.parquet"
    arguments = ("provision", demand, "--threshold", 12, "--period", "1ms", "--message-bytes", 200)
    output = told(*arguments, "--into", first, "--pairs-into", placed, "--compare", "--json", figures)
    assert "events in 1ms" in output
    said, parts = json.loads(figures.read_text()), pq.read_table(first).to_pydict()
    assert said["machines"] == len(set(parts["machine"])) >= said["least_machines"]
    assert sum(parts["pairs"]) == said["chosen_pairs"] == pq.read_metadata(placed).num_rows
    assert [row["step"][:3] for row in said["steps"]] == ["nai", "(a)", "(b)", "(c)", "(d)", "(e)"]
    assert said["steps"][-1]["cost"] == pytest.approx(said["cost"])
    told(*arguments, "--from", first, "--json", figures)
    assert json.loads(figures.read_text())["moved_pairs"] == 0


def test_kinds_of_machines_are_mixed_where_that_is_cheaper(demand: Path, tmp_path: Path) -> None:
    figures = {}
    for machine in ("c3.large", "c3.xlarge", "mixed"):
        told("provision", demand, "--period", "1ms", "--machine", machine, "--json", tmp_path / "f.json")
        figures[machine] = json.loads((tmp_path / "f.json").read_text())
    assert figures["mixed"]["cost"] <= min(figures["c3.large"]["cost"], figures["c3.xlarge"]["cost"])
    assert sum(figures["mixed"]["kinds"].values()) == figures["mixed"]["machines"]


def test_what_was_left_out_is_counted(tmp_path: Path) -> None:
    written(tmp_path, [5, 0, 7], [0, 0, 1, 1, 1, 3], [0, 1, 2, 2, 0, 1])
    for command in ("satisfy", "provision"):
        assert "left out: 1 repeated pairs, 1 topics without events (2 pairs)" in told(command, tmp_path)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("satisfy", "--capacity", "much"), "a capacity of 'much'"),
        (("satisfy", "--capacity", "-5%"), "a capacity of '-5%'"),
        (("satisfy", "--goal", "all"), "no goal is called 'all': choose one of b3m, fb3m"),
        (("provision", "--machine", "c9"), "has no machine 'c9'"),
        (("provision", "--period", "soon"), "period is 'soon'"),
        (("provision", "--period", "1us"), "choose a larger machine"),
        (("provision", "--from", "nowhere.parquet"), "is no allocation"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: tuple[str, ...], complaint: str, demand: Path) -> None:
    with pytest.raises(ConfigError, match=complaint):
        told(arguments[0], demand, *arguments[1:])
