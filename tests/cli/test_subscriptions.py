"""`tidegate subscriptions`, as a person uses it; and the page that explains it, run as it stands."""

import json
import re
import shlex
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tidegate.cli.app import main
from tidegate.store.store import Store

PAGE = Path(__file__).parents[2] / "docs" / "subscriptions.md"


class Outcome:
    """What a command answered."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err


class Shell:
    """Runs commands in a folder of its own, in this process."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._monkeypatch = monkeypatch
        self._capsys = capsys
        monkeypatch.chdir(folder)
        monkeypatch.delenv("TIDEGATE_STORE", raising=False)

    def __call__(self, *arguments: str) -> Outcome:
        self._monkeypatch.setattr(sys, "argv", ["tidegate", "subscriptions", *arguments])
        code = 0
        try:
            main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
        captured = self._capsys.readouterr()
        return Outcome(code, captured.out, captured.err)


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(tmp_path, monkeypatch, capsys)


def store_of(shell: Shell, name: str = "subscriptions") -> Store:
    return Store.open(shell.folder / name, create=False)


def test_add_prints_the_id_and_the_meaning_and_keeps_all_it_was_given(shell: Shell) -> None:
    done = shell(
        *("add", "Storms (coast OR harbour)", "--subscriber", "ana", "--id", "storms", "--region", "-10,36,4,44"),
        *("--ranking", '{"k": 10, "window": "1h"}', "--tag", "sea", "--tag", "urgent"),
        *("--expires", "2030-01-31T18:00:00+01:00"),
    )
    assert done.code == 0
    assert done.out.splitlines() == [
        "id     storms",
        "means  coast storm in:(-10,36,4,44) OR harbour storm in:(-10,36,4,44)",
    ]
    (row,) = store_of(shell).subscriptions().to_pylist()
    assert row["subscriber"] == "ana"
    assert row["query"] == "Storms (coast OR harbour)"
    assert row["region"] == "in:(-10,36,4,44)"
    assert json.loads(row["ranking"]) == {"k": 10, "window": "1h"}
    assert row["tags"] == ["sea", "urgent"]
    assert row["expires"] == datetime(2030, 1, 31, 17, tzinfo=UTC)


def test_an_expiry_may_be_a_span_from_now(shell: Shell) -> None:
    before = datetime.now(UTC)
    assert shell("add", "storm", "--subscriber", "ana", "--expires", "30d").code == 0
    (row,) = store_of(shell).subscriptions().to_pylist()
    assert timedelta(days=30) <= row["expires"] - before < timedelta(days=30, minutes=5)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["(storm"], "a closing parenthesis is missing, at character 1 of '(storm'"),
        (["storm", "--region", "1,2,3"], "--region is '1,2,3': give west,south,east,north in degrees"),
        (["storm", "--region", "0,95,10,99"], "--region is 0,95,10,99: there is no latitude of 95"),
        (["storm", "--region", "0,nan,10,20"], "there is no latitude of nan"),
        (["storm", "--expires", "soon"], "--expires is 'soon': give a time such as"),
        (["storm", "--expires", "2030-01-31"], "with no time zone: add one"),
        (["storm", "--expires", "99999999999w"], "--expires is '99999999999w'"),
        (["storm", "--ranking", "time"], "--ranking is 'time': give a JSON object, as in"),
        (["storm", "--ranking", "[1]"], "--ranking is '[1]': give a JSON object, as in"),
        (["storm", "--id", ""], "id is empty"),
    ],
)
def test_what_cannot_be_added_is_one_line_and_leaves_nothing(
    shell: Shell, arguments: list[str], complaint: str
) -> None:
    done = shell("add", *arguments, "--subscriber", "ana")
    assert done.code == 2
    assert complaint in done.err
    assert done.err.startswith("tidegate: ")
    assert done.err.count("\n") == 1
    store = shell.folder / "subscriptions"
    assert not store.exists() or store_of(shell).subscriptions().num_rows == 0


def test_import_tells_what_became_of_each_file(shell: Shell) -> None:
    Path("good.csv").write_text("id,subscriber,query\na,ana,storm\na,ana,rain\n")
    Path("bad.jsonl").write_text('{"id": "b", "subscriber": "ben", "query": "("}\nnonsense\n')
    done = shell("import", "good.csv", "bad.jsonl")
    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[0].startswith("good.csv: 1 accepted, 0 refused, 1 superseded in ")
    assert lines[1] == "reasons are in good.csv.rejects.jsonl"
    assert lines[2].startswith("bad.jsonl: 0 accepted, 2 refused, 0 superseded in ")
    assert store_of(shell).get("a") is not None
    assert [json.loads(line)["line"] for line in Path("bad.jsonl.rejects.jsonl").read_text().splitlines()] == [1, 2]


