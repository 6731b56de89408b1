"""Peers that come, or come back: by whom, what they know, and how soon others know them."""

import numpy as np
import pytest

from tests.overlay.swarm.timing import FOLLOWS, PEERS, far_apart, until_asked, with_closed_rings
from tidegate.csr import from_rows
from tidegate.overlay.poldercast.entries import MET, heard, peer_in
from tidegate.overlay.swarm.completeness import completeness
from tidegate.overlay.swarm.swarm import Swarm
from tidegate.overlay.swarm.timed import Pace, Timed


@pytest.fixture
def settled() -> Timed:
    return with_closed_rings()


def test_who_comes_back_awaits_no_answer_from_before_and_takes_nobody_to_be_silent() -> None:
    timed = far_apart(3)
    until_asked(timed, 1)
    timed.leave([1])
    timed.run(timed.now + 30)
    timed.join([1])
    timed.run(timed.now + 1)
    assert (timed.swarm.nodes.gone[1] < 0).all()
    assert timed.swarm.up.all()


def back(settled: Timed) -> list[int]:
    """Let a quarter of the peers be away for 20 minutes, and come back."""
    late = list(range(0, PEERS, 4))
    settled.leave(late)
    settled.run(settled.now + 20 * 60.0)
    settled.join(late)
    return late


def test_who_comes_is_welcomed_by_one_that_names_some_of_its_view(settled: Timed) -> None:
    nodes, world, posted = settled.swarm.nodes, settled.world, settled.posted
    settled.leave([7, 8])
    settled.run(settled.now + 20 * 60.0)
    nodes.cyclon[7] = -1
    known = {peer: nodes.cyclon[peer].copy() for peer in range(PEERS)}
    clocks = nodes.clock.copy()
    sent, got = posted.sent.copy(), posted.got.copy()
    settled.join([7])
    contact = int(world.contacts[7])
    view = nodes.cyclon[7][nodes.cyclon[7] >= 0]
    assert len(view) == 1 + settled.swarm.settings.cyclon.letter
    assert (peer_in(view[0]), heard(view[0])) == (contact, nodes.clock[7])
    its = known[contact]
    assert {int(peer_in(entry)) for entry in view[1:]} <= {int(peer_in(entry)) for entry in its}
    # By the age that the contact knows, at the time of its welcome.
    for entry in view[1:]:
        of_it = its[peer_in(its) == peer_in(entry)][0]
        assert nodes.clock[7] - heard(entry) == nodes.clock[contact] - heard(of_it)
    assert nodes.clock[contact] == nodes.clock[7] > clocks[contact]
    assert 7 in peer_in(nodes.cyclon[contact])
    # One that asks, one that welcomes, and nothing else.
    both = np.isin(np.arange(PEERS), (7, contact))
    assert (posted.sent - sent).tolist() == (posted.got - got).tolist() == both.astype(int).tolist()


def test_who_comes_back_keeps_whom_it_knew_and_takes_others_where_there_is_room(settled: Timed) -> None:
    settled.leave([7])
    view = settled.swarm.nodes.cyclon[7]
    view[-3:] = -1
    before = view.copy()
    settled.join([7])
    assert (view[:-3] == before[:-3]).all()
    assert (view[-3:] >= 0).all()
    assert len(set(peer_in(view).tolist())) == len(view)


def test_nobody_comes_by_somebody_beyond_a_partition(settled: Timed) -> None:
    settled.leave(range(20))
    settled.part(np.arange(PEERS) % 2 == 0)
    settled.join(range(20))
    assert (settled.world.contacts[:20] % 2 == np.arange(20) % 2).all()


def test_those_who_come_together_to_an_empty_network_find_each_other() -> None:
    swarm = Swarm(from_rows([[0]] * 10), seed=1)
    swarm.leave(range(10))
    timed = Timed(swarm)
    timed.run(60.0)
    timed.join(range(10))
    # The first came to nobody, each of the others by one that came before it.
    assert timed.world.contacts[0] == -1
    assert all(0 <= timed.world.contacts[peer] < peer for peer in range(1, 10))
    timed.run(60.0 + 60.0)
    assert completeness(swarm).missing == 0


def test_who_is_there_does_not_come(settled: Timed) -> None:
    came, sent = settled.world.came.copy(), settled.posted.sent.copy()
    settled.join([7])
    assert (settled.world.came == came).all()
    assert (settled.posted.sent == sent).all()


def test_who_came_just_before_is_not_expected_to_get_events(settled: Timed) -> None:
    late = back(settled)
    settled.run(settled.now + 5)
    settled.publish()
    settled.run(settled.now + 2)
    assert not settled.outcome().missed[late].any()
    assert settled.outcome().subscribers.sum() < len(FOLLOWS.followed.values)


def test_who_comes_writes_as_soon_as_it_is_answered_and_so_do_those_it_is_next_to(settled: Timed) -> None:
    back(settled)
    # A letter a second, to one neighbour after the other, would take twenty.
    settled.run(settled.now + 3)
    assert completeness(settled.swarm).missing == 0


def test_haste_has_rings_closed_sooner(settled: Timed) -> None:
    missing = []
    for letters in (0, Pace().hasty_letters):
        timed = settled.twin()
        timed.pace = Pace(hasty_letters=letters)
        back(timed)
        timed.run(timed.now + 1)
        missing.append(completeness(timed.swarm).missing)
    assert missing[1] < 0.7 * missing[0]


def test_who_comes_back_has_met_nobody_that_it_remembers(settled: Timed) -> None:
    late, nodes, contacts = back(settled), settled.swarm.nodes, settled.world.contacts
    rings = np.concatenate([nodes.rings[slice(*nodes.bounds[peer])] for peer in late])
    assert ((rings >= 0) & (rings < MET)).any()
    for peer in late:
        row = nodes.rings[slice(*nodes.bounds[peer])]
        # But for those who came after it, by it.
        assert (contacts[peer_in(row[row >= MET])] == peer).all()
