"""`tidegate overlay node` as a person uses it: processes that join, say and print, and leave when they are told to."""

import json
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.cli.peer_process import Peer, until
from tidegate.cli.app import app
from tidegate.cli.peering import told
from tidegate.errors import ConfigError


@pytest.fixture
def started() -> Iterator[Callable[..., Peer]]:
    peers: list[Peer] = []

    def start(*arguments: str) -> Peer:
        peers.append(Peer(*arguments))
        return peers[-1]

    yield start
    for peer in peers:
        peer.end()


def test_peers_join_publish_print_and_leave(started: Callable[..., Peer], tmp_path: Path) -> None:
    (tmp_path / "topics").write_text("nasa\nesa\n")
    (tmp_path / "key").write_text("a key that all peers share\n")
    status, key = tmp_path / "status.json", ("--key-file", str(tmp_path / "key"))
    first = started("--within", "1s", "--topics", str(tmp_path / "topics"), "--status-file", str(status), *key)
    second = started("--topics", "nasa", "--join", first.address, "--publish", "esa", "--within", "60s", *key)
    second.say("nasa\tlift-off, they say")
    second.say("no topic is named here")
    second.say('{"topic": "esa", "text": "größer\\nand with two lines"}')
    wanted = {("nasa", "lift-off, they say"), ("esa", "no topic is named here"), ("esa", "größer\nand with two lines")}
    until(lambda: set(first.events) == wanted, "all is printed")
    assert len(first.events) == 3
    second.say('{"subscribe": "esa"}')
    second.say('{"unsubscribe": "nasa"}')
    second.say('{"publish": 7}')
    until(lambda: any("means nothing here" in line for line in second.said), "a mistake is said")
    first.say("nasa\twho listens?")
    first.say("esa\tyou do")
    until(lambda: second.events == [("esa", "you do")], "what is subscribed to is printed")
    until(lambda: json.loads(status.read_text())["delivered"] == 3, "the status is kept")
    first.process.send_signal(signal.SIGTERM)
    assert first.process.wait(60) == 0
    until(lambda: first.said[-1].startswith("left: 1 peers known · neighbours in "), "it says farewell")
    assert json.loads(status.read_text())["refused"] == {}


def test_what_is_piped_in_is_told_before_the_peer_leaves(started: Callable[..., Peer]) -> None:
    listener = started("--topics", "nasa")
    speaker = started("--join", listener.address, "--once", "--within", "60s")
    speaker.say("nasa\tgood night")
    assert speaker.process.stdin is not None
    speaker.process.stdin.close()
    assert speaker.process.wait(90) == 0
    until(lambda: listener.events == [("nasa", "good night")], "it is told")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--listen", "10.1.0.7:9200"), "10.1.0.7:9200: a peer beyond this machine needs a key: give --key-file"),
        (("--join", "10.1.0.7:9200"), "needs a key"),
        (("--join", "somewhere"), "'somewhere' is no place of a peer: write HOST:PORT"),
        (("--key-file", "nowhere.key"), "the key of peers, nowhere.key, cannot be read"),
        (("--topics", "x" * 300), "no topic is called"),
        (("--publish", ""), "no topic is called"),
        (("--topics", "absent.txt"), "absent.txt: there is no such file of topics"),
        (("--period", "often"), "'often' is no time"),
        (("--status-file", "no/such/folder/x.json"), "there is no folder"),
    ],
)
def test_what_cannot_be_is_refused_with_the_remedy(
    arguments: tuple[str, ...], complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = CliRunner().invoke(app, ["overlay", "node", *arguments])
    assert isinstance(found.exception, ConfigError)
    assert complaint in str(found.exception)


def test_the_line_on_how_a_peer_fares_says_what_could_not_be_sent() -> None:
    status = {"known": 0, "topics": {}, "published": 0, "delivered": 0, "refused": {}, "unsent": {"datagram": 1200}}
    assert told(status).endswith(" · 1,200 could not be sent")
    assert "sent" not in told({**status, "unsent": {}})
