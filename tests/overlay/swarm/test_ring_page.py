"""The picture of a ring shows what the peers take for their neighbours."""

import json
import re

import pytest

from tidegate.csr import from_rows
from tidegate.errors import ConfigError
from tidegate.overlay.swarm.ring_page import RingPage
from tidegate.overlay.swarm.swarm import Swarm
from tidegate.workload.follows import friends


def data_in(page: str) -> dict[str, list[dict[str, object]]]:
    found = re.search(r'<script id="data" type="application/json">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return json.loads(found[1])  # type: ignore[no-any-return]


def test_frames_show_links_from_none_to_all_and_who_is_gone() -> None:
    swarm = Swarm(from_rows([[0]] * 7), seed=1)
    page = RingPage.of(swarm)
    page.look(0)
    swarm.warm()
    swarm.run(20)
    page.look(20)
    swarm.leave([3])
    page.look(21)
    first, last, later = data_in(page.html())["frames"]
    assert first["after"] == first["before"] == [-1] * 7
    # Peers are in the order of ids.
    assert last["after"] == [1, 2, 3, 4, 5, 6, 0]
    assert last["before"] == [6, 0, 1, 2, 3, 4, 5]
    assert later["up"] == "".join("0" if peer == 3 else "1" for peer in page.peers.tolist())


def test_a_page_fetches_nothing() -> None:
    page = RingPage.of(Swarm(friends(60, 4, 1).followed))
    page.look(0)
    assert not re.search(r"""(src|href)=|@import|url\(|fetch\(""", page.html())


def test_the_ring_that_is_seen_best_is_drawn_unless_one_is_named() -> None:
    swarm = Swarm(from_rows([[0, 2]] * 48 + [[0]] * 40 + [[1]]))
    assert RingPage.of(swarm).topic == 2
    assert len(RingPage.of(swarm, 0).peers) == 88
    for nobodys in (3, -1):
        with pytest.raises(ConfigError, match="nobody follows topic"):
            RingPage.of(swarm, nobodys)
