"""Peers with clocks of their own, letters that take time, and peers that come and go meanwhile."""

from copy import deepcopy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.overlay.swarm.timing import FOLLOWS, PEERS, far_apart, started, until_asked, with_closed_rings
from tidegate.csr import from_rows
from tidegate.errors import ConfigError
from tidegate.overlay.poldercast.entries import MET, entry_of, peer_in
from tidegate.overlay.poldercast.settings import RINGS, Gossip, Settings
from tidegate.overlay.swarm.churn import Churn
from tidegate.overlay.swarm.completeness import completeness
from tidegate.overlay.swarm.flights import TURN, arrive, due, flights_of, room_for, send, with_more_room
from tidegate.overlay.swarm.gossiping import TICK_S
from tidegate.overlay.swarm.latency import Latency, drawn_latency
from tidegate.overlay.swarm.sessions import always
from tidegate.overlay.swarm.swarm import Swarm
from tidegate.overlay.swarm.timed import AS_PRINTED, Pace, Timed


@pytest.fixture
def settled() -> Timed:
    return with_closed_rings()


def calmed(timed: Timed) -> bool:
    """Whether peers have about one turn a cycle again, an hour later."""
    timed.run(timed.now + 60 * 60.0)
    sent = timed.posted.sent.sum()
    timed.run(timed.now + 10 * 60.0)
    # Of six letters in a turn three are answers.
    return bool((timed.posted.sent.sum() - sent) / timed.swarm.up.sum() < 6 * 10 * 1.1)


@given(st.lists(st.integers(0, 50), max_size=60))
def test_what_is_under_way_arrives_in_the_order_of_time_and_then_of_being_sent(times: list[int]) -> None:
    flights = flights_of(1, room=2)
    for number, when in enumerate(times):
        if not room_for(flights, 1):
            flights = with_more_room(flights)
        flights.letter[send(flights, float(when), TURN, 0, 0, 0, number), 0] = number
    arrived = []
    while due(flights, 40.0):
        flight = arrive(flights)
        assert flights.letter[flight.slot, 0] == flight.number
        arrived.append((flight.when, flight.number))
    assert arrived == sorted((float(when), number) for number, when in enumerate(times) if when < 40)


def test_events_reach_everybody_and_take_as_long_as_their_hops(settled: Timed) -> None:
    settled.publish()
    settled.run(settled.now + 30)
    outcome = settled.outcome()
    assert outcome.hit_ratio == 1.0
    assert not outcome.lost.any()
    assert (outcome.copies <= 2 * outcome.reached).all()
    assert 0.02 < settled.mean_delay_s() / outcome.mean_hops < 0.13


def test_copies_name_on_their_way_who_has_the_event() -> None:
    swarm = Swarm(from_rows([[0]] * 4), Settings(Gossip(letter=2), Gossip(letter=2), Gossip(view=4, letter=2)), seed=1)
    swarm.warm()
    timed = Timed(swarm)
    timed.run(20 * 60.0)
    assert completeness(swarm).missing == 0
    for _ in range(3):
        timed.publish()
        timed.run(timed.now + 30)
        assert timed.outcome().reached.tolist() == [4]
        # Both next ones send it to the one across, which sends it to neither.
        assert timed.outcome().copies.tolist() == [4]


def test_a_seed_determines_all_and_events_change_nothing_of_the_overlay() -> None:
    first, again, other = started(), started(), started(4)
    for timed in (first, again, other):
        timed.run(300.0)
        if timed is again:
            timed.publish()
        timed.run(600.0)
    assert (first.swarm.nodes.rings == again.swarm.nodes.rings).all()
    assert (first.swarm.nodes.cyclon != other.swarm.nodes.cyclon).any()


def test_runs_may_be_cut_anywhere() -> None:
    whole, cut = started(), started()
    whole.run(300.0)
    for until in (0.5, 100.0, 100.0, 299.0, 300.0):
        cut.run(until)
    assert (whole.swarm.nodes.rings == cut.swarm.nodes.rings).all()


def test_every_peer_gossips_once_a_cycle_at_its_own_time() -> None:
    timed = started()
    timed.run(30.0)
    assert set(timed.world.gossiped.tolist()) == {0, 1}
    timed.run(600.0)
    assert (timed.world.gossiped == 10).all()


def test_nobody_who_answers_is_taken_to_be_silent_however_short_a_cycle_is() -> None:
    swarm = Swarm(FOLLOWS.followed, seed=3)
    swarm.warm()
    timed = Timed(swarm, drawn_latency(PEERS, 1), Pace(cycle_s=1.0))
    timed.run(30.0)
    assert (swarm.nodes.gone < 0).all()
    assert completeness(swarm).missing == 0


