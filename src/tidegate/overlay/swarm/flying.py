"""The kernels of the event-driven simulator: what happens when a turn comes up, or a letter or an event arrives."""

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidegate.csr import Csr, Int32, Int64
from tidegate.kernels import njit
from tidegate.overlay.lent import lent
from tidegate.overlay.poldercast.entries import EMPTY
from tidegate.overlay.poldercast.ringcast import NAMED, name, pair_of, pass_on
from tidegate.overlay.poldercast.rings import has_unmet
from tidegate.overlay.poldercast.settings import CYCLON, RINGS
from tidegate.overlay.poldercast.state import Nodes, Scratch
from tidegate.overlay.poldercast.step import answer_gossip, close_gossip, forget, open_gossip
from tidegate.overlay.swarm.dissemination import one_of
from tidegate.overlay.swarm.flights import (
    ANSWER,
    CHECK,
    COPY,
    REQUEST,
    TURN,
    Flight,
    Flights,
    arrive,
    due,
    room_for,
    send,
)
from tidegate.overlay.swarm.latency import Latency
from tidegate.overlay.swarm.misses import average, compare, hear, take_account
from tidegate.overlay.swarm.spreading import WARM_UP_S, Spreading
from tidegate.overlay.swarm.swarm import Flags
from tidegate.workload.alias import State
from tidegate.workload.terms import Floats

_HOPS: Final = 20
"""A copy has the number of its event, and the hops that it has come, in so many bits."""
TICK_S: Final = 0.01
"""What the clocks of peers count."""
_NOON: Final = 1 << 28
"""What they say at the beginning: nothing is older than that, and they have three months to go."""
_PATIENCE, _WARY = 1, 2
"""Where in the pace these are."""
_A_TURN: Final = 6
"""What one turn sends at most: a letter for each module, one to whom one came by, the next turn, and a look before
that."""


class World(NamedTuple):
    """What is so, and peers cannot change."""

    up: Flags
    side: NDArray[np.int8]
    """On which side of a partition a peer is: 0 for all, if there is none."""
    reachable: Flags
    """By side and peer, who can be reached from there."""
    turns: Int64
    """By peer, the number of its turn that comes up next: one of a life before is none."""
    came: Floats
    """By peer, when it last came."""
    contacts: Int64
    """By peer, by whom it came; -1 if there was nobody."""
    gossiped: Int64
    """By peer, its turns so far."""
    haste: Int64
    """By peer and module, how many more letters it writes as soon as it is answered."""
    asked: Floats
    """By peer and module, when it last wrote."""
    latency: Latency
    periods: Int32
    lengths: Int64
    """By module, how many entries a letter has."""
    pace: Floats
    """Seconds between turns; after how many somebody is silent; in how many letters one is in haste that has found
    somebody silent; and after how many turns one writes to whom it came by, 0 for never."""


class Posted(NamedTuple):
    """By peer, letters that it sent and got."""

    sent: Int64
    got: Int64


@njit(cache=True)
def go_on(
    nodes: Nodes,
    world: World,
    flights: Flights,
    spreading: Spreading,
    posted: Posted,
    shortcuts: int,
    scratch: Scratch,
    random: State,
    end: float,
) -> Any:
    """Let all happen that is due before the end; return whether it has. If not, there is no room for what is sent."""
    nodes, scratch, random = lent(nodes), lent(scratch), lent(random)
    world, spreading, posted = lent(world), lent(spreading), lent(posted)
    out = np.empty(flights.letter.shape[1], np.int64)
    most = max(_A_TURN, spreading.fan_outs.max())
    while due(flights, end):
        if not room_for(flights, most):
            return False
        flight = arrive(flights)
        if flight.kind <= CHECK:
            if _is_time(nodes, world, flight):
                _turn(nodes, world, flights, spreading, posted, flight, scratch, random, out)
        elif not world.up[flight.to] or not _connected(world, flight.sender, flight.to):
            if flight.kind == COPY:
                spreading.lost[flight.about] += 1
        elif flight.kind == COPY:
            _receive(nodes, world, flights, spreading, shortcuts, flight)
        else:
            _learn(nodes, world, spreading, flight)
            _read(nodes, world, flights, posted, flight, scratch, random, out)
    return True


