"""The event-driven simulator's loop: what is due next comes up or arrives, whoever it concerns."""

from typing import Any

import numpy as np

from tidegate.kernels import njit
from tidegate.overlay.lent import lent
from tidegate.overlay.poldercast.settings import RINGS
from tidegate.overlay.poldercast.state import Nodes, Scratch
from tidegate.overlay.swarm.copies import receive
from tidegate.overlay.swarm.flights import CHECK, COPY, Flight, Flights, arrive, due, room_for
from tidegate.overlay.swarm.gossiping import A_TURN, Posted, is_time, read, take_turn
from tidegate.overlay.swarm.misses import average, compare, take_account
from tidegate.overlay.swarm.spreading import Spreading
from tidegate.overlay.swarm.world import CYCLE, World, connected
from tidegate.workload.alias import State


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
    most = max(A_TURN, spreading.fan_outs.max())
    while due(flights, end):
        if not room_for(flights, most):
            return False
        flight = arrive(flights)
        if flight.kind <= CHECK:
            if is_time(nodes, world, flight):
                take_account(spreading.misses, flight.to, flight.when, world.pace[CYCLE])
                take_turn(nodes, world, flights, posted, flight, scratch, random, out)
        elif not world.up[flight.to] or not connected(world, flight.sender, flight.to):
            if flight.kind == COPY:
                spreading.lost[flight.about] += 1
        elif flight.kind == COPY:
            receive(nodes, world, flights, spreading, shortcuts, flight)
        else:
            _learn(nodes, world, spreading, flight)
            read(nodes, world, flights, posted, flight, scratch, random, out)
    return True


@njit(cache=True)
def _learn(nodes: Nodes, world: World, spreading: Spreading, flight: Flight) -> None:
    """Let a peer read in a letter what its sender knows of events that were missed."""
    me, sender = flight.to, flight.sender
    average(spreading.misses, me, sender)
    if flight.about == RINGS:
        compare(nodes, spreading, me, sender, world.came[me], flight.when)