def test_a_letter_to_one_that_is_gone_when_it_arrives_is_lost() -> None:
    lost = far_apart(2)
    until_asked(lost, 0)
    read = deepcopy(lost)
    sent, got = int(lost.posted.sent[1]), int(lost.posted.got[1])
    lost.leave([1])
    for timed in (lost, read):
        timed.run(timed.now + 6)
    assert read.posted.got[1] > got
    assert (lost.posted.got[1], lost.posted.sent[1]) == (got, sent)


def test_hops_and_delays_are_those_of_who_is_left_if_publishers_have_gone(settled: Timed) -> None:
    settled.publish()
    settled.run(settled.now + 30)
    before, delay = settled.outcome(), settled.mean_delay_s()
    settled.leave(range(0, PEERS, 2))
    after = settled.outcome()
    publishers, swarm = settled.spreading.publisher, settled.swarm
    assert before.published.tolist() == (before.subscribers > 0).astype(int).tolist()
    assert after.published.tolist() == ((publishers >= 0) & swarm.up[publishers]).astype(int).tolist()
    assert after.others_reached == after.reached.sum() - after.published.sum()
    assert after.mean_hops == pytest.approx(before.mean_hops, rel=0.1)
    assert settled.mean_delay_s() == pytest.approx(delay, rel=0.1)


@pytest.mark.parametrize("met", [0, MET])
def test_one_that_is_gone_is_forgotten_when_patience_is_over_and_not_a_turn_later(settled: Timed, met: int) -> None:
    me, nodes, world = 0, settled.swarm.nodes, settled.world
    row = nodes.rings[nodes.bounds[me, 0]]
    gone = peer_in(row[0])
    settled.leave([gone])
    settled.run(settled.now + 20 * 60.0)
    turns = world.gossiped[me]
    while world.gossiped[me] == turns:
        settled.run(settled.now + 0.5)
    # Next to it, and heard of longest ago: it is written to in the next turn, if not before.
    row[1], row[0] = row[0], met | entry_of(gone, 1)
    for _ in range(150):
        if nodes.asked[me, RINGS] == gone:
            break
        settled.run(settled.now + 0.5)
    assert nodes.asked[me, RINGS] == gone
    settled.run(settled.now + 2 * settled.pace.patience_s)
    assert gone not in peer_in(nodes.rings[slice(*nodes.bounds[me])])


@pytest.mark.parametrize(
    ("settings", "pace", "most"),
    [
        (Settings(), AS_PRINTED, 6.0),
        (Settings(as_printed=True), AS_PRINTED, 6.0),
        (Settings(as_printed=True), Pace(), 8.0),
    ],
)
def test_as_printed_peers_write_in_their_turns_alone(settings: Settings, pace: Pace, most: float) -> None:
    swarm = Swarm(FOLLOWS.followed, settings, seed=3)
    swarm.warm()
    timed = Timed(swarm, Latency(np.full((1, 1), 0.001), np.zeros(PEERS, np.int32)), pace)
    timed.run(15 * 60.0)
    # Of six letters in a turn three are answers.
    assert timed.posted.sent.sum() / PEERS <= 15 * most


def test_who_is_silent_is_dealt_with_whether_or_not_it_is_the_turn_of_its_module() -> None:
    swarm = Swarm(FOLLOWS.followed, Settings(rings=Gossip(view=4, period=10)), seed=3)
    swarm.warm()
    timed = Timed(swarm, drawn_latency(PEERS, 1))
    timed.run(120 * 60.0)
    timed.leave(range(0, PEERS, 5))
    turns = timed.world.gossiped[swarm.up]
    timed.run(timed.now + 120)
    assert (timed.world.gossiped[swarm.up] - turns).mean() < 20


def test_a_module_that_knows_nobody_is_in_no_haste() -> None:
    swarm = Swarm(FOLLOWS.followed, Settings(vicinity=Gossip(view=0)), seed=3)
    swarm.warm()
    timed = Timed(swarm, drawn_latency(PEERS, 1))
    timed.run(60 * 60.0)
    timed.leave([7])
    timed.run(timed.now + 300)
    timed.join([7])
    turns = timed.world.gossiped[7]
    timed.run(timed.now + 60)
    assert timed.world.gossiped[7] - turns < Pace().hasty_letters / 2


def test_peers_far_apart_have_the_patience_for_it() -> None:
    swarm = Swarm(FOLLOWS.followed, seed=3)
    swarm.warm()
    timed = Timed(swarm, Latency(np.full((1, 1), 0.6), np.zeros(PEERS, np.int32)))
    timed.run(20 * 60.0)
    assert (swarm.nodes.gone < 0).all()
    assert calmed(timed)