@njit(cache=True)
def publish(
    nodes: Nodes,
    subscribers: Csr,
    world: World,
    flights: Flights,
    spreading: Spreading,
    shortcuts: int,
    now: float,
) -> None:
    """Publish one event for every topic, by any subscriber that is up, if possible not by one that has just come.

    There has to be room for all that is sent.
    """
    nodes, world, spreading = lent(nodes), lent(world), lent(spreading)
    settled, none = world.came <= now - WARM_UP_S, np.empty(0, np.int64)
    spreading.copies[:] = 0
    spreading.lost[:] = 0
    spreading.received[:] = 0
    for topic in range(len(spreading.event)):
        everybody = subscribers.values[subscribers.offsets[topic] : subscribers.offsets[topic + 1]]
        present = everybody[world.up[everybody]]
        if len(present) > 0:
            first = one_of(present, settled, spreading.random)
            spreading.event[topic] += 1
            spreading.published[topic] = now
            spreading.received[first] += 1
            _pass_on(nodes, world, flights, spreading, shortcuts, first, -1, none, topic, 0, now)


@njit(cache=True)
def missing(nodes: Nodes, subscribers: Csr, world: World, spreading: Spreading, by_topic: Int64, missed: Int64) -> Any:
    """Count for every topic who should have its last event, who has it, and the hops to them; by peer what it missed.

    Who came later than shortly before, or is gone by now, should not. Return how late events were, together.
    """
    late = 0.0
    for topic in range(len(spreading.event)):
        if spreading.event[topic] == 0:
            continue
        for peer in subscribers.values[subscribers.offsets[topic] : subscribers.offsets[topic + 1]]:
            if not world.up[peer] or world.came[peer] > spreading.published[topic] - WARM_UP_S:
                continue
            by_topic[0, topic] += 1
            pair = pair_of(nodes, peer, topic)
            if spreading.seen[pair] == spreading.event[topic]:
                by_topic[1, topic] += 1
                by_topic[2, topic] += spreading.hops[pair]
                late += spreading.late[pair]
            else:
                missed[peer] += 1
    return late


@njit(cache=True)
def _is_time(nodes: Nodes, world: World, flight: Flight) -> Any:
    """Return whether a peer has a turn: it is there, and this is what comes up next; at a look, if somebody has not
    answered."""
    me = flight.to
    if not world.up[me] or world.turns[me] != flight.number:
        return False
    is_time = flight.kind == TURN
    for module in range(len(world.periods)):
        is_time |= _is_silent(nodes, world, me, module, flight.when)
    return is_time


@njit(cache=True)
def _is_silent(nodes: Nodes, world: World, me: int, module: int, now: float) -> Any:
    """Return whether somebody should have answered by now."""
    return nodes.asked[me, module] >= 0 and now >= world.asked[me, module] + world.pace[_PATIENCE]


@njit(cache=True)
def _connected(world: World, one: int, other: int) -> Any:
    return world.side[one] == world.side[other]


@njit(cache=True)
def _way(latency: Latency, one: int, other: int) -> Any:
    return latency.one_way[latency.place[one], latency.place[other]]


@njit(cache=True)
def _post(
    flights: Flights, world: World, kind: int, to: int, sender: int, module: int, letter: Int64, now: float
) -> None:
    if _connected(world, sender, to):
        slot = send(flights, now + _way(world.latency, sender, to), kind, to, sender, module, 0)
        flights.letter[slot, : len(letter)] = letter


