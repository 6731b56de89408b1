"""The page on capacity: what it shows is run, in a folder of its own."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from tidegate.cli.app import app
from tidegate.deliver.database import Database
from tidegate.deliver.inbox import Inbox

PAGE = Path(__file__).parent.parent / "docs" / "capacity.md"
PROGRAM = "import sys; from tidegate.cli.app import main; sys.argv[0] = 'tidegate'; main()"


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(), re.DOTALL)


def commands() -> list[list[list[str]]]:
    """The arguments of the commands of every console."""
    return [
        [shlex.split(line)[1:] for line in re.findall(r"^\$ (tidegate .*)$", block, re.MULTILINE)]
        for block in blocks("console")
    ]


def process(folder: Path, program: str, *arguments: str) -> str:
    command = [sys.executable, "-c", program, *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == 0, done.stderr
    return done.stdout


def told(arguments: list[str]) -> str:
    found = CliRunner().invoke(app, arguments)
    assert found.exit_code == 0, found.exception
    return found.output


def test_a_planner_gets_what_the_page_promises(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    workload, satisfy, provision, pipeline, _ = commands()
    told(workload[0])
    plain = told(satisfy[0])
    assert "left out" not in plain
    assert json.loads(Path("satisfied.json").read_text())["ratio"] > 0.5
    assert sum(pq.read_table("served.parquet")["served"].to_pylist()) > 0
    told(provision[0])
    first = json.loads(Path("provisioned.json").read_text())
    assert first["machines"] >= first["least_machines"] > 1
    assert first["steps"][0]["cost"] > first["steps"][-1]["cost"]
    assert "moved pairs" in told(provision[1])
    own, _ = blocks("python")
    exec(compile(own, str(PAGE), "exec"), {})
    told(satisfy[0])
    assert json.loads(Path("satisfied.json").read_text())["own_thresholds"] == 3
    (prices,) = blocks("json")
    Path("mine.json").write_text(prices)
    told(pipeline[0])
    cluster = json.loads(Path("cluster.json").read_text())
    assert cluster["executors"] > 0
    assert {row["machine"] for row in cluster["kinds_compared"]} == {"c7i.8xlarge", "m7i.8xlarge", "r7i.8xlarge"}
    assert "small" in told(pipeline[1])


@pytest.mark.slow
def test_an_overloaded_job_does_what_the_page_promises(tmp_path: Path) -> None:
    _, setting_up = blocks("python")
    run, status = commands()[-1]
    process(tmp_path, setting_up)
    process(tmp_path, PROGRAM, *run)
    inbox = Inbox(Database.open(f"sqlite:///{tmp_path}/inbox.db"))
    assert len(inbox.tail(0)) == 29
    live = [one.post["author"] for reader in range(10) for one in inbox.since(f"reader{reader}", live=True)]
    assert live == ["esa"] * 9
    assert "9 told live, 20 offloaded" in process(tmp_path, PROGRAM, *status)


@pytest.mark.slow
def test_a_workload_is_analysed_as_the_page_says(tmp_path: Path) -> None:
    for arguments in commands()[0]:
        process(tmp_path, PROGRAM, *arguments)
    assert (tmp_path / "analysis.json").exists()
    assert "<svg" in (tmp_path / "analysis.html").read_text() or "<img" in (tmp_path / "analysis.html").read_text()
