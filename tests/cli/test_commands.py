"""The command line as a person uses it: run as a process, judged by what it prints and its exit code."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from deltalake import DeltaTable

from tidegate.store.store import Store


def tidegate(*arguments: str) -> "subprocess.CompletedProcess[str]":
    program = "import sys; from tidegate.cli.app import main; sys.argv[0] = 'tidegate'; main()"
    return subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=False, timeout=240
    )


def test_help_lists_the_commands() -> None:
    done = tidegate("--help")
    assert done.returncode == 0
    for command in ("demo", "run", "deliver", "status", "subscriptions", "explain", "bench"):
        assert command in done.stdout


def test_version_is_told() -> None:
    assert tidegate("--version").stdout.startswith("tidegate 0.")


def test_explain_shows_the_meaning_and_the_match() -> None:
    done = tidegate("explain", "Storms OR (flood -film)", "--post", "A flood in Kiel")
    assert done.returncode == 0
    assert "flood -film OR storm" in done.stdout
    assert "matches conjunction 1" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["explain", "(storm"], "a closing parenthesis is missing, at character 1 of '(storm'"),
        (["explain", "--", "-storm"], "at character 1"),
        (["bench", "nonsense"], "no benchmark is called 'nonsense': choose one of"),
        (["bench", "text", "--scale", "huge"], "no scale is called 'huge': choose one of small, paper, max"),
        (["bench", "text", "--posts", "absent.parquet"], "absent.parquet: there is no such file"),
        (["bench", "index", "--posts", __file__], "no posts can be read from"),
        (["bench", "index", "--plot", "x.xyz"], "x.xyz: a picture's name ends in one of .png"),
        (["bench", "index", "--json", "."], ".: this is a folder"),
        (["bench", "text", "--plot", "x.png"], "benchmark 'text' has no figures to draw"),
        (["bench", "text", "--json", "no/such/folder/x.json"], "there is no folder"),
    ],
)
def test_bad_input_is_one_line_and_no_traceback(arguments: list[str], complaint: str) -> None:
    done = tidegate(*arguments)
    assert done.returncode == 2
    assert complaint in done.stderr
    assert done.stderr.startswith("tidegate: ")
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_the_demo_ends_by_itself_and_shows_matches_and_where_they_lie(tmp_path: Path) -> None:
    into = tmp_path / "demo"
    arguments = ["--subscriptions", "2000", "--posts-per-second", "500", "--seconds", "20", "--into", str(into)]
    done = tidegate("demo", *arguments)
    assert done.returncode == 0, done.stderr
    assert "Some matches, and why" in done.stdout
    assert DeltaTable(into / "matches").count() > 0
    told = " ".join(done.stdout.split())
    on_map = re.search(r"A rectangle drawn on the map around Paris .* in:\(.*?\): ([\d,]+) matches since", told)
    assert on_map is not None
    assert int(on_map.group(1).replace(",", "")) > 0, "nothing was found in the rectangle within the run"
    found = re.search(r"([\d,]+) posts against ([\d,]+) subscriptions .* ([\d,]+) .* made and ([\d,]+) removed", told)
    assert found is not None
    _, living, came, left = (int(number.replace(",", "")) for number in found.groups())
    assert came > left > 0
    assert Store.open(into / "subscriptions").subscriptions().num_rows == living


def test_the_demo_removes_nothing_that_is_not_its_own(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").touch()
    done = tidegate("demo", "--into", str(tmp_path))
    assert done.returncode == 2
    assert "is not empty: name another folder by --into" in done.stderr
    assert (tmp_path / "letter.txt").exists()