@njit(cache=True)
def _turn(
    nodes: Nodes,
    world: World,
    flights: Flights,
    spreading: Spreading,
    posted: Posted,
    flight: Flight,
    scratch: Scratch,
    random: State,
    out: Int64,
) -> None:
    """Let a peer gossip by every module whose turn it is, and come up again a cycle later."""
    me, now = flight.to, flight.when
    cycle, patience, wary, again = world.pace
    _tell_time(nodes, me, now)
    take_account(spreading.misses, me, now, cycle)
    world.gossiped[me] += 1
    # Whatever else was to come up is none.
    world.turns[me] += 1
    for module in range(len(world.periods)):
        is_silent = _is_silent(nodes, world, me, module, now)
        if world.gossiped[me] % world.periods[module] != 0 or (nodes.asked[me, module] >= 0 and not is_silent):
            continue
        if is_silent:
            world.haste[me] = np.maximum(world.haste[me], np.int64(wary))
        _write(nodes, world, flights, posted, me, module, now, scratch, random, out)
    if again > 0 and world.gossiped[me] % np.int64(again) == 0:
        _ask_again(world, flights, posted, me, out[: world.lengths[CYCLON]], now)
    in_haste = world.haste[me].any()
    send(flights, now + (patience if in_haste else cycle), TURN, me, me, 0, world.turns[me])
    if not in_haste and wary > 0:
        send(flights, now + patience, CHECK, me, me, 0, world.turns[me])


@njit(cache=True)
def _write(
    nodes: Nodes,
    world: World,
    flights: Flights,
    posted: Posted,
    me: int,
    module: int,
    now: float,
    scratch: Scratch,
    random: State,
    out: Int64,
) -> None:
    """Let a peer open a gossip, if it knows anybody."""
    letter = out[: world.lengths[module]]
    target = _open(nodes, me, module, scratch, random, letter)
    world.asked[me, module] = now
    world.haste[me, module] = max(world.haste[me, module] - 1, 0)
    if target >= 0:
        posted.sent[me] += 1
        _post(flights, world, REQUEST, target, me, module, letter, now)


@njit(cache=True)
def _ask_again(world: World, flights: Flights, posted: Posted, me: int, letter: Int64, now: float) -> None:
    """Write to whom a peer came by, as if it came: that one takes it in, and its answer is not awaited."""
    contact = world.contacts[me]
    if contact >= 0 and contact != me:
        letter[:] = EMPTY
        posted.sent[me] += 1
        _post(flights, world, REQUEST, contact, me, CYCLON, letter, now)


@njit(cache=True)
def _open(nodes: Nodes, me: int, module: int, scratch: Scratch, random: State, out: Int64) -> Any:
    """Open a gossip; whoever is written to stays in its rings meanwhile: events that come before its answer are for it
    as well."""
    if nodes.asked[me, module] >= 0:
        forget(nodes, me, nodes.asked[me, module])
        nodes.asked[me, module] = -1
    first, end = nodes.bounds[me, 0], nodes.bounds[me, 1]
    rings, held, gaps = nodes.rings[first:end].copy(), nodes.held[first:end].copy(), nodes.gaps[first:end].copy()
    target = open_gossip(nodes, me, module, scratch, random, out)
    if module == RINGS:
        nodes.rings[first:end] = rings
        nodes.held[first:end] = held
        nodes.gaps[first:end] = gaps
    return target


@njit(cache=True)
def _tell_time(nodes: Nodes, me: int, now: float) -> None:
    """Let a peer's clock say how late it is.

    Where some are in haste, clocks that count turns would run at different speeds; and those that count cycles are too
    coarse: news that goes from hand to hand within a cycle does not age, the youngest is believed, and the dead stay
    young.
    """
    nodes.clock[me] = _NOON + np.int64(now / TICK_S)


