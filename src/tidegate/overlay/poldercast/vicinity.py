"""Vicinity (Voulgaris, 2006): the peers whose interests are nearest, by the proximity of section 3.4.2.

Near is who follows the topics that are wanted most, and among several who shares most topics. A view that those who
share some do not fill has anybody in it: strangers lead on to others.
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
    filled,
    in_views,
    known,
    note,
    oldest,
    peer_in,
    remove,
    turned,
)
from tidegate.overlay.poldercast.state import Nodes, Scratch
from tidegate.workload.alias import State, next_word

_LEVELS: Final = 127
_MOST_SHARED: Final = (1 << 16) - 1


@njit(cache=True)
def open_visit(nodes: Nodes, me: int, scratch: Scratch, random: State, out: Int64) -> Any:
    """Write to the oldest peer of the view, which is taken out, and return it.

    Who knows nobody near asks anybody, and so does, every other time, who has a topic without any ring neighbour: those
    near are asked again and again, and know each other. -1 if there is nobody, or no view to be kept.
    """
    view, strangers = nodes.vicinity[me], nodes.cyclon[me]
    if len(view) == 0:
        return -1
    k = oldest(view, random)
    held = nodes.held[nodes.bounds[me, 0] : nodes.bounds[me, 1]]
    if strangers[0] >= 0 and (k < 0 or (nodes.clock[me] % 2 == 0 and (held == 0).any())):
        target = peer_in(strangers[below(filled(strangers), random)])
    elif k >= 0:
        target = peer_in(view[k])
        remove(view, target)
    else:
        return -1
    name_nearest(nodes, me, target, scratch, random, out)
    return target


@njit(cache=True)
def answer_visit(
    nodes: Nodes, me: int, sender: int, letter: Int64, scratch: Scratch, random: State, out: Int64
) -> None:
    """Name those nearest to the sender, and keep whoever is nearest.

    Those are named first: what the sender has just said it need not be told again.
    """
    name_nearest(nodes, me, sender, scratch, random, out)
    keep_nearest(nodes, me, sender, letter, scratch, random)


@njit(cache=True)
def name_nearest(nodes: Nodes, me: int, target: int, scratch: Scratch, random: State, out: Int64) -> None:
    """Name whom `me` knows by any view that is nearest to the target."""
    n = known(nodes, me, target, scratch, random)
    n = _ranked(nodes, target, n, len(out), scratch, random)
    for i in range(n):
        out[i] = turned(scratch.found[scratch.order[i]], nodes.clock[me])
    out[n:] = EMPTY


@njit(cache=True)
def keep_nearest(nodes: Nodes, me: int, sender: int, letter: Int64, scratch: Scratch, random: State) -> None:
    """Let the view be the nearest of those it has, of those in the Cyclon view, of the sender and of those that it
    named.

    Ring neighbours came by letters too, and were considered then.
    """
    clock, view = nodes.clock[me], nodes.vicinity[me]
    n = in_views(nodes, me, scratch)
    n = note(scratch.marks, scratch.found, n, MET | entry_of(sender, clock))
    for named in letter:
        if named < 0:
            break
        if peer_in(named) != me:
            n = note(scratch.marks, scratch.found, n, turned(named, clock))
    n = _ranked(nodes, me, n, len(view), scratch, random)
    for i in range(n):
        view[i] = scratch.found[scratch.order[i]]
    view[n:] = EMPTY


@njit(cache=True)
def proximity(topics: Int32, wanted: Int32) -> Any:
    """Return how near a peer with these topics is to one that wants some (by 1 + how many ring neighbours it holds
    there).

    0 is not at all.
    """
    shared, most_wanted, fewest = 0, 0, _LEVELS
    for topic in topics:
        held = wanted[topic]
        if held > 0:
            shared += 1
            if held < fewest:
                fewest, most_wanted = held, 0
            most_wanted += held == fewest
    return np.int64(_LEVELS - fewest) << 32 | min(most_wanted, _MOST_SHARED) << 16 | min(shared, _MOST_SHARED)


@njit(cache=True)
def _ranked(nodes: Nodes, target: int, n: int, most: int, scratch: Scratch, random: State) -> Any:
    """Of `n` peers that were found, let `scratch.order` say where those nearest to the target are; return how many."""
    bounds, topics, wanted, keys, order = nodes.bounds, nodes.topics, scratch.wanted, scratch.keys, scratch.order
    for pair in range(bounds[target, 0], bounds[target, 1]):
        wanted[topics[pair]] = 1 + nodes.held[pair]
    best = 0
    for i in range(n):
        peer = peer_in(scratch.found[i])
        near = proximity(topics[bounds[peer, 0] : bounds[peer, 1]], wanted)
        # Among equals chance decides, or all would name the same few.
        key = near << 16 | np.int64(next_word(random) >> np.uint64(48))
        best = _put(keys, order, i, key, best, most)
    for pair in range(bounds[target, 0], bounds[target, 1]):
        wanted[topics[pair]] = 0
    return best


@njit(cache=True)
def _put(keys: Int64, order: Int32, i: int, key: int, best: int, most: int) -> Any:
    """Put one among the best so far, the highest key first; return how many they are."""
    if best == most:
        if most == 0 or keys[best - 1] >= key:
            return best
        best -= 1
    at = best
    while at > 0 and keys[at - 1] < key:
        keys[at], order[at] = keys[at - 1], order[at - 1]
        at -= 1
    keys[at], order[at] = key, i
    return best + 1
