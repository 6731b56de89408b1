"""Peers find out by themselves what was missed, and by gossip how much all did."""

import numpy as np
import pytest

from tidegate.csr import from_rows
from tidegate.overlay.swarm.latency import drawn_latency
from tidegate.overlay.swarm.misses import average, compare, hear
from tidegate.overlay.swarm.spreading import UNHEARD, spreading_of
from tidegate.overlay.swarm.swarm import Swarm
from tidegate.overlay.swarm.timed import AS_PRINTED, Timed
from tidegate.workload.follows import friends


def circle(peers: int = 4) -> Timed:
    """All follow one topic, and its ring is closed."""
    swarm = Swarm(from_rows([[0]] * peers), seed=1)
    swarm.warm()
    timed = Timed(swarm, pace=AS_PRINTED)
    timed.run(20 * 60.0)
    return timed


def take_away(timed: Timed, peer: int) -> None:
    """Let a peer have missed the last event of the only topic."""
    timed.spreading.seen[peer] -= 1
    timed.spreading.misses.known[peer] -= 1


@pytest.mark.parametrize(("known", "number", "found"), [(3, 4, 0), (3, 5, 1), (3, 9, 1), (3, 3, 0), (UNHEARD, 5, 0)])
def test_who_gets_an_event_knows_by_its_number_whether_it_missed_one(known: int, number: int, found: int) -> None:
    misses = spreading_of(1, 1, 1, 0).misses
    misses.known[0] = known
    hear(misses, 0, 0, number)
    assert (misses.found[0], misses.known[0]) == (found, number)


def test_who_gets_every_event_finds_nothing() -> None:
    timed = circle()
    for _ in range(5):
        timed.publish()
        timed.run(timed.now + 60)
    assert (timed.spreading.misses.known == 5).all()
    assert not timed.spreading.misses.found.any()
    assert (timed.spreading.misses.share == 0).all()


def test_a_neighbour_tells_of_an_event_that_was_missed_once_and_all_hear_of_it_by_and_by() -> None:
    timed = circle()
    timed.publish()
    timed.run(timed.now + 3)
    take_away(timed, 2)
    timed.run(timed.now + 120)
    misses = timed.spreading.misses
    assert misses.known.tolist() == [1] * 4
    timed.run(timed.now + 120)
    # The cycle counts a tenth, and is forgotten as slowly.
    assert 0 < misses.share.min() <= misses.share.max() < 0.1
    assert timed.outcome().missed.tolist() == [0, 0, 1, 0]
    timed.run(timed.now + 3600)
    assert misses.share.max() < 0.001


@pytest.mark.parametrize(
    ("after", "came", "found", "known"),
    [
        (4.9, -np.inf, 0, 0),
        (5.1, -np.inf, 1, 1),
        (5.1, -10.0, 1, 1),
        # Too late to be expected to have it.
        (5.1, -9.9, 0, 1),
    ],
)
def test_an_event_counts_as_missed_when_a_neighbour_has_had_it_for_a_while(
    after: float, came: float, found: int, known: int
) -> None:
    timed = circle()
    timed.publish()
    published = timed.now
    timed.run(timed.now + 1)
    misses = timed.spreading.misses
    take_away(timed, 2)
    misses.known[2] = 0
    misses.found[:] = 0
    compare(timed.swarm.nodes, timed.spreading, 2, 1, published + came, published + after)
    assert (misses.found[2], misses.known[2]) == (found, known)
    compare(timed.swarm.nodes, timed.spreading, 2, 1, published + came, published + after)
    assert misses.found.tolist() == [0, 0, found, 0]


def test_who_comes_later_has_not_missed_what_was_published_before() -> None:
    timed = circle()
    timed.leave([2])
    timed.publish()
    timed.run(timed.now + 10)
    timed.join([2])
    assert timed.spreading.misses.known[2] == UNHEARD
    timed.run(timed.now + 180)
    assert timed.spreading.misses.known[2] == 1
    assert (timed.spreading.misses.share == 0).all()


def test_who_knows_nothing_yet_takes_what_it_is_told_and_tells_nothing() -> None:
    misses = spreading_of(3, 1, 1, 0).misses
    misses.share[:] = (UNHEARD, 0.2, 0.4)
    average(misses, 1, 0)
    assert misses.share[1] == pytest.approx(0.2)
    average(misses, 0, 1)
    average(misses, 0, 2)
    assert misses.share[0] == pytest.approx(0.3)


def test_what_peers_find_out_is_about_what_was_missed() -> None:
    peers = 200
    swarm = Swarm(friends(peers, 8, 3).followed, seed=3)
    swarm.warm()
    timed = Timed(swarm, drawn_latency(peers, 1), AS_PRINTED)
    timed.run(30 * 60.0)
    missed, told = [], []
    for minute in range(40):
        timed.publish()
        if minute in (3, 13):
            timed.leave(np.flatnonzero(swarm.up)[::5])
        timed.run(timed.now + 60)
        missed.append(np.count_nonzero(timed.outcome().missed[swarm.up]) / swarm.up.sum())
        told.append(timed.spreading.misses.share[swarm.up].mean())
    assert sum(missed) > 0.2
    assert 0.5 < sum(told) / sum(missed) < 1.5


def test_a_twin_goes_on_from_what_its_peers_know_and_changes_nothing_of_the_other() -> None:
    timed = circle()
    twin = timed.twin()
    twin.publish()
    twin.run(twin.now + 30)
    assert timed.spreading.event.tolist() == [0]
    again = timed.twin(twin.spreading)
    assert (again.now, again.spreading.event.tolist()) == (timed.now, [1])
    again.publish()
    again.run(again.now + 30)
    assert (again.spreading.misses.known == 2).all()