@njit(cache=True)
def _read(
    nodes: Nodes,
    world: World,
    flights: Flights,
    posted: Posted,
    flight: Flight,
    scratch: Scratch,
    random: State,
    out: Int64,
) -> None:
    """Let a peer take in a letter, and answer it if it opens a gossip."""
    me, sender, module = flight.to, flight.sender, flight.about
    _tell_time(nodes, me, flight.when)
    posted.got[me] += 1
    letter = flights.letter[flight.slot, : world.lengths[module]]
    if flight.kind == ANSWER:
        awaited = close_gossip(nodes, me, module, sender, letter, scratch, random)
        if awaited and world.haste[me, module] > 0:
            _write(nodes, world, flights, posted, me, module, flight.when, scratch, random, out)
        _write_to_unmet(nodes, world, flights, posted, me, flight.when, scratch, random, out)
        return
    answer = out[: world.lengths[module]]
    answer_gossip(nodes, me, module, sender, letter, scratch, random, answer)
    posted.sent[me] += 1
    _post(flights, world, ANSWER, sender, me, module, answer, flight.when)
    _write_to_unmet(nodes, world, flights, posted, me, flight.when, scratch, random, out)


@njit(cache=True)
def _write_to_unmet(
    nodes: Nodes,
    world: World,
    flights: Flights,
    posted: Posted,
    me: int,
    now: float,
    scratch: Scratch,
    random: State,
    out: Int64,
) -> None:
    """Let a peer write at once if somebody is next to it in a ring whom it has not met: that one may not know it."""
    if world.pace[_WARY] == 0 or nodes.asked[me, RINGS] >= 0 or not has_unmet(nodes, me):
        return
    _write(nodes, world, flights, posted, me, RINGS, now, scratch, random, out)
    send(flights, now + world.pace[_PATIENCE], CHECK, me, me, 0, world.turns[me])


@njit(cache=True)
def _learn(nodes: Nodes, world: World, spreading: Spreading, flight: Flight) -> None:
    """Let a peer read in a letter what its sender knows of events that were missed."""
    me, sender = flight.to, flight.sender
    average(spreading.misses, me, sender)
    if flight.about == RINGS:
        compare(nodes, spreading, me, sender, world.came[me], flight.when)


@njit(cache=True)
def _receive(
    nodes: Nodes, world: World, flights: Flights, spreading: Spreading, shortcuts: int, flight: Flight
) -> None:
    """Let a peer take a copy of an event, and pass it on if it is new and not over."""
    me, topic, event = flight.to, flight.about, flight.number >> _HOPS
    pair = pair_of(nodes, me, topic)
    if event != spreading.event[topic] or pair < 0:
        return
    spreading.copies[topic] += 1
    spreading.received[me] += 1
    known = spreading.seen[pair] == event
    spreading.doubled[0 if known else 1, me] += 1
    if not known:
        hops = flight.number & ((1 << _HOPS) - 1)
        served = flights.letter[flight.slot, :NAMED]
        _pass_on(nodes, world, flights, spreading, shortcuts, me, flight.sender, served, topic, hops, flight.when)


@njit(cache=True)
def _pass_on(
    nodes: Nodes,
    world: World,
    flights: Flights,
    spreading: Spreading,
    shortcuts: int,
    me: int,
    sender: int,
    served: Int64,
    topic: int,
    hops: int,
    now: float,
) -> None:
    """Let a peer send an event to others."""
    pair = pair_of(nodes, me, topic)
    spreading.seen[pair] = spreading.event[topic]
    spreading.hops[pair] = hops
    spreading.late[pair] = now - spreading.published[topic]
    hear(spreading.misses, me, pair, spreading.event[topic])
    out = np.empty(spreading.fan_outs[0 if sender < 0 else 1, me], np.int64)
    reachable = world.reachable[world.side[me]]
    number = spreading.event[topic] << _HOPS | (hops + 1)
    many = pass_on(nodes, me, topic, sender, served, shortcuts, reachable, spreading.random, out)
    # Before any is sent: who is served may be in the very letter that is written next.
    named = np.empty(NAMED, np.int64)
    name(me, sender, served, out[:many], named)
    for i in range(many):
        if _connected(world, me, out[i]):
            slot = send(flights, now + _way(world.latency, me, out[i]), COPY, out[i], me, topic, number)
            flights.letter[slot, :NAMED] = named
        else:
            spreading.lost[topic] += 1
