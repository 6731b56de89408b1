"""Rings (section 3.4.1): by topic, the peers whose ids come next on either side.

A ring view is a row of entries: one half are successors, nearest first, the other half predecessors. In a small ring
the same peer may be in both.
"""

from typing import Any, Final

import numpy as np

from tidegate.csr import Int64
from tidegate.kernels import njit
from tidegate.overlay.poldercast.entries import (
    MET,
    begin_count,
    below,
    entry_of,
    heard,
    in_views,
    note,
    peer_in,
    remove,
    turned,
)
from tidegate.overlay.poldercast.interests import shared, topics_of, unwant, want
from tidegate.overlay.poldercast.ring_letters import name_neighbours
from tidegate.overlay.poldercast.state import Ids, Nodes, Scratch, Ways
from tidegate.workload.alias import State

_AROUND: Final = np.uint64((1 << 64) - 1)


@njit(cache=True)
def open_round(nodes: Nodes, me: int, scratch: Scratch, random: State, out: Int64) -> Any:
    """Write to a ring neighbour that was not met or not heard of for long, which is taken out, and return it.

    -1 if there is nobody.
    """
    if nodes.as_printed:
        _take_views(nodes, me, scratch)
    target = _next_contact(nodes.rings[nodes.bounds[me, 0] : nodes.bounds[me, 1]], not nodes.as_printed, random)
    if target >= 0:
        leave_rings(nodes, me, target)
        name_neighbours(nodes, me, target, scratch, random, out)
    return target


@njit(cache=True)
def take_neighbours(nodes: Nodes, me: int, sender: int, letter: Int64, scratch: Scratch) -> None:
    """Take in the sender of a letter, and those that it named, wherever they are nearer than those one has.

    Letters of all modules are read like this: whom Vicinity or Cyclon has no room for may be the next in some ring.
    """
    marks, found, clock = scratch.marks, scratch.found, nodes.clock[me]
    begin_count(marks)
    n = note(marks, found, 0, MET | entry_of(sender, clock))
    for named in letter:
        if named < 0:
            break
        if peer_in(named) != me:
            n = note(marks, found, n, turned(named, clock))
    _take(nodes, me, n, scratch)


@njit(cache=True)
def _take_views(nodes: Nodes, me: int, scratch: Scratch) -> None:
    """Take in whom the other modules have in their views, wherever they are nearer than those one has.

    Rings itself never heard of them: it goes by when it last did, or it would never write to those Vicinity writes to.
    """
    n = in_views(nodes, me, scratch)
    for i in range(n):
        scratch.found[i] = entry_of(peer_in(scratch.found[i]), 0)
    _take(nodes, me, n, scratch)


@njit(cache=True)
def leave_rings(nodes: Nodes, me: int, peer: int) -> None:
    """Take a peer out of all rings of `me`."""
    rings, half = nodes.rings, nodes.rings.shape[1] // 2
    for pair in range(nodes.bounds[me, 0], nodes.bounds[me, 1]):
        is_there = False
        for k in range(2 * half):
            is_there |= rings[pair, k] >= 0 and peer_in(rings[pair, k]) == peer
        if is_there:
            nodes.held[pair] -= remove(rings[pair, :half], peer) + remove(rings[pair, half:], peer)
            _say_gaps(nodes.ids, nodes.ids[me], rings, nodes.gaps, pair)


@njit(cache=True)
def has_unmet(nodes: Nodes, me: int) -> Any:
    """Return whether somebody is next to `me` in a ring whom it has not met; as printed, that is no matter."""
    if nodes.as_printed:
        return False
    for pair in range(nodes.bounds[me, 0], nodes.bounds[me, 1]):
        for k in range(0, nodes.rings.shape[1], nodes.rings.shape[1] // 2):
            if 0 <= nodes.rings[pair, k] < MET:
                return True
    return False


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
def _take(nodes: Nodes, me: int, n: int, scratch: Scratch) -> None:
    """Place the `n` peers that were found in the rings of the topics that they share with `me`."""
    ids, bounds, topics, rings = nodes.ids, nodes.bounds, nodes.topics, nodes.rings
    wanted, hits, reach = scratch.wanted, scratch.hits, scratch.reach
    home, first = ids[me], bounds[me, 0]
    mine = topics_of(nodes, me)
    want(mine, wanted)
    for at in range(len(mine)):
        _measure(ids, home, rings, first + at, reach, at)
    for i in range(n):
        entry = scratch.found[i]
        peer = peer_in(entry)
        way = ids[peer] - home
        for k in range(shared(topics, bounds[peer, 0], bounds[peer, 1], wanted, hits)):
            at = hits[k]
            # Most that are named are further than all whom one has: this is where most of a step's work ends.
            if way <= reach[at, 0] or -way <= reach[at, 1]:
                nodes.held[first + at] += place(ids, home, rings, first + at, entry)
                _measure(ids, home, rings, first + at, reach, at)
                _say_gaps(ids, home, rings, nodes.gaps, first + at)
    unwant(mine, wanted)


@njit(cache=True)
def _measure(ids: Ids, home: Any, rings: Int64, row: int, reach: Ids, at: int) -> None:
    """Let `reach` say how far the two sides of a ring view go; a side with room goes all around the circle."""
    after, before = rings[row, rings.shape[1] // 2 - 1], rings[row, rings.shape[1] - 1]
    reach[at, 0] = ids[peer_in(after)] - home if after >= 0 else _AROUND
    reach[at, 1] = home - ids[peer_in(before)] if before >= 0 else _AROUND


@njit(cache=True)
def _say_gaps(ids: Ids, home: Any, rings: Int64, gaps: Ways, pair: int) -> None:
    """Let the profile of whoever is at `home` say how far the next ones of a ring are."""
    if pair < len(gaps):
        after, before = rings[pair, 0], rings[pair, rings.shape[1] // 2]
        gaps[pair, 0] = ids[peer_in(after)] - home if after >= 0 else np.inf
        gaps[pair, 1] = home - ids[peer_in(before)] if before >= 0 else np.inf


@njit(cache=True)
def _next_contact(rings: Int64, unmet_first: bool, random: State) -> Any:
    """Return the ring neighbour to write to, or -1: any next one not met yet, else who was least recently heard of.

    Who was never met is the least recently used of all; and a peer that is next to `me` may not know it.
    """
    found, ties = np.int64(-1), 0
    for pair in range(len(rings) if unmet_first else 0):
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
