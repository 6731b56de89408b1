"""Rings (section 3.4.1): by topic, the peers whose ids come next on either side.

A ring view is a row of entries: one half are successors, nearest first, the other half predecessors. In a small ring the
same peer may be in both.
"""

from typing import Any

import numpy as np

from tidegate.csr import Int32, Int64
from tidegate.kernels import njit
from tidegate.overlay.poldercast.entries import (
    EMPTY,
    MET,
    below,
    entry_of,
    heard,
    known,
    note,
    peer_in,
    remove,
    turned,
)
from tidegate.overlay.poldercast.state import Ids, Nodes, Scratch
from tidegate.workload.alias import State


@njit(cache=True)
def open_round(nodes: Nodes, me: int, scratch: Scratch, random: State, out: Int64) -> Any:
    """Write to a ring neighbour that was not met or not heard of for long, which is taken out, and return it.

    -1 if there is nobody.
    """
    target = _next_contact(nodes.rings[nodes.bounds[me, 0] : nodes.bounds[me, 1]], random)
    if target >= 0:
        leave_rings(nodes, me, target)
        name_neighbours(nodes, me, target, scratch, random, out)
    return target


@njit(cache=True)
def take_neighbours(nodes: Nodes, me: int, sender: int, letter: Int64, scratch: Scratch) -> None:
    """Take in the sender of a letter, and those that it named, wherever they are nearer than those one has.

    Letters of all modules are read like this: whom Vicinity or Cyclon has no room for may be the next in some ring.
    """
    mine, clock = topics_of(nodes, me), nodes.clock[me]
    _want(mine, scratch.wanted)
    _offer(nodes, me, MET | entry_of(sender, clock), scratch.wanted)
    for named in letter:
        if named < 0:
            break
        if peer_in(named) != me:
            _offer(nodes, me, turned(named, clock), scratch.wanted)
    _unwant(mine, scratch.wanted)


@njit(cache=True)
def name_neighbours(nodes: Nodes, me: int, target: int, scratch: Scratch, random: State, out: Int64) -> None:
    """Name those next to the target in the rings of the topics they share, of all whom `me` knows; of too many any."""
    ids, topics, bounds, placed, wanted = nodes.ids, nodes.topics, nodes.bounds, scratch.placed, scratch.wanted
    n, home = known(nodes, me, target, scratch, random), ids[target]
    common = _common(topics_of(nodes, me), topics_of(nodes, target))
    _want(common, wanted)
    placed[: len(common)] = EMPTY
    _place_own(nodes, me, target, wanted, placed)
    for i in range(n):
        entry = scratch.found[i]
        peer = peer_in(entry)
        for pair in range(bounds[peer, 0], bounds[peer, 1]):
            at = wanted[topics[pair]] - 1
            if at >= 0:
                place(ids, home, placed, at, entry)
    _unwant(common, wanted)
    _name_placed(nodes.clock[me], placed[: len(common)], scratch, random, out)


@njit(cache=True)
def _place_own(nodes: Nodes, me: int, target: int, wanted: Int32, placed: Int64) -> None:
    """Place the neighbours of `me` in the rings that are wanted in those of the target."""
    for pair in range(nodes.bounds[me, 0], nodes.bounds[me, 1]):
        at = wanted[nodes.topics[pair]] - 1
        if at >= 0:
            for k in range(nodes.rings.shape[1]):
                entry = nodes.rings[pair, k]
                if entry >= 0 and peer_in(entry) != target:
                    place(nodes.ids, nodes.ids[target], placed, at, entry)


@njit(cache=True)
def leave_rings(nodes: Nodes, me: int, peer: int) -> None:
    """Take a peer out of all rings of `me`."""
    half = nodes.rings.shape[1] // 2
    for pair in range(nodes.bounds[me, 0], nodes.bounds[me, 1]):
        nodes.held[pair] -= remove(nodes.rings[pair, :half], peer) + remove(nodes.rings[pair, half:], peer)


@njit(cache=True)
def place(ids: Ids, home: Any, rings: Int64, row: int, entry: int) -> Any:
    """Put an entry where it belongs in the ring view of whoever is at `home`; return by how many there are more then."""
    half = rings.shape[1] // 2
    way = ids[peer_in(entry)] - home
    # Backwards the way is as long as is left of the circle.
    return _put(ids, home, way, False, rings, row, 0, half, entry) + _put(
        ids, home, -way, True, rings, row, half, 2 * half, entry
    )


