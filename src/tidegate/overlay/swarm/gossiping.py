"""Peers that gossip in time: turns that come up, letters that arrive, and haste (`timed.Pace`)."""

from typing import Any, Final, NamedTuple

import numpy as np

from tidegate.csr import Int64
from tidegate.kernels import njit
from tidegate.overlay.poldercast.entries import EMPTY
from tidegate.overlay.poldercast.rings import has_unmet
from tidegate.overlay.poldercast.settings import CYCLON, RINGS
from tidegate.overlay.poldercast.state import Nodes, Scratch
from tidegate.overlay.poldercast.step import answer_gossip, close_gossip, forget, open_gossip
from tidegate.overlay.swarm.flights import ANSWER, CHECK, REQUEST, TURN, Flight, Flights, send
from tidegate.overlay.swarm.world import AGAIN, CYCLE, PATIENCE, WARY, World, connected, way
from tidegate.workload.alias import State

TICK_S: Final = 0.01
"""What the clocks of peers count."""
_NOON: Final = 1 << 28
"""What they say at the beginning: nothing is older than that, and they have three months to go."""
A_TURN: Final = 6
"""What one turn sends at most: a letter for each module, one to whom one came by, the next turn, and a look before
that."""


class Posted(NamedTuple):
    """By peer, letters that it sent and got."""

    sent: Int64
    got: Int64


@njit(cache=True)
def is_time(nodes: Nodes, world: World, flight: Flight) -> Any:
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
def take_turn(
    nodes: Nodes,
    world: World,
    flights: Flights,
    posted: Posted,
    flight: Flight,
    scratch: Scratch,
    random: State,
    out: Int64,
) -> None:
    """Let a peer gossip by every module whose turn it is, and come up again a cycle later."""
    me, now = flight.to, flight.when
    patience, again = world.pace[PATIENCE], np.int64(world.pace[AGAIN])
    tell_time(nodes, me, now)
    world.gossiped[me] += 1
    # Whatever else was to come up is none.
    world.turns[me] += 1
    for module in range(len(world.periods)):
        if _is_silent(nodes, world, me, module, now):
            world.haste[me] = np.maximum(world.haste[me], np.int64(world.pace[WARY]))
        elif world.gossiped[me] % world.periods[module] != 0 or nodes.asked[me, module] >= 0:
            continue
        _write(nodes, world, flights, posted, me, module, now, scratch, random, out)
    if again > 0 and world.gossiped[me] % again == 0:
        _ask_again(world, flights, posted, me, out[: world.lengths[CYCLON]], now)
    in_haste = world.haste[me].any()
    send(flights, now + (patience if in_haste else world.pace[CYCLE]), TURN, me, me, 0, world.turns[me])
    if not in_haste and world.pace[WARY] > 0:
        send(flights, now + patience, CHECK, me, me, 0, world.turns[me])


@njit(cache=True)
def read(
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
    tell_time(nodes, me, flight.when)
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
def _is_silent(nodes: Nodes, world: World, me: int, module: int, now: float) -> Any:
    """Return whether somebody should have answered by now."""
    return nodes.asked[me, module] >= 0 and now >= world.wrote[me, module] + world.pace[PATIENCE]


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
    world.wrote[me, module] = now
    # Who knows nobody by a module has no reason to be in haste by it.
    world.haste[me, module] = max(world.haste[me, module] - 1, 0) if target >= 0 else 0
    if target >= 0:
        posted.sent[me] += 1
        _post(flights, world, REQUEST, target, me, module, letter, now)


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
    if world.pace[WARY] == 0 or nodes.asked[me, RINGS] >= 0 or not has_unmet(nodes, me):
        return
    _write(nodes, world, flights, posted, me, RINGS, now, scratch, random, out)
    send(flights, now + world.pace[PATIENCE], CHECK, me, me, 0, world.turns[me])


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
def _post(
    flights: Flights, world: World, kind: int, to: int, sender: int, module: int, letter: Int64, now: float
) -> None:
    if connected(world, sender, to):
        slot = send(flights, now + way(world.latency, sender, to), kind, to, sender, module, 0)
        flights.letter[slot, : len(letter)] = letter


@njit(cache=True)
def tell_time(nodes: Nodes, me: int, now: float) -> None:
    """Let a peer's clock say how late it is.

    Where some are in haste, clocks that count turns would run at different speeds; and those that count cycles are too
    coarse: news that goes from hand to hand within a cycle does not age, the youngest is believed, and the dead stay
    young.
    """
    nodes.clock[me] = _NOON + np.int64(now / TICK_S)