@pytest.mark.parametrize("silent", [False, True])
@pytest.mark.parametrize("latency", [drawn_latency(PEERS, 1), None])
def test_haste_ends_however_soon_answers_come_and_whoever_is_silent(silent: bool, latency: Latency | None) -> None:
    swarm = Swarm(FOLLOWS.followed, seed=3)
    swarm.warm()
    timed = Timed(swarm, latency)
    timed.run(20 * 60.0)
    timed.leave([7])
    timed.run(timed.now + 60)
    if silent:
        # All that it remembers by Rings are; it gets to know others by Cyclon.
        rings = swarm.nodes.rings[slice(*swarm.topics.offsets[7:9])]
        timed.leave(np.unique(peer_in(rings[rings >= 0])))
    timed.join([7])
    requests = timed.world.gossiped[7]
    sent, got = int(timed.posted.sent[7]), int(timed.posted.got[7])
    timed.run(timed.now + 10 * 60)
    assert not timed.world.haste[7].any()
    letters = timed.posted.sent[7] - sent
    answers = timed.posted.got[7] - got
    turns = timed.world.gossiped[7] - requests
    # By each of three modules: those of its haste, those of turns, and answers to others.
    assert letters <= 3 * (Pace().hasty_letters + turns) + answers
    # In haste all the time it would have had one a second.
    assert turns < 300


def test_who_has_found_somebody_silent_looks_again_soon_and_then_calms_down() -> None:
    dead: list[int] = []
    for pace in (AS_PRINTED, Pace()):
        swarm = Swarm(FOLLOWS.followed, seed=3)
        swarm.warm()
        timed = Timed(swarm, drawn_latency(PEERS, 1), pace)
        timed.run(20 * 60.0)
        timed.leave(range(0, PEERS, 5))
        timed.run(timed.now + 180)
        entries = swarm.nodes.rings[np.repeat(swarm.up, np.diff(swarm.topics.offsets))]
        dead.append(int((~swarm.up[peer_in(entries[entries >= 0])]).sum()))
    assert dead[1] < dead[0] / 2
    assert calmed(timed)


def test_clocks_tell_the_time_whether_one_is_in_haste_or_was_away() -> None:
    timed = started()
    timed.leave(range(20))
    timed.run(10 * 60.0)
    timed.join(range(20))
    timed.run(20 * 60.0)
    clock = timed.swarm.nodes.clock
    assert clock.max() - clock.min() <= 60 / TICK_S


def test_nothing_passes_a_partition_and_rings_and_samples_close_again_after_it(settled: Timed) -> None:
    beyond = np.arange(PEERS) % 2 == 0

    def crossing() -> float:
        """What share of the links of Cyclon lead to the other side."""
        view = settled.swarm.nodes.cyclon
        across = beyond[peer_in(np.maximum(view, 0))] != beyond[:, None]
        return float(across[view >= 0].mean())

    settled.part(beyond)
    settled.publish()
    settled.run(settled.now + 5 * 60)
    assert settled.outcome().hit_ratio < 0.8
    assert crossing() == 0
    settled.part(np.zeros(PEERS, np.bool_))
    settled.run(settled.now + 40 * 60)
    settled.publish()
    settled.run(settled.now + 60)
    assert settled.outcome().hit_ratio == 1.0
    assert crossing() > 0.3


def test_peers_come_and_go_at_their_times() -> None:
    timed = started()
    churn = Churn.of(always(PEERS, 3600.0).leaving(600.5, 0.25, seed=1, back_s=300.0))
    timed.run(600.0, churn)
    assert timed.swarm.up.all()
    timed.run(660.0, churn)
    assert timed.swarm.up.sum() == 150
    timed.run(960.0, churn)
    assert timed.swarm.up.all()
    assert np.isin(timed.world.came, (-np.inf, 900.5)).all()


@pytest.mark.parametrize("fan_out", [0, 1])
def test_a_fan_out_that_does_not_go_around_a_ring_is_refused_whenever_it_is_set(fan_out: int) -> None:
    timed = far_apart(3)
    timed.publish()
    timed.spreading.fan_outs[1] = fan_out
    for go_on in (timed.publish, lambda: timed.run(1.0)):
        with pytest.raises(ConfigError, match=f"fan-out of {fan_out}"):
            go_on()


def test_time_that_does_not_pass_is_refused() -> None:
    with pytest.raises(ConfigError, match="more than 0"):
        Pace(cycle_s=0)
