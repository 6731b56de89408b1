"""`tidegate run` and `tidegate status` as a person uses them: real processes, judged by what they print and leave."""

import json
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.machine import free_port
from tidegate.cli.app import app
from tidegate.errors import ConfigError
from tidegate.spark.job import usual_checkpoint
from tidegate.store.status import Jobs, JobStatus
from tidegate.store.store import Store

PAGE = Path(__file__).parents[2] / "docs" / "running.md"
PROGRAM = "import sys; from tidegate.cli.app import main; sys.argv[0] = 'tidegate'; main()"
PATIENCE_S = 240


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-c", PROGRAM, *arguments]


def tidegate(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        command(*arguments), cwd=folder, capture_output=True, text=True, check=False, timeout=PATIENCE_S
    )


def status(folder: Path) -> Any:
    done = tidegate(folder, "status", "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@contextmanager
def job(folder: Path, *arguments: str) -> Iterator["subprocess.Popen[str]"]:
    process = subprocess.Popen(
        command("run", *arguments), cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def wait_for_batches(port: int, process: "subprocess.Popen[str]") -> str:
    """Return the metrics as soon as they tell of a batch."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline and process.poll() is None:
        try:
            text = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10).read().decode()
        except OSError:
            text = ""
        if re.search(r"^tidegate_latency_seconds\{.*\} \d", text, re.MULTILINE):
            return str(text)
        time.sleep(0.2)
    raise AssertionError(f"no batch within {PATIENCE_S} s: {process.communicate() if process.poll() else ''}")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    store = Store.open(tmp_path / "subscriptions")
    store.subscribe("ana", "storm OR rain OR #w1")
    return tmp_path


@pytest.mark.slow
def test_the_page_about_running_shows_what_happens(tmp_path: Path) -> None:
    blocks = re.findall(r"```(python|console)\n(.*?)```", PAGE.read_text(), re.DOTALL)
    (setting_up, *programs) = [text for kind, text in blocks if kind == "python"]
    lines = [line for kind, text in blocks if kind == "console" for line in text.splitlines()]
    assert [line.split()[:3] for line in lines] == [["$", "tidegate", name] for name in ("run", "status", "status")]
    prepared = subprocess.run([sys.executable, "-c", setting_up], cwd=tmp_path, check=False, timeout=PATIENCE_S)
    assert prepared.returncode == 0
    ran, shown, told = (tidegate(tmp_path, *line.split()[2:]) for line in lines)
    assert ran.returncode == 0, ran.stderr
    assert "4 posts, 2 matches, 1 dead letters" in ran.stdout
    written = [json.loads(line) for file in tmp_path.glob("matches/*/*/*.json") for line in file.open()]
    assert sorted((match["id"], match["subscriber"]) for match in written) == [("1", "ana"), ("3", "ben")]
    assert "no id in column 'id'" in shown.stdout
    assert json.loads(told.stdout)["jobs"][0]["figures"]["total"]["posts"] == 4
    opening = "import json, pathlib, tidegate; store = tidegate.open('subscriptions')\n"
    check = "assert metrics.of('mine').total.matches == 2, metrics.of('mine')\n"
    rest = subprocess.run(
        [sys.executable, "-c", opening + "\n".join(programs) + check],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert rest.returncode == 0, rest.stderr


@pytest.mark.slow
def test_a_signal_stops_a_job_cleanly_and_it_goes_on_where_it_was(folder: Path) -> None:
    last = -1
    for stopping in (signal.SIGINT, signal.SIGTERM):
        port = free_port()
        options = ["--master", "local[2]", "--trigger", "200ms", "--metrics-port", str(port)]
        options += ["--shed-beyond", "100000"]
        with job(folder, "--posts", "microblog:?rowsPerSecond=500", "--matches", "delta:matches", *options) as process:
            text = wait_for_batches(port, process)
            assert re.search(r"^tidegate_posts_total\{.*\} [1-9]", text, re.MULTILINE)
            assert re.search(r"^tidegate_lag\{.*unit=\"posts\"\} ", text, re.MULTILINE)
            (running,) = status(folder)["jobs"]
            assert running["running"]
            assert running["store"] == 1
            assert running["figures"]["shedding"] == {"level": 0, "of": 8}
            process.send_signal(stopping)
            out, err = process.communicate(timeout=PATIENCE_S)
        assert (process.returncode, err) == (0, "")
        assert "stopped after" in out
        (ended,) = status(folder)["jobs"]
        assert (ended["state"], ended["running"]) == ("stopped", False)
        assert ended["batch"] > last
        last = ended["batch"]


@pytest.mark.slow
def test_a_stream_that_fails_is_one_line_and_a_failed_job(folder: Path) -> None:
    (folder / "posts").mkdir()
    (folder / "posts" / "torn.parquet").write_bytes(b"PAR1 not really")
    schema = ["--schema", "id string, text string"]
    done = tidegate(folder, "run", "--posts", "parquet:posts", "--matches", "json:matches", "--once", *schema)
    assert done.returncode == 2
    assert done.stderr.startswith("tidegate: ")
    assert "torn.parquet" in done.stderr
    assert done.stderr.count("\n") == 1
    assert status(folder)["jobs"][0]["state"] == "failed"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--store", "absent"], "there is no subscription table here; name the store by --store"),
        (["--trigger", "soon"], "'soon' is no time: write a number and one of ms, s, m, h"),
        (["--plan", "hash:0"], "hash"),
        (["--conf", "cores=2"], "'cores=2' is no setting of Spark: write spark.name=value"),
        (["--posts", "carrier-pigeon:loft"], "'carrier-pigeon' is none of the kinds"),
        (["--posts", "kafka://127.0.0.1:9/posts"], "set TIDEGATE_KAFKA_JARS to what `scripts/kafka jars` prints"),
    ],
)
def test_what_cannot_run_is_refused_before_spark_starts(
    folder: Path, arguments: list[str], complaint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TIDEGATE_KAFKA_JARS", raising=False)
    usual = ["--posts", "microblog:", "--matches", "json:matches"]
    done = tidegate(folder, "run", *usual, *arguments)
    assert done.returncode == 2
    assert complaint in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (folder / "absent").exists()


@pytest.mark.parametrize(("option", "value"), [("--delay", "10"), ("--idle", "soon"), ("--trigger", "now")])
def test_what_cannot_be_ranked_by_is_refused_before_spark_starts(folder: Path, option: str, value: str) -> None:
    done = tidegate(folder, "rank", "--posts", "microblog:", "--windows", "json:windows", option, value)
    assert done.returncode == 2
    assert re.search(rf"{value}'.*: (give|write) a ", done.stderr)
    assert done.stderr.count("\n") == 1
    assert not list((folder / "subscriptions").glob("_tidegate/checkpoints/*"))


def test_jobs_that_match_and_that_rank_are_apart_though_they_have_one_source_and_one_sink(folder: Path) -> None:
    store = Store.open(folder / "subscriptions")
    places = [usual_checkpoint(store, "json:posts", "console:", ranked=ranked) for ranked in (False, True, False, True)]
    assert places[:2] == places[2:]
    assert places[0] != places[1], "the one would begin where the other has ended"


def test_status_tells_running_jobs_from_silent_ones(folder: Path) -> None:
    store = Store.open(folder / "subscriptions")
    now = time.time()
    for name, state, seen in (("a", "running", now), ("b", "running", now - 3600), ("c", "failed", now - 7200)):
        figures = {"batches": 1, "total": {"posts": 9, "matches": 3, "dead": 0}}
        Jobs(store.beside).write(JobStatus(name, "microblog:", "console:", state, 7, 1, 0, now, seen, figures))
    shown = tidegate(folder, "status").stdout
    assert re.search(r"a microblog: → console: +│ running +│", shown)
    assert re.search(r"b microblog: .*not seen for 60 minutes", shown)
    assert re.search(r"c microblog: .*failed 2 hours ago", shown)


def test_status_counts_subscriptions_with_and_without_segments(folder: Path) -> None:
    store = Store.open(folder / "subscriptions")
    store.subscribe("ben", "storm", id="b")
    about = status(folder)
    assert about["subscriptions"] == {"count": 2, "version": 2}
    assert about["segments"] == []
    store.opener.standing(2, store.plans.newest())
    store.unsubscribe("b")
    about = status(folder)
    assert about["version"] == 3
    assert about["subscriptions"] == {"count": 2, "version": 2}
    assert [level["subscriptions"] for level in about["segments"]] == [2]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--offload", "inbox"), "say by --live-capacity how many"),
        (("--live-capacity", "9"), "limits nothing yet: say by --offload"),
        (("--offload", "space", "--live-capacity", "9"), "nothing can be offloaded to 'space'"),
        (("--offload", "overlay", "--live-capacity", "9"), "name a peer that is there by --overlay-join HOST:PORT"),
        (("--offload", "inbox", "--live-capacity", "9", "--overlay-join", "127.0.0.1:9"), "write --offload overlay"),
        (
            ("--offload", "overlay", "--live-capacity", "9", "--overlay-join", "10.1.0.7:9"),
            "beyond this machine needs a key",
        ),
        (("--offload", "inbox", "--live-capacity", "9", "--offload-goal", "all"), "no goal is called 'all'"),
        (("--offload", "inbox", "--live-capacity", "9"), "only an inbox is told in real time"),
    ],
)
def test_what_cannot_be_offloaded_is_refused(arguments: tuple[str, ...], complaint: str, tmp_path: Path) -> None:
    Store.open(tmp_path / "store")
    places = ("--posts", f"json:{tmp_path}/posts", "--matches", f"delta:{tmp_path}/matches")
    found = CliRunner().invoke(app, ["run", *places, "--store", str(tmp_path / "store"), *arguments])
    assert isinstance(found.exception, ConfigError)
    assert complaint in str(found.exception)
