"""Events go along rings and across them, and to nobody that is known to have them: nobody misses one for that."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.overlay.poldercast.twins import Town, fill, listed
from tidegate.csr import Int64
from tidegate.overlay.poldercast.ringcast import BY_ALL, BY_BOTH, NAMED, name, pass_on
from tidegate.overlay.poldercast.state import Nodes
from tidegate.overlay.swarm.swarm import Flags
from tidegate.workload.alias import random_state

NOBODY = np.empty(0, np.int64)
SHORTCUTS = st.sampled_from([BY_BOTH, BY_ALL])


class Crowd(NamedTuple):
    """Peers of one topic, those of them that can be reached, and a fan-out."""

    nodes: Nodes
    reachable: Flags
    fan_out: int

    def next_ones(self, me: int) -> set[int]:
        """Return whom a peer takes to be next in the ring, on either side."""
        sides = listed(self.nodes.rings[me, :2]), listed(self.nodes.rings[me, 2:])
        return {next(peer for peer in side if self.reachable[peer]) for side in sides if self.reachable[side].any()}

    def passed_on(self, me: int, sender: int, served: Int64, shortcuts: int) -> list[int]:
        out = np.empty(self.fan_out, np.int64)
        many = pass_on(self.nodes, me, 0, sender, served, shortcuts, self.reachable, random_state(me), out)
        return [int(peer) for peer in out[:many]]


class Spread(NamedTuple):
    """Who was reached, after how many hops; every copy, and whom it named."""

    hops: dict[int, int]
    copies: list[tuple[int, int]]
    named: dict[int, list[int]]


def spread(crowd: Crowd, first: int, shortcuts: int, *, naming: bool) -> Spread:
    """Let an event spread; nothing is lost."""
    hops, copies, named, senders = {first: 0}, list[tuple[int, int]](), dict[int, Int64](), {first: -1}
    queue = [first]
    for me in queue:
        sender = senders[me]
        served = named.get(sender, NOBODY)
        receivers = crowd.passed_on(me, sender, served if naming else NOBODY, shortcuts)
        named[me] = np.empty(NAMED, np.int64)
        name(me, sender, served, np.array(receivers, np.int64), named[me])
        for peer in receivers:
            copies.append((me, peer))
            if peer not in hops:
                hops[peer], senders[peer] = hops[me] + 1, me
                queue.append(peer)
    return Spread(hops, copies, {me: row[row >= 0].tolist() for me, row in named.items()})


@st.composite
def crowds(draw: st.DrawFn, whole: bool = False) -> Crowd:
    """Peers with any ring views and others, or with those of complete rings; some cannot be reached."""
    peers = draw(st.integers(2, 12))
    town = Town(list(range(0, 10 * peers, 10)), [{0}] * peers)
    nodes, everybody = town.nodes(), set(range(peers))
    up = np.array(draw(st.lists(st.booleans(), min_size=peers, max_size=peers)))
    for me in range(peers):
        some = st.lists(st.sampled_from(sorted(everybody - {me})), unique=True, max_size=6)
        known = set(np.flatnonzero(up).tolist()) if whole else set(draw(some))
        after, before = town.ring_view(me, known, 2)
        fill(nodes.rings[me, :2], after)
        fill(nodes.rings[me, 2:], before)
        fill(nodes.cyclon[me], draw(some))
        fill(nodes.vicinity[me], draw(some))
    return Crowd(nodes, up, draw(st.integers(2, 5)))


@given(crowds(), st.data())
def test_along_rings_names_save_copies_and_change_nothing_else(crowd: Crowd, data: st.DataObject) -> None:
    first = data.draw(st.sampled_from(range(len(crowd.reachable))))
    told, bare = (spread(crowd, first, 0, naming=naming) for naming in (True, False))
    assert told.hops == bare.hops
    assert set(told.copies) <= set(bare.copies)


@given(crowds(), st.data())
def test_whoever_is_named_has_the_event_and_so_do_the_next_ones_of_all_that_have(
    crowd: Crowd, data: st.DataObject
) -> None:
    first = data.draw(st.sampled_from(range(len(crowd.reachable))))
    told = spread(crowd, first, data.draw(SHORTCUTS), naming=True)
    for me in told.hops:
        assert set(told.named[me]) <= set(told.hops)
        assert len(set(told.named[me])) == len(told.named[me])
        assert crowd.next_ones(me) <= set(told.hops)


@given(crowds(whole=True), st.data())
def test_complete_rings_reach_everybody_with_names_and_without(crowd: Crowd, data: st.DataObject) -> None:
    there = np.flatnonzero(crowd.reachable).tolist()
    first = data.draw(st.sampled_from(there or [0]))
    shortcuts = data.draw(SHORTCUTS)
    for naming in (True, False):
        assert set(spread(crowd, first, shortcuts, naming=naming).hops) == {first, *there}


@given(crowds(), st.data())
def test_no_peer_sends_more_for_knowing_who_is_served_and_nothing_to_those(crowd: Crowd, data: st.DataObject) -> None:
    peers = st.integers(0, len(crowd.reachable) - 1)
    me, sender, served = data.draw(peers), data.draw(peers), data.draw(st.lists(peers, max_size=6))
    shortcuts = data.draw(SHORTCUTS)
    told = crowd.passed_on(me, sender, np.array(served, np.int64), shortcuts)
    bare = crowd.passed_on(me, sender, NOBODY, shortcuts)
    assert len(told) <= len(bare) <= crowd.fan_out
    assert not {*served, sender} & set(told)
    # A place along the ring that somebody else has filled is not one for a shortcut.
    assert len(told) <= crowd.fan_out - len(crowd.next_ones(me) & set(served) - {sender})
    assert crowd.next_ones(me) <= {*told, *served, sender}


def test_a_next_one_that_is_served_needs_nobody_in_its_place_unless_it_is_gone() -> None:
    town = Town([0, 10, 20, 30, 40], [{0}] * 5)
    nodes = town.nodes()
    fill(nodes.rings[0, :2], [1, 2])
    fill(nodes.rings[0, 2:], [4, 3])
    fill(nodes.cyclon[0], [2, 3])
    crowd = Crowd(nodes, np.ones(5, np.bool_), 2)
    assert crowd.passed_on(0, 4, np.array([1]), BY_BOTH) in ([2], [3])
    assert crowd.passed_on(0, 4, np.array([1]), 0) == []
    crowd.reachable[1] = False
    assert crowd.passed_on(0, 4, np.array([1]), 0) == [2]


def test_who_is_behind_the_next_ones_is_a_shortcut_as_well_where_that_is_asked_for() -> None:
    nodes = Town([0, 10, 20, 30, 40], [{0}] * 5).nodes()
    fill(nodes.rings[0, :2], [1])
    fill(nodes.rings[0, 2:], [4, 3])
    crowd = Crowd(nodes, np.ones(5, np.bool_), 4)
    assert crowd.passed_on(0, -1, NOBODY, BY_BOTH) == [1, 4]
    assert crowd.passed_on(0, -1, NOBODY, BY_ALL) == [1, 4, 3]


@pytest.mark.parametrize(("room", "named"), [(8, [5, 6, 2, 7, 8]), (4, [5, 6, 2, 7]), (1, [5])])
def test_a_copy_names_its_receivers_then_the_sender_before_and_then_whom_that_named(
    room: int, named: list[int]
) -> None:
    out = np.empty(room, np.int64)
    name(3, 2, np.array([3, 7, 8, -1]), np.array([5, 6]), out)
    assert out.tolist() == named + [-1] * (room - len(named))
