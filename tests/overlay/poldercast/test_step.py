"""A step asks, answers and forgets; settings that no overlay can be kept with are refused."""

from typing import Any

import pytest

from tests.overlay.poldercast.twins import Town, entries, fill, listed
from tidegate.errors import ConfigError
from tidegate.overlay.poldercast.settings import CYCLON, RINGS, VICINITY, Gossip, Settings
from tidegate.overlay.poldercast.step import answer_gossip, close_gossip, forget, open_gossip
from tidegate.workload.alias import random_state

PAIR = Town([5, 6, 7], [{0, 1}, {0, 1}, {1}])


@pytest.mark.parametrize("module", [CYCLON, VICINITY, RINGS])
def test_whoever_does_not_answer_is_forgotten_by_all_modules_when_the_next_gossip_is_opened(module: int) -> None:
    nodes, scratch, random, out = PAIR.nodes(), PAIR.scratch(), random_state(0), entries([], 4)
    fill(nodes.cyclon[0], [1])
    for opened in (VICINITY, RINGS, CYCLON):
        answer_gossip(nodes, 0, opened, 1, entries([], 4), scratch, random, out)
    assert open_gossip(nodes, 0, module, scratch, random, out) == 1
    open_gossip(nodes, 0, module, scratch, random, out)
    assert 1 not in [*listed(nodes.cyclon[0]), *listed(nodes.vicinity[0]), *listed(nodes.rings[:2].ravel())]
    assert not nodes.held[:2].any()


@pytest.mark.parametrize("module", [CYCLON, VICINITY, RINGS])
def test_an_answer_counts_once_and_from_nobody_else_than_who_was_asked(module: int) -> None:
    nodes, scratch, random, out = PAIR.nodes(), PAIR.scratch(), random_state(0), entries([], 4)
    answer_gossip(nodes, 0, module, 1, entries([], 4), scratch, random, out)
    assert open_gossip(nodes, 0, module, scratch, random, out) == 1
    assert not close_gossip(nodes, 0, module, 2, entries([2], 4), scratch, random)
    assert close_gossip(nodes, 0, module, 1, entries([2], 4), scratch, random)
    assert not close_gossip(nodes, 0, module, 1, entries([2], 4), scratch, random)
    assert 2 in listed(nodes.rings[1])


def test_a_step_changes_no_row_but_that_of_its_peer() -> None:
    nodes, scratch, random, out = PAIR.nodes(), PAIR.scratch(), random_state(0), entries([], 4)
    for me in range(3):
        fill(nodes.cyclon[me], [peer for peer in range(3) if peer != me])
    others = [array[1:].copy() for array in (nodes.cyclon, nodes.vicinity, nodes.asked, nodes.sent, nodes.clock)]
    rings = nodes.rings[2:].copy()
    for module in (CYCLON, VICINITY, RINGS):
        open_gossip(nodes, 0, module, scratch, random, out)
        answer_gossip(nodes, 0, module, 2, entries([1], 4), scratch, random, out)
    after = [array[1:] for array in (nodes.cyclon, nodes.vicinity, nodes.asked, nodes.sent, nodes.clock)]
    assert all((one == other).all() for one, other in zip(others, after, strict=True))
    assert (rings == nodes.rings[2:]).all()


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"cyclon": Gossip(view=1)}, "views of 1"),
        ({"vicinity": Gossip(letter=0)}, "vicinity: letters of 0"),
        ({"rings": Gossip(view=3)}, "3 ring neighbours"),
        ({"rings": Gossip(view=4, period=0)}, "every 0 cycles"),
    ],
)
def test_settings_that_keep_no_overlay_are_refused(parts: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        Settings(**parts)


def test_news_of_somebody_silent_is_believed_only_if_it_is_later() -> None:
    nodes, scratch, random, out = PAIR.nodes(), PAIR.scratch(), random_state(0), entries([], 4)
    fill(nodes.cyclon[0], [1])
    assert open_gossip(nodes, 0, CYCLON, scratch, random, out) == 1
    nodes.clock[0] += 1
    open_gossip(nodes, 0, CYCLON, scratch, random, out)
    answer_gossip(nodes, 0, RINGS, 2, entries([1], 4, [1]), scratch, random, out)
    assert 1 not in listed(nodes.rings[1])
    nodes.clock[0] += 1
    answer_gossip(nodes, 0, RINGS, 2, entries([1], 4, [1]), scratch, random, out)
    assert 1 in listed(nodes.rings[1])


def test_so_many_silent_ones_are_remembered_and_the_first_make_room() -> None:
    many = Town(list(range(50)), [{0}] * 50)
    nodes = many.nodes()
    for peer in range(1, 41):
        nodes.clock[0] += 1
        forget(nodes, 0, peer)
    assert sorted(listed(nodes.gone[0])) == list(range(9, 41))
