"""The page on the overlay: what it shows is run, in a folder of its own."""

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.cli.peer_process import PROGRAM, Peer, until
from tests.serve.process import free_port
from tidegate.cli.app import app
from tidegate.deliver.database import Database
from tidegate.deliver.inbox import Inbox

PAGE = Path(__file__).parent.parent / "docs" / "overlay.md"
PORT = "127.0.0.1:9200"


def blocks(language: str, about: str) -> list[str]:
    """The blocks of a section."""
    section = re.split(r"^## ", PAGE.read_text(), flags=re.MULTILINE)
    (found,) = (text for text in section if text.startswith(about))
    return re.findall(rf"```{language}\n(.*?)```", found, re.DOTALL)


def commands(about: str, place: str = PORT) -> list[list[str]]:
    """The arguments of the commands of a section, with another place for the peer that all join by."""
    (block,) = blocks("console", about)
    return [
        shlex.split(line.replace(PORT, place))[1:] for line in re.findall(r"^\$ (tidegate .*)$", block, re.MULTILINE)
    ]


@pytest.fixture
def peers(tmp_path: Path) -> Iterator[list[Peer]]:
    """The first two peers of the page, on a port that is free."""
    first, second, _ = commands("Three peers", f"127.0.0.1:{free_port()}")
    started = [Peer(*first[2:], folder=tmp_path)]
    place = started[0].address
    started.append(Peer(*[place if part.startswith("127.") else part for part in second[2:]], folder=tmp_path))
    yield started
    for peer in started:
        peer.end()


def test_three_peers_do_what_the_page_says(peers: list[Peer], tmp_path: Path) -> None:
    _, _, third = commands("Three peers", peers[0].address)
    arguments, file = third[: third.index("<")], third[-1]
    (tmp_path / file).write_text("Lift-off!\nAll is well\n")
    with (tmp_path / file).open() as news:
        command = [sys.executable, "-c", PROGRAM, *arguments, "--period", "100ms", "--within", "60s"]
        done = subprocess.run(command, stdin=news, capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == 0, done.stderr
    (shown,) = blocks("json", "Three peers")
    wanted = [json.loads(shown)["text"], "All is well"]
    for peer in peers:
        until(lambda peer=peer: len(peer.events) == 2, "both lines are printed")  # type: ignore[misc]
        assert sorted(peer.events) == sorted(("nasa", text) for text in wanted)
        assert json.loads(peer.told[0]).keys() == json.loads(shown).keys()


def test_the_program_of_the_page_runs() -> None:
    names: dict[str, Any] = {}
    for program in blocks("python", "In a program"):
        exec(compile(program, str(PAGE), "exec"), names)
    assert names["told"] == "Lift-off!"
    assert names["longest"] == ["ignition", "and away"]


def test_peers_beyond_this_machine_may_be_as_the_page_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "overlay.key").write_text("a key that all peers share\n")
    (tmp_path / "topics.txt").write_text("nasa\n")
    first, second = commands("Beyond this machine")
    # Nobody can listen at an address of another machine: that is all that is refused.
    found = CliRunner().invoke(app, [*second, "--for", "0.2"])
    assert "no peer can listen here" in str(found.exception)
    anywhere = [f"0.0.0.0:{free_port()}" if part == "0.0.0.0:9200" else part for part in first]
    assert CliRunner().invoke(app, [*anywhere, "--for", "0.2"]).exit_code == 0


@pytest.mark.slow
def test_a_job_offloads_to_peers_as_the_page_says(peers: list[Peer], tmp_path: Path) -> None:
    (setting_up,) = blocks("python", "What a job offloads")
    (run,) = commands("What a job offloads", peers[0].address)
    for command in ([setting_up], [PROGRAM, *run]):
        done = subprocess.run(
            [sys.executable, "-c", *command], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=240
        )
        assert done.returncode == 0, done.stderr
    for peer in peers:
        until(lambda peer=peer: len(peer.events) == 2, "both posts are told")  # type: ignore[misc]
        told = sorted((topic, json.loads(text)["post"]["text"]) for topic, text in peer.events)
        assert told == [("nasa", "news 0"), ("nasa", "news 1")]
    inbox = Inbox(Database.open(f"sqlite:///{tmp_path}/inbox.db"))
    assert len(inbox.tail(0)) == 20
    assert not any(inbox.since(f"reader{reader}", live=True) for reader in range(10))


def test_simulations_of_the_page_show_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for arguments, peers in zip(commands("Simulated peers"), ("500", None), strict=True):
        found = CliRunner().invoke(app, arguments)
        assert found.exit_code == 0, found.exception
        heads, first, *_ = found.output.splitlines()
        assert all(head in heads for head in ("complete", "hit ratio", "missed by", "hops", "copies"))
        assert peers in (None, first.split()[1])
    assert "peers find their ring" in (tmp_path / "ring.html").read_text("utf-8")
