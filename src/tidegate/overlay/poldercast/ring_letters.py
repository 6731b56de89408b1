"""What a letter of Rings says (section 3.4.1): who is next to the receiver in its rings, of all whom the sender knows.

One walk along the circle finds it: of the followers of a topic, in the order of their ids from the receiver on, the
first ones are its successors and the last ones its predecessors.
"""

from typing import Any, Final

import numpy as np

from tidegate.csr import Int32, Int64
from tidegate.intrinsics import prefetch
from tidegate.kernels import njit
from tidegate.overlay.poldercast.entries import EMPTY, below, known, peer_in, turned
from tidegate.overlay.poldercast.interests import AHEAD, shared, topics_of, unwant, want
from tidegate.overlay.poldercast.state import Ids, Nodes, Scratch
from tidegate.workload.alias import State

_TOP: Final = np.uint64(1 << 63)
_MOST_RINGS: Final = 4
"""Who is nearer in more rings than so many is not named before who is in so many."""


@njit(cache=True)
def name_neighbours(nodes: Nodes, me: int, target: int, scratch: Scratch, random: State, out: Int64) -> None:
    """Name those next to the target in its rings, of all whom `me` knows; of too many any.

    Who is nearer than those the target has said to have comes first, the more so in the more rings. Then come the rings
    of topics that both share; the thesis stops there, and where peers share little its letters stay almost empty.
    """
    theirs = topics_of(nodes, target)
    places, common = _common_first(topics_of(nodes, me), theirs)
    topics = theirs[places[:common]] if nodes.as_printed else theirs[places]
    want(topics[:common], scratch.wanted)
    n = known(nodes, me, target, scratch, random)
    want(topics, scratch.wanted)
    half = nodes.rings.shape[1] // 2
    _sort_along(nodes.ids, nodes.ids[target], n, scratch)
    _walk_along(nodes, n, half, scratch)
    unwant(topics, scratch.wanted)
    scratch.keys[:n] = 2 * half
    _rate(len(topics), common, half, scratch)
    if nodes.as_printed:
        _rate_alike(scratch.keys[:n], half)
    else:
        _rate_nearer(nodes, me, target, places, common, half, scratch)
    scratch.counted[: len(topics)] = 0
    _name_rated(n, 2 * half, nodes.clock[me], scratch, random, out)


@njit(cache=True)
def _common_first(mine: Int32, theirs: Int32) -> Any:
    """Return where the topics of one are, those that are in both first, and how many these are; both rise."""
    out = np.empty(len(theirs), np.int32)
    common, rest, i = 0, len(theirs), 0
    for k in range(len(theirs)):
        while i < len(mine) and mine[i] < theirs[k]:
            i += 1
        if i < len(mine) and mine[i] == theirs[k]:
            out[common] = k
            common += 1
        else:
            rest -= 1
            out[rest] = k
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
def _walk_along(nodes: Nodes, n: int, half: int, scratch: Scratch) -> None:
    """Let `scratch.along` have the first and the last `half` followers of every topic that is wanted.

    The last ones take turns: the `k`-th follower is in place `k % half`.
    """
    topics, bounds, wanted, hits = nodes.topics, nodes.bounds, scratch.wanted, scratch.hits
    counted, along, order, found = scratch.counted, scratch.along, scratch.order, scratch.found
    for k in range(n):
        i = order[k]
        peer = peer_in(found[i])
        prefetch(topics, bounds[peer_in(found[order[min(k + AHEAD, n - 1)]]), 0])
        for hit in range(shared(topics, bounds[peer, 0], bounds[peer, 1], wanted, hits)):
            at = hits[hit]
            before = counted[at]
            first = at * 2 * half
            if before < half:
                along[first + before] = i
            along[first + half + before % half] = i
            counted[at] = before + 1


@njit(cache=True)
def _rate(many: int, common: int, half: int, scratch: Scratch) -> None:
    """Let `scratch.keys` have, by peer that was found, the best place it has in any ring: 0 is next.

    Places in rings that are not common count as further by `half`.
    """
    keys, along, counted = scratch.keys, scratch.along, scratch.counted
    for at in range(many):
        first, least = at * 2 * half, 0 if at < common else half
        for place in range(min(counted[at], half)):
            one, other = along[first + place], along[first + half + (counted[at] - 1 - place) % half]
            keys[one] = min(keys[one], least + place)
            keys[other] = min(keys[other], least + place)


@njit(cache=True)
def _rate_nearer(nodes: Nodes, me: int, target: int, places: Int32, common: int, half: int, scratch: Scratch) -> None:
    """Let the keys of those that are nearer to the target than its next ones in a ring fall below 0, by one for each.

    In common rings they have to be nearer than `me` too: whoever writes need not name itself, nor anybody behind it.
    """
    ids, gaps, keys, found = nodes.ids, nodes.gaps, scratch.keys, scratch.found
    along, counted = scratch.along, scratch.counted
    home, begin = ids[target], nodes.bounds[target, 0]
    ahead, behind = np.float32(ids[me] - home), np.float32(home - ids[me])
    for at in range(len(places)):
        pair = begin + places[at]
        if counted[at] == 0 or pair >= len(gaps):
            continue
        first = at * 2 * half
        one, other = along[first], along[first + half + (counted[at] - 1) % half]
        after, before = gaps[pair, 0], gaps[pair, 1]
        if at < common:
            after, before = min(after, ahead), min(before, behind)
        if np.float32(ids[peer_in(found[one])] - home) < after:
            keys[one] = max(min(keys[one], 0) - 1, -_MOST_RINGS)
        if np.float32(home - ids[peer_in(found[other])]) < before:
            keys[other] = max(min(keys[other], 0) - 1, -_MOST_RINGS)


@njit(cache=True)
def _rate_alike(keys: Int64, half: int) -> None:
    """Let all that have a place in some ring be next."""
    for i in range(len(keys)):
        if keys[i] < half:
            keys[i] = 0


@njit(cache=True)
def _name_rated(n: int, places: int, clock: int, scratch: Scratch, random: State, out: Int64) -> None:
    """Name those that have a place, the next ones first; of too many at the same place, any."""
    order = scratch.order
    named = 0
    for best in range(-_MOST_RINGS, places):
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
