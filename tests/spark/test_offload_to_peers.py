"""From the pipeline to peers: what a job offloads is told by the overlay, each post once; what it cannot take waits."""

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from tests.spark.scenes import files, forget_last_batch, run
from tidegate.deliver.database import Database
from tidegate.deliver.ends import Address
from tidegate.deliver.inbox import Inbox
from tidegate.errors import ConfigError
from tidegate.overlay.node.background import BackgroundNode
from tidegate.overlay.node.messages import LARGEST_EVENT
from tidegate.overlay.node.node import Node
from tidegate.overlay.node.settings import NodeSettings
from tidegate.overlay.node.unread import Delivered
from tidegate.spark.offload import Offload, OffloadSettings
from tidegate.spark.peers import Peers, PeerSettings
from tidegate.spark.seeking import Seeking
from tidegate.spark.sinks import sink_at
from tidegate.spark.sources.posts import read_posts
from tidegate.store.store import Store

KEY = "a key that all peers share"
PERIOD_S = 0.05


class Reader:
    """A peer that follows topics, and what it was told."""

    def __init__(self, *topics: str, join: tuple[Address, ...] = ()) -> None:
        self._peer = BackgroundNode(NodeSettings(join=join, key=KEY.encode(), period_s=PERIOD_S))
        self._peer.open()
        self.told: list[Delivered] = []
        self.address: Address = self._peer.ask(lambda node: self._begin(node, topics))

    async def _begin(self, node: Node, topics: tuple[str, ...]) -> Address:
        node.subscribe(*topics)
        self._reading = asyncio.create_task(self._read(node))
        return node.address

    async def _read(self, node: Node) -> None:
        async for event in node.events():
            self.told.append(event)

    @property
    def posts(self) -> list[str]:
        return sorted(json.loads(event.text)["id"] for event in self.told)

    def close(self) -> None:
        self._peer.close()


