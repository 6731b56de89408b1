"""The command line as a person uses it: run as a process, judged by what it prints and its exit code."""

import subprocess
import sys

import pytest


def tidegate(*arguments: str) -> "subprocess.CompletedProcess[str]":
    program = "import sys; from tidegate.cli.app import main; sys.argv[0] = 'tidegate'; main()"
    return subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=False, timeout=240
    )


def test_help_lists_the_commands() -> None:
    done = tidegate("--help")
    assert done.returncode == 0
    for command in ("demo", "explain", "bench"):
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


def test_the_demo_ends_by_itself_and_shows_matches_with_their_speed() -> None:
    done = tidegate("demo", "--subscriptions", "2000", "--posts", "3000")
    assert done.returncode == 0, done.stderr
    assert "Some matches, and why" in done.stdout
    assert "posts a second" in " ".join(done.stdout.split())