@njit(cache=True)
def topics_of(nodes: Nodes, peer: int) -> Any:
    """The topics of a peer, as a view."""
    return nodes.topics[nodes.bounds[peer, 0] : nodes.bounds[peer, 1]]


@njit(cache=True)
def _put(
    ids: Ids, home: Any, way: Any, backwards: bool, rings: Int64, row: int, first: int, end: int, entry: int
) -> Any:
    """Put an entry into one side of a ring view, by its way from home along the circle; return 1 if there is one more.

    Columns are given as bounds: a slice would cost more than the rest.
    """
    at = first
    while at < end and rings[row, at] >= 0:
        other = ids[peer_in(rings[row, at])] - home
        if backwards:
            other = -other
        if other == way:
            rings[row, at] = max(rings[row, at], entry)
            return 0
        if other > way:
            break
        at += 1
    if at == end:
        return 0
    more = 1 if rings[row, end - 1] < 0 else 0
    for k in range(end - 1, at, -1):
        rings[row, k] = rings[row, k - 1]
    rings[row, at] = entry
    return more


@njit(cache=True)
def _want(topics: Int32, wanted: Int32) -> None:
    """Let `wanted` say of these topics which one they are, from 1 on."""
    for k in range(len(topics)):
        wanted[topics[k]] = k + 1


@njit(cache=True)
def _unwant(topics: Int32, wanted: Int32) -> None:
    for topic in topics:
        wanted[topic] = 0


@njit(cache=True)
def _offer(nodes: Nodes, me: int, entry: int, wanted: Int32) -> None:
    """Place a peer in the rings of the topics it shares with `me`, which are wanted."""
    ids, topics, bounds, rings = nodes.ids, nodes.topics, nodes.bounds, nodes.rings
    peer, first, home = peer_in(entry), bounds[me, 0], ids[me]
    for pair in range(bounds[peer, 0], bounds[peer, 1]):
        at = wanted[topics[pair]] - 1
        if at >= 0:
            nodes.held[first + at] += place(ids, home, rings, first + at, entry)


@njit(cache=True)
def _next_contact(rings: Int64, random: State) -> Any:
    """Return the ring neighbour to write to, or -1: any next one not met yet, else who was least recently heard of.

    Who was never met is the least recently used of all; and a peer that is next to `me` may not know it.
    """
    found, ties = np.int64(-1), 0
    for pair in range(len(rings)):
        for k in range(0, rings.shape[1], rings.shape[1] // 2):
            entry = rings[pair, k]
            if entry >= 0 and entry < MET:
                ties += 1
                if below(ties, random) == 0:
                    found = entry
    if found < 0:
        for pair in range(len(rings)):
            for k in range(rings.shape[1]):
                entry = rings[pair, k]
                if entry < 0:
                    continue
                if found < 0 or heard(entry) < heard(found):
                    found, ties = entry, 1
                elif heard(entry) == heard(found):
                    ties += 1
                    if below(ties, random) == 0:
                        found = entry
    return peer_in(found) if found >= 0 else -1


@njit(cache=True)
def _common(one: Int32, other: Int32) -> Any:
    """Topics that are in both, both rising."""
    out = np.empty(min(len(one), len(other)), np.int32)
    n = i = k = 0
    while i < len(one) and k < len(other):
        if one[i] == other[k]:
            out[n] = one[i]
            n += 1
        step = one[i] <= other[k]
        k += one[i] >= other[k]
        i += step
    return out[:n]


@njit(cache=True)
def _name_placed(clock: int, placed: Int64, scratch: Scratch, random: State, out: Int64) -> None:
    """Name those that were placed in rings, each once, those next to the target first; of too many, any."""
    scratch.marks[-1] += 1
    half = placed.shape[1] // 2
    named = n = 0
    for side in range(half):
        for at in range(len(placed)):
            for k in (side, half + side):
                if placed[at, k] >= 0:
                    n = note(scratch.marks, scratch.found, n, placed[at, k])
        while named < min(n, len(out)):
            _draw(scratch.found, scratch.marks, named, n, random)
            out[named] = turned(scratch.found[named], clock)
            named += 1
    out[named:] = EMPTY


@njit(cache=True)
def _draw(found: Int64, marks: Int64, i: int, n: int, random: State) -> None:
    """Let any of those from `i` to `n` that were found be at `i`; their marks are kept right."""
    k = i + below(n - i, random)
    found[i], found[k] = found[k], found[i]
    stamp = marks[-1] << 32
    marks[peer_in(found[i])], marks[peer_in(found[k])] = stamp | i, stamp | k