def until(holds: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline, f"it never came to be: {what}"
        time.sleep(0.02)


@pytest.fixture
def readers() -> Iterator[list[Reader]]:
    first = Reader("nasa", "esa")
    found = [first, Reader("nasa", join=(first.address,)), Reader("cats", join=(first.address,))]
    yield found
    for reader in found:
        reader.close()


@pytest.fixture
def peers(readers: list[Reader], tmp_path: Path) -> PeerSettings:
    (tmp_path / "key").write_text(KEY)
    return PeerSettings((readers[0].address,), tmp_path / "key", period_s=PERIOD_S, within_s=30)


def test_what_a_job_offloads_is_told_by_peers_once_and_waits_in_the_inbox(
    spark: SparkSession, readers: list[Reader], peers: PeerSettings, tmp_path: Path
) -> None:
    store = Store.open(tmp_path / "store")
    for reader in range(5):
        store.subscribe(f"reader{reader}", "from:nasa")
    store.subscribe("reader0", "from:esa")
    posts = [("1", "nasa"), ("2", "nasa"), ("3", "esa")]
    ids, authors = zip(*posts, strict=True)
    table = pa.table({"id": ids, "author": authors, "text": [f"news of {name}" for name in authors]})
    address, url = files(tmp_path / "posts", table), f"sqlite:///{tmp_path}/inbox.db"
    # There is room for esa alone.
    settings = OffloadSettings("overlay", 3, satisfied_by=2, by="author", peers=peers)
    standings: list[dict[str, int]] = []

    def run_job() -> None:
        offload = Offload(settings)
        offload.report = lambda standing: standings.append(dict(standing))
        run(read_posts(spark, address), store, sink_at(f"inbox:{url}", offload=offload), tmp_path / "checkpoint")
        offload.close()

    run_job()
    until(lambda: [reader.posts for reader in readers] == [["1", "2"], ["1", "2"], []], "peers are told")
    told = json.loads(readers[0].told[0].text)
    assert told["post"] == {"id": told["id"], "author": "nasa", "text": "news of nasa"}
    inbox = Inbox(Database.open(url))
    assert len(inbox.tail(0)) == 11
    live = [one.id for reader in range(5) for one in inbox.since(f"reader{reader}", live=True)]
    assert live == ["3"]
    assert standings[-1]["later"] == standings[-1]["handed_over"] == 10
    # A driver that dies before it has noted the end of a batch begins it again; the inbox has it.
    forget_last_batch(tmp_path / "checkpoint")
    run_job()
    assert [reader.posts for reader in readers] == [["1", "2"], ["1", "2"], []]


def rows(*posts: tuple[str, str], text: str = "news") -> pa.Table:
    topics, ids = zip(*posts, strict=True)
    body = [json.dumps({"id": id_, "text": text}) for id_ in ids]
    return pa.table({"subscriber": ["ana"] * len(ids), "id": ids, "post": body, "served_by": topics})


def test_if_peers_are_all_there_is_only_what_they_could_not_take_waits(
    readers: list[Reader], peers: PeerSettings
) -> None:
    elsewhere = Peers(replace(peers, only=True))
    batch = rows(("nasa", "1"), ("nasa", "1"), ("cats", "2"))
    assert len(elsewhere.hand_over(batch, "run", 0)) == 0
    # Nobody follows dogs; one name and one post are too long; and nobody knows what the last is about.
    beyond = rows(("dogs", "3"), ("x" * 300, "4"), ("", "5"), ("cats", "6"))
    assert elsewhere.hand_over(rows(("cats", "7"), text="." * LARGEST_EVENT), "run", 1)["id"].to_pylist() == ["7"]
    elsewhere._seeking = Seeking(0.5)  # it is in vain, and need not take long
    assert elsewhere.hand_over(beyond, "run", 2)["id"].to_pylist() == ["3", "4", "5"]
    until(lambda: [reader.posts for reader in readers] == [["1"], ["1"], ["2", "6"]], "peers are told")
    # A batch that comes again is the same events.
    assert len(elsewhere.hand_over(batch, "run", 0)) == 0
    assert elsewhere.hand_over(rows(("nasa", "8")), "run", 3).num_rows == 0
    until(lambda: [reader.posts for reader in readers] == [["1", "8"], ["1", "8"], ["2", "6"]], "peers are told")
    assert elsewhere.handed_over == 3 + 1 + 3 + 1
    elsewhere.close()


def test_what_other_jobs_carry_is_taken_by_nobody(readers: list[Reader], peers: PeerSettings) -> None:
    one, two = (Peers(replace(peers, only=True)) for _ in range(2))
    assert len(one.hand_over(rows(("cats", "1")), "run", 0)) == 0
    one._node.ask(lambda node: _carry(node, "dogs"))
    assert two.hand_over(rows(("dogs", "2"), ("dogs", "3")), "run", 0)["id"].to_pylist() == ["2", "3"]
    # They did meet, and one job has carried what the other publishes.
    assert two._node.ask(lambda node: _has_neighbours(node, "dogs"))
    assert two.handed_over == 0
    one.close()
    two.close()


async def _carry(node: Node, topic: str) -> None:
    node.carry(topic)


async def _has_neighbours(node: Node, topic: str) -> bool:
    return any(node.neighbours(topic))


def test_without_anybody_there_all_waits_and_the_job_goes_on(tmp_path: Path) -> None:
    nobody = Peers(PeerSettings((Address("127.0.0.1", 9),), only=True, within_s=0.1))
    batch = rows(("nasa", "1"), ("esa", "2"))
    assert nobody.hand_over(batch, "run", 0).equals(batch)
    nobody.close()


def test_a_batch_that_peers_are_too_slow_for_goes_on_and_says_how_many_wait(
    readers: list[Reader], peers: PeerSettings, caplog: pytest.LogCaptureFixture
) -> None:
    hurried = Peers(replace(peers, only=True, longest_s=0.0))
    batch = rows(("nasa", "1"), ("nasa", "2"))
    assert hurried.hand_over(batch, "run", 0).equals(batch)
    assert "of 2 events, 2 are not known to be told by peers, and wait in the inbox" in caplog.text
    hurried.close()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"join": (Address("10.1.0.7", 1),)}, "give --overlay-key-file"),
        ({"listen": Address("0.0.0.0", 1)}, "say by --overlay-advertise HOST:PORT"),
        ({"join": (Address("10.1.0.7", 1),), "key_file": "key"}, "give --overlay-listen with an address"),
    ],
)
def test_messages_name_the_options_of_the_job(wrong: dict[str, Any], said: str, tmp_path: Path) -> None:
    (tmp_path / "key").write_text(KEY)
    if "key_file" in wrong or "listen" in wrong:
        wrong = {**wrong, "key_file": tmp_path / "key"}
    with pytest.raises(ConfigError, match=said):
        Peers(replace(PeerSettings((Address("127.0.0.1", 9),)), **wrong)).open()


def test_a_job_that_begins_anew_looks_for_peers_anew(readers: list[Reader], peers: PeerSettings) -> None:
    elsewhere = Peers(replace(peers, only=True))
    for batch in range(2):
        assert len(elsewhere.hand_over(rows(("nasa", f"{batch}")), "run", batch)) == 0
        elsewhere.close()


def test_posts_that_are_none_wait_in_the_inbox(readers: list[Reader], peers: PeerSettings) -> None:
    elsewhere = Peers(replace(peers, only=True))
    batch = rows(("nasa", "1"), ("nasa", "2"), ("nasa", "3"), ("nasa", "4"))
    posts = pa.array([None, "no JSON", "[" * 100_000, '{"id": "4"}'], pa.string())
    kept = elsewhere.hand_over(batch.set_column(batch.schema.get_field_index("post"), "post", posts), "run", 0)
    assert kept["id"].to_pylist() == ["1", "2", "3"]
    elsewhere.close()


def test_a_key_that_is_not_there_is_refused_before_the_job_begins(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"the key of peers, .*, cannot be read"):
        Peers(PeerSettings((Address("127.0.0.1", 9),), tmp_path / "key"))