def test_list_shows_the_newest_first_and_how_many_there_are(shell: Shell) -> None:
    for number in range(5):
        shell("add", f"storm {number}", "--subscriber", "ana" if number % 2 else "ben", "--id", str(number))
    done = shell("list", "--limit", "2")
    assert "storm 4" in done.out
    assert "storm 2" not in done.out
    assert done.out.splitlines()[-1] == "2 of 5 subscriptions"
    listed = [json.loads(line)["id"] for line in shell("list", "--json", "--subscriber", "ben").out.splitlines()]
    assert listed == ["4", "2", "0"]


def test_remove_removes_all_that_are_named_or_none(shell: Shell) -> None:
    for name in ("a", "b", "c"):
        shell("add", "storm", "--subscriber", "ana", "--id", name)
    assert shell("remove", "c").code == 0
    done = shell("remove", "a", "c", "x")
    assert done.code == 2
    assert "there is no subscription 'c', 'x': none was removed" in done.err
    assert store_of(shell).subscriptions().num_rows == 2
    done = shell("remove", "a", "b", "a")
    assert (done.code, done.out) == (0, "removed 2\n")
    assert store_of(shell).subscriptions().num_rows == 0


def test_export_writes_what_import_reads(shell: Shell) -> None:
    shell("add", "storm", "--subscriber", "ana", "--id", "a")
    shell("add", "rain", "--subscriber", "ana", "--id", "b")
    assert shell("export", "all.csv.gz").out == "all.csv.gz: 2 subscriptions\n"
    assert shell("export", "first.data", "--format", "jsonl", "--version", "1").out == "first.data: 1 subscriptions\n"
    assert shell("import", "all.csv.gz", "--store", "copy").code == 0
    assert store_of(shell, "copy").subscriptions().equals(store_of(shell).subscriptions())


@pytest.mark.parametrize("command", [["list"], ["remove", "a"], ["export", "x.csv"]])
def test_reading_a_store_that_is_not_there_makes_none_and_tells_the_remedy(shell: Shell, command: list[str]) -> None:
    done = shell(*command)
    assert done.code == 2
    assert "there is no subscription table here; name the store by --store, or make it" in done.err
    assert list(shell.folder.iterdir()) == []


def test_the_store_is_that_of_the_option_or_of_the_environment(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDEGATE_STORE", str(shell.folder / "by-environment"))
    shell("add", "storm", "--subscriber", "ana")
    shell("add", "storm", "--subscriber", "ana", "--store", "by-option")
    assert sorted(path.name for path in shell.folder.iterdir()) == ["by-environment", "by-option"]


def test_the_help_of_every_command_names_the_environment_and_the_default(shell: Shell) -> None:
    for command in ("add", "import", "list", "remove", "export"):
        done = shell(command, "--help")
        assert done.code == 0
        assert "TIDEGATE_STORE" in done.out


def test_the_page_about_subscriptions_shows_what_happens(shell: Shell) -> None:
    """Every `$` line runs in one folder, in order; shown lines must be answered, `…` standing for anything."""
    blocks = re.findall(r"```console\n(.*?)```", PAGE.read_text(), re.DOTALL)
    (table,) = re.findall(r"\$ cat searches.csv\n(.*?)\$", PAGE.read_text(), re.DOTALL)
    Path("searches.csv").write_text(table)
    ran = 0
    for command, shown in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", "".join(blocks), re.MULTILINE):
        program, *arguments = shlex.split(command)
        if program == "cat":
            answer = subprocess.run([program, *arguments], capture_output=True, text=True, check=True).stdout
        else:
            assert (program, arguments[0]) == ("tidegate", "subscriptions")
            done = shell(*arguments[1:])
            assert done.code == 0, done.err
            answer = done.out
            ran += 1
        for line in shown.splitlines():
            assert re.search(".*".join(map(re.escape, line.split("…"))), answer), (command, line, answer)
    assert ran == 7


def test_the_program_on_the_page_runs(shell: Shell) -> None:
    (program,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    Path("searches.csv").write_text("subscriber,query\nana,storm\nana,(\n")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "1 1 1\n"
    assert Path("all.parquet").exists()
