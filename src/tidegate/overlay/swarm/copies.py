"""Events in time: copies of them on their way from peer to peer (RingCast), and who has them in the end."""

from typing import Any, Final

import numpy as np

from tidegate.csr import Csr, Int64
from tidegate.kernels import njit
from tidegate.overlay.lent import lent
from tidegate.overlay.poldercast.ringcast import NAMED, name, pair_of, pass_on
from tidegate.overlay.poldercast.state import Nodes
from tidegate.overlay.swarm.dissemination import one_of
from tidegate.overlay.swarm.flights import COPY, Flight, Flights, send
from tidegate.overlay.swarm.misses import hear
from tidegate.overlay.swarm.spreading import WARM_UP_S, Spreading
from tidegate.overlay.swarm.world import World, connected, way

_HOPS: Final = 20
"""A copy has the number of its event, and the hops that it has come, in so many bits."""


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
            spreading.publisher[topic] = first
            spreading.received[first] += 1
            _pass_on(nodes, world, flights, spreading, shortcuts, first, -1, none, topic, 0, now)


@njit(cache=True)
def receive(nodes: Nodes, world: World, flights: Flights, spreading: Spreading, shortcuts: int, flight: Flight) -> None:
    """Let a peer take a copy of an event, and pass it on if it is new and not over."""
    me, topic, event = flight.to, flight.about, flight.number >> _HOPS
    pair = pair_of(nodes, me, topic)
    if event != spreading.event[topic] or pair < 0:
        return
    spreading.copies[topic] += 1
    spreading.received[me] += 1
    if spreading.seen[pair] != event:
        hops = flight.number & ((1 << _HOPS) - 1)
        served = flights.letter[flight.slot, :NAMED]
        _pass_on(nodes, world, flights, spreading, shortcuts, me, flight.sender, served, topic, hops, flight.when)


@njit(cache=True)
def missing(nodes: Nodes, subscribers: Csr, world: World, spreading: Spreading, by_topic: Int64, missed: Int64) -> Any:
    """Count for every topic who should have its last event, who has it, the hops to them, and which of them published
    it; by peer what it missed.

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
                by_topic[3, topic] += peer == spreading.publisher[topic]
                late += spreading.late[pair]
            else:
                missed[peer] += 1
    return late


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
        if connected(world, me, out[i]):
            slot = send(flights, now + way(world.latency, me, out[i]), COPY, out[i], me, topic, number)
            flights.letter[slot, :NAMED] = named
        else:
            spreading.lost[topic] += 1
