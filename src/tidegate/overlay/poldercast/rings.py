"""Rings (section 3.4.1): by topic, the peers whose ids come next on either side.

A ring view is a row of entries: one half are successors, nearest first, the other half predecessors. In a small ring
the same peer may be in both.
"""

from typing import Any, Final

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
    peer_in,
    remove,
    turned,
)
from tidegate.overlay.poldercast.state import Ids, Nodes, Scratch
from tidegate.workload.alias import State

_TOP: Final = np.uint64(1 << 63)


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
    """Name those next to the target in its rings, of all whom `me` knows; of too many any.

    Rings of topics that both share come first; the thesis stops there, and where peers share little its letters stay
    almost empty.
    """
    theirs = topics_of(nodes, target)
    topics, common = _common_first(topics_of(nodes, me), theirs)
    _want(topics[:common], scratch.wanted)
    n = known(nodes, me, target, scratch, random)
    _want(topics, scratch.wanted)
    _sort_along(nodes.ids, nodes.ids[target], n, scratch)
    half = nodes.rings.shape[1] // 2
    scratch.keys[:n] = 2 * half
    _rate(nodes, n, common, False, half, scratch)
    scratch.counted[: len(topics)] = 0
    _rate(nodes, n, common, True, half, scratch)
    scratch.counted[: len(topics)] = 0
    _unwant(topics, scratch.wanted)
    _name_rated(n, 2 * half, nodes.clock[me], scratch, random, out)


@njit(cache=True)
def leave_rings(nodes: Nodes, me: int, peer: int) -> None:
    """Take a peer out of all rings of `me`."""
    half = nodes.rings.shape[1] // 2
    for pair in range(nodes.bounds[me, 0], nodes.bounds[me, 1]):
        nodes.held[pair] -= remove(nodes.rings[pair, :half], peer) + remove(nodes.rings[pair, half:], peer)


@njit(cache=True)
def place(ids: Ids, home: Any, rings: Int64, row: int, entry: int) -> Any:
    """Put an entry where it belongs in the ring view of whoever is at `home`; return by how many there are more."""
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
    last = rings[row, end - 1]
    if last >= 0:
        furthest = ids[peer_in(last)] - home
        if (-furthest if backwards else furthest) < way:
            return 0
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
    more = 1 if last < 0 else 0
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
def _common_first(mine: Int32, theirs: Int32) -> Any:
    """Return the topics of one, those that are in both first, and how many these are; both rise."""
    out = np.empty(len(theirs), np.int32)
    common, rest, i = 0, len(theirs), 0
    for topic in theirs:
        while i < len(mine) and mine[i] < topic:
            i += 1
        if i < len(mine) and mine[i] == topic:
            out[common] = topic
            common += 1
        else:
            rest -= 1
            out[rest] = topic
    return out, common


@njit(cache=True)
def _sort_along(ids: Ids, home: Any, n: int, scratch: Scratch) -> None:
    """Let `scratch.order` say where the `n` peers that were found are, by their way from home along the circle."""
    keys, order, found = scratch.keys, scratch.order, scratch.found
    for i in range(n):
        # Unsigned ways in the order of signed keys.
        key = np.int64((ids[peer_in(found[i])] - home) ^ _TOP)
        at = i
        while at > 0 and keys[at - 1] > key:
            keys[at], order[at] = keys[at - 1], order[at - 1]
            at -= 1
        keys[at], order[at] = key, i


@njit(cache=True)
def _rate(nodes: Nodes, n: int, common: int, backwards: bool, half: int, scratch: Scratch) -> None:
    """Let `scratch.keys` say of every peer that was found the best place it has in a ring that is wanted, on one side.

    0 is next; places in rings that are not common count as further by `half`. Who is not among the first `half`
    anywhere, or was rated better before, is left as it is.
    """
    topics, bounds, wanted, counted = nodes.topics, nodes.bounds, scratch.wanted, scratch.counted
    for k in range(n):
        i = scratch.order[n - 1 - k if backwards else k]
        peer = peer_in(scratch.found[i])
        best = scratch.keys[i]
        for pair in range(bounds[peer, 0], bounds[peer, 1]):
            at = wanted[topics[pair]] - 1
            if at >= 0 and counted[at] < half:
                best = min(best, counted[at] if at < common else half + counted[at])
                counted[at] += 1
        scratch.keys[i] = best


@njit(cache=True)
def _name_rated(n: int, places: int, clock: int, scratch: Scratch, random: State, out: Int64) -> None:
    """Name those that have a place, the next ones first; of too many at the same place, any."""
    order = scratch.order
    named = 0
    for best in range(places):
        rated = 0
        for i in range(n):
            if scratch.keys[i] == best:
                order[rated] = i
                rated += 1
        for i in range(min(rated, len(out) - named)):
            k = i + below(rated - i, random)
            order[i], order[k] = order[k], order[i]
            out[named] = turned(scratch.found[order[i]], clock)
            named += 1
    out[named:] = EMPTY
