"""Two services at two sites: who follows a topic hears what is posted at the other; the link carries it once."""

import asyncio
import re
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest

from tests.serve.following import Received, following
from tests.serve.process import ServerProcess, free_port
from tests.serve.scene import bearer
from tidegate.deliver.ends import Address
from tidegate.deliver.site import Site
from tidegate.errors import ConfigError
from tidegate.serve.links import Links

READERS = 20


class Sites(NamedTuple):
    here: ServerProcess
    there: ServerProcess
    port: int

    def crossed(self, at: ServerProcess, what: str) -> int:
        text = httpx.get(f"{at.url}/metrics", headers=bearer(at.operator_key)).text
        found = re.search(
            rf'^tidegate_link_{what}(?:_total)?\{{link="127.0.0.1:{self.port}"\}} ([0-9.e+]+)$', text, re.MULTILINE
        )
        assert found is not None, text
        return int(float(found.group(1)))

    def wait_until_linked(self) -> None:
        comes_true(lambda: bool(self.crossed(self.here, "up") and self.crossed(self.there, "up")))


def comes_true(what: Callable[[], bool], seconds: float = 30) -> None:
    until = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < until
        time.sleep(0.05)


@pytest.fixture
def sites(tmp_path: Path) -> Iterator[Sites]:
    port, key = free_port(), tmp_path / "link.key"
    key.write_text("a key that two sites share\n")
    common = ["--broker", "a", "--broker", "b", "--link-key-file", str(key)]
    ends = {"here": "--link-at", "there": "--link-to"}
    with ExitStack() as stack:
        for name in ends:
            (tmp_path / name).mkdir()
        here, there = (
            stack.enter_context(
                ServerProcess(tmp_path / name, further=["--site", name, *common, end, f"127.0.0.1:{port}"])
            )
            for name, end in ends.items()
        )
        sites = Sites(here, there, port)
        sites.wait_until_linked()
        yield sites


def post(server: ServerProcess, topic: str, text: str) -> None:
    body = {"text": text, "topic": topic, "topic_type": "presence"}
    assert httpx.post(f"{server.url}/posts", json=body, headers=bearer(server.operator_key)).status_code == 201


def heard(feed: Iterator[Received]) -> str:
    return str(next(event.data["text"] for event in feed if event.kind == "presence"))


def test_a_post_crosses_the_link_once_however_many_follow_it_there(sites: Sites) -> None:
    readers = [sites.there.sign_up(f"reader{number}") for number in range(READERS)]
    with ExitStack() as stack:
        feeds = [stack.enter_context(following(sites.there.url, key, topic="door")) for key in readers]
        for feed in feeds:
            assert next(feed).kind == "ready"
        post(sites.there, "door", "opened")
        assert [heard(feed) for feed in feeds] == ["opened"] * READERS
        post(sites.here, "door", "closed")
        assert [heard(feed) for feed in feeds] == ["closed"] * READERS
        # What nobody follows at the other site stays at home.
        post(sites.here, "window", "open")
        post(sites.here, "door", "locked")
        assert [heard(feed) for feed in feeds] == ["locked"] * READERS
        assert sites.crossed(sites.here, "events") == 2
        assert sites.crossed(sites.there, "events") == 0


def test_who_comes_later_and_after_a_kill_is_shown_the_last_event_of_the_other_site(sites: Sites) -> None:
    reader = sites.there.sign_up("reader")
    post(sites.here, "door", "opened")
    with following(sites.there.url, reader, topic="door") as feed:
        assert heard(feed) == "opened"
    sites.there.kill()
    sites.there.start()
    sites.wait_until_linked()
    with following(sites.there.url, reader, topic="door") as feed:
        assert heard(feed) == "opened"
        post(sites.here, "door", "closed")
        assert heard(feed) == "closed"


@pytest.mark.parametrize("text", ["", "9000", "host:", ":9000", "host:0", "host:65536", "host:x", "host:٣"])
def test_what_is_no_end_of_a_link_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="write HOST:PORT"):
        Address.parse(text)


def test_a_port_that_is_taken_is_named() -> None:
    with pytest.raises(ConfigError, match="no site can be waited for here"):
        asyncio.run(_both_at_one_port())


async def _both_at_one_port() -> None:
    address = Address("127.0.0.1", free_port())
    site = Site("s", "A")
    async with Links(site, [address], []).up(), Links(site, [address], []).up():
        pass
