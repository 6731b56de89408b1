"""Vicinity (Voulgaris, 2006): the peers whose interests are nearest, by the proximity of section 3.4.2.

Near is who follows the topics that are wanted most, and among several who shares most topics. A view that those who
share some do not fill has anybody in it: strangers lead on to others.
"""

from typing import Any, Final

import numpy as np

from tidegate.csr import Int32, Int64
from tidegate.intrinsics import prefetch
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
from tidegate.overlay.poldercast.interests import AHEAD, topics_of
from tidegate.overlay.poldercast.introductions import whom_to_help
from tidegate.overlay.poldercast.state import Nodes, Scratch
from tidegate.workload.alias import State, next_word

_LEVELS: Final = 5
"""Of priority: no ring neighbour, up to a quarter of a full ring view, …, all of it."""
_BITS: Final = 12
_FIELD: Final = (1 << _BITS) - 1


@njit(cache=True)
def open_visit(nodes: Nodes, me: int, scratch: Scratch, random: State, out: Int64) -> Any:
    """Write to the oldest peer of the view, which is taken out, and return it.

    Every other time it is the turn of strangers: of one that can be helped to its first neighbour in some topic, or if
    `me` has a topic without any of anybody. Those near are asked again and again, and know each other. Who knows nobody
    near asks anybody too. -1 if there is nobody, or no view to be kept.
    """
    view, strangers = nodes.vicinity[me], nodes.cyclon[me]
    if len(view) == 0:
        return -1
    nodes.visits[me] += 1
    target, k = -1, oldest(view, random)
    turn_of_strangers = nodes.visits[me] % 2 == 0 and not nodes.as_printed
    if turn_of_strangers:
        target = whom_to_help(nodes, me, scratch, random)
    if target < 0 and strangers[0] >= 0 and (k < 0 or (turn_of_strangers and _is_lonely(nodes, me))):
        target = peer_in(strangers[below(filled(strangers), random)])
    if target < 0:
        if k < 0:
            return -1
        target = peer_in(view[k])
        remove(view, target)
    name_nearest(nodes, me, target, scratch, random, out)
    return target


@njit(cache=True)
def _is_lonely(nodes: Nodes, me: int) -> Any:
    """Whether a peer has a topic without any ring neighbour."""
    return (nodes.held[nodes.bounds[me, 0] : nodes.bounds[me, 1]] == 0).any()


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

    Ring neighbours came by letters too, and were considered then; as printed, they are so again.
    """
    clock, view = nodes.clock[me], nodes.vicinity[me]
    n = known(nodes, me, sender, scratch, random) if nodes.as_printed else in_views(nodes, me, scratch)
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
def tally(topics: Int32, first: int, end: int, weights: Int64) -> Any:
    """Return how many topics of every level of priority a peer follows, side by side in one word.

    Fields have room for the first 4,095 topics of a peer: more are not counted.
    """
    total = np.int64(0)
    # Unsigned: Numba would ask of every index whether it counts from the end.
    for pair in range(np.uint64(first), np.uint64(min(end, first + _FIELD))):
        total += weights[np.uint32(topics[pair])]
    return total


@njit(cache=True)
def proximity(total: int) -> Any:
    """Return how near a peer with this tally is: by the highest priority among the topics it follows, how many of
    these it follows, and how many in all.

    0 is not at all.
    """
    all_shared, most_wanted, level = 0, 0, 0
    for k in range(_LEVELS - 1, -1, -1):
        count = total >> _BITS * k & _FIELD
        all_shared += count
        if count > 0:
            most_wanted, level = count, _LEVELS - k
    return level << 32 | most_wanted << 16 | all_shared


@njit(cache=True)
def weigh(nodes: Nodes, target: int, weights: Int64) -> None:
    """Let a topic of the target weigh 1 in the field of its priority, which counts quarters of a full ring view.

    A peer elsewhere may have a larger ring view than `me`: more than all of it is all of it.
    """
    full = nodes.rings.shape[1]
    for pair in range(nodes.bounds[target, 0], nodes.bounds[target, 1]):
        quarters = min((4 * nodes.held[pair] + full - 1) // full, _LEVELS - 1)
        weights[nodes.topics[pair]] = np.int64(1) << _BITS * quarters


@njit(cache=True)
def _ranked(nodes: Nodes, target: int, n: int, most: int, scratch: Scratch, random: State) -> Any:
    """Of `n` peers that were found, let `scratch.order` say where those nearest to the target are; return how many."""
    topics, bounds = nodes.topics, nodes.bounds
    weights, keys, order, found = scratch.weights, scratch.keys, scratch.order, scratch.found
    weigh(nodes, target, weights)
    best = 0
    for i in range(n):
        peer = peer_in(found[i])
        prefetch(topics, bounds[peer_in(found[min(i + AHEAD, n - 1)]), 0])
        near = proximity(tally(topics, bounds[peer, 0], bounds[peer, 1], weights))
        # Among equals chance decides, or all would name the same few.
        key = near << 16 | np.int64(next_word(random) >> np.uint64(48))
        best = _put(keys, order, i, key, best, most)
    for topic in topics_of(nodes, target):
        weights[topic] = 0
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
