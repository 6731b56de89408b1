"""`tidegate serve`: the first key, and errors that say what to do."""

import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.serve.process import ServerProcess
from tests.serve.scene import bearer


def serve(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [
        sys.executable,
        "-c",
        "from tidegate.cli.app import main; main()",
        "serve",
        "--store",
        str(folder / "store"),
    ]
    options = ["--database", f"sqlite:///{folder}/tidegate.db", "--posts", str(folder / "posts"), *arguments]
    return subprocess.run([*command, *options], capture_output=True, text=True, timeout=60, check=False)


def test_a_port_that_is_taken_is_named_and_the_key_was_shown_once(tmp_path: Path) -> None:
    with ServerProcess(tmp_path) as server:
        other = tmp_path / "other"
        other.mkdir()
        ended = serve(other, "--port", str(server.port))
        assert ended.returncode == 2
        assert f"127.0.0.1:{server.port}: cannot be listened on" in ended.stderr
        assert "serving" not in ended.stdout
        shown = [line for line in ended.stdout.splitlines() if line.startswith("operator's key")]
        assert len(shown) == 1
        assert "operator's key" not in serve(other, "--port", str(server.port)).stdout
    with ServerProcess(other) as server:
        key = shown[0].split()[-1]
        assert httpx.get(f"{server.url}/me", headers=bearer(key)).json() == {"name": "operator", "is_operator": True}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--database", "sqlite:///missing/folder/x.db"], "there is no folder"),
        (["--database", "mysql://x"], "no database that is known here"),
        (["--posts", "/proc/nothing"], "no folder for posts can be made here"),
        (["--operator-key-file", "/proc/nothing"], "the operator's key cannot be kept here"),
    ],
)
def test_what_cannot_be_used_is_named(tmp_path: Path, arguments: list[str], said: str) -> None:
    ended = serve(tmp_path, *arguments)
    assert ended.returncode == 2
    assert said in ended.stderr
    assert "Traceback" not in ended.stderr
