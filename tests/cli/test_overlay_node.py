"""`tidegate overlay node` as a person uses it: processes that join, say and print, and leave when they are told to."""

import asyncio
import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.cli.peer_process import Peer, until
from tidegate.cli import peering
from tidegate.cli.app import app
from tidegate.cli.peering import told
from tidegate.deliver.ends import Address
from tidegate.errors import ConfigError
from tidegate.overlay.node.messages import LARGEST_EVENT, Taken
from tidegate.overlay.node.node import Node
from tidegate.overlay.node.settings import NodeSettings


@pytest.fixture
def started() -> Iterator[Callable[..., Peer]]:
    peers: list[Peer] = []

    def start(*arguments: str, is_read: bool = True) -> Peer:
        peers.append(Peer(*arguments, is_read=is_read))
        return peers[-1]

    yield start
    for peer in peers:
        peer.end()


@pytest.mark.parametrize("size", [LARGEST_EVENT + 1, 3 * LARGEST_EVENT, 20 * LARGEST_EVENT])
def test_of_a_line_that_is_too_long_nothing_is_taken_for_another_line(
    size: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    lines = ["nasa\tbefore", "x" * size + "\tthe tail", "nasa\tafter"]
    (tmp_path / "input").write_text("\n".join(lines))
    with (tmp_path / "input").open("rb") as told_by:
        read = os.read
        monkeypatch.setattr(os, "read", lambda _, many: read(told_by.fileno(), many))
        before, long, after = peering._lines()
    assert (before, after) == (lines[0], lines[2])
    assert lines[1].startswith(long)
    assert len(long) > LARGEST_EVENT


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
    speaker.say('{"topic": "nasa", "text": "half of a sign: \\ud800"}')
    speaker.say("nasa\tgood night")
    assert speaker.process.stdin is not None
    speaker.process.stdin.close()
    assert speaker.process.wait(90) == 0
    until(lambda: listener.events == [("nasa", "good night")], "it is told")
    assert any("not done: an event that is no text" in line for line in speaker.said)


def test_of_every_window_only_the_best_are_printed(started: Callable[..., Peer]) -> None:
    best = ("--best", "1", "--of", "3", "--by", "post.likes")
    listener, reader = started("--topics", "nasa", *best), started("--topics", "esa", "--best", "2", "--of", "1d")
    speaker = started("--join", listener.address, "--once", "--within", "60s")
    texts = [json.dumps({"post": {"likes": likes}}) for likes in (1, 7, 2, 5, 3)]
    for text in [*texts, "no JSON", texts[0]]:
        speaker.say(f"nasa\t{text}")
    assert speaker.process.stdin is not None
    speaker.process.stdin.close()
    assert speaker.process.wait(90) == 0
    until(lambda: listener.events == [("nasa", texts[1]), ("nasa", texts[3])], "the best are printed")
    listener.process.send_signal(signal.SIGTERM)
    # The last window is not complete: nothing that was to be printed is missing.
    assert listener.process.wait(90) == 0
    teller = started("--join", reader.address, "--once", "--within", "60s")
    for score in (1, 9, 3):
        teller.say(f'esa\t{{"score": {score}}}')
    assert teller.process.stdin is not None
    teller.process.stdin.close()
    assert teller.process.wait(90) == 0
    assert reader.events == []
    reader.process.send_signal(signal.SIGTERM)
    assert reader.process.wait(90) == 0
    until(lambda: [text for _, text in reader.events] == ['{"score": 9}', '{"score": 3}'], "the day ends with the peer")


def tell(peer: Peer, *texts: str) -> None:
    """Publish something that a peer follows."""

    async def run() -> None:
        join = (Address.parse(peer.address, what="place"),)
        async with Node(NodeSettings(join=join, period_s=0.1)) as node:
            for text in texts:
                assert await node.publish("nasa", text, within_s=90) is Taken.DELIVERED

    asyncio.run(run())


def test_a_peer_whose_output_nobody_reads_goes_on_and_leaves_when_it_is_told_to(
    started: Callable[..., Peer], tmp_path: Path
) -> None:
    status = tmp_path / "status.json"
    peer = started("--topics", "nasa", "--within", "90s", "--status-file", str(status), is_read=False)
    tell(peer, *(f"{number}" * 50_000 for number in range(4)))
    # It is in the midst of publishing, too.
    peer.say("dogs\twho is there?")
    until(lambda: json.loads(status.read_text())["published"] == 1, "it goes on")
    assert json.loads(status.read_text())["delivered"] == 4
    peer.process.send_signal(signal.SIGTERM)
    assert peer.process.wait(90) == 2
    until(lambda: "events were not printed: nobody reads them" in peer.said[-1], "what is missing is said")
    assert not any("Traceback" in line for line in peer.said)


def test_a_peer_whose_output_is_closed_leaves_and_says_why(started: Callable[..., Peer]) -> None:
    peer = started("--topics", "nasa", is_read=False)
    assert peer.process.stdout is not None
    peer.process.stdout.close()
    tell(peer, "one")
    assert peer.process.wait(90) == 2
    until(lambda: "1 events were not printed: Broken pipe" in peer.said[-1], "it says why")


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
        (("--topics", "latin"), "latin: the topics cannot be read"),
        (("--period", "often"), "'often' is no time"),
        (("--period", "1ms"), "a period of 0.001 s: give 0.01 or more"),
        (("--of", "10"), "say by --best how many are printed"),
        (("--best", "3", "--of", "2"), "k is 3 of windows of 2"),
        (("--best", "3", "--of", "soon"), "--of is 'soon': give a span of time"),
        (("--status-file", "no/such/folder/x.json"), "there is no folder"),
    ],
)
def test_what_cannot_be_is_refused_with_the_remedy(
    arguments: tuple[str, ...], complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "latin").write_bytes(b"Gr\xfc\xdfe")
    found = CliRunner().invoke(app, ["overlay", "node", *arguments])
    assert isinstance(found.exception, ConfigError)
    assert complaint in str(found.exception)


def test_the_line_on_how_a_peer_fares_says_what_could_not_be_sent() -> None:
    status = {"known": 0, "topics": {}, "published": 0, "delivered": 0, "refused": {}, "unsent": {"datagram": 1200}}
    assert told(status).endswith(" · 1,200 could not be sent")
    assert "sent" not in told({**status, "unsent": {}})
