"""Pastry (Rowstron and Druschel, 2001): where a message to a key goes next, and whom a peer keeps.

A peer keeps its leaf set, and a table of peers by the digits that they share with it. Who is kept was met: a peer of
which one has only heard is asked for a sign of life first, so that the dead are not handed on. Which of several that
fit a place of the table is kept is left to chance; Pastry takes the one with the shortest round trip.
"""

from typing import Any

from tidegate.csr import Int32
from tidegate.kernels import njit
from tidegate.overlay.scribe.circle import BASE, DIGITS, digit_of, is_nearer, shared_digits
from tidegate.overlay.scribe.state import NOBODY, Ids, Nodes


@njit(cache=True)
def next_hop(nodes: Nodes, me: int, key: int, without: int, reachable: Any) -> Any:
    """Return where a message to a key goes next: `me` if nobody whom `me` knows is nearer.

    `reachable` says by peer who can be reached, as far as `me` can tell; `without` names one that it may not go to.
    """
    if covers(nodes, me, key):
        return _nearest_leaf(nodes, me, key, without, reachable)
    level = shared_digits(nodes.ids[me], key)
    peer = nodes.table[me, level, digit_of(key, level)]
    if peer >= 0 and peer != without and reachable[peer]:
        return peer
    return _nearest_known(nodes, me, key, without, reachable)


@njit(cache=True)
def covers(nodes: Nodes, me: int, key: int) -> Any:
    """Return whether a key lies between the ends of a peer's leaf set."""
    ids, leaves = nodes.ids, nodes.leaves[me]
    half = len(leaves) // 2
    last, first = _end(leaves[:half], me), _end(leaves[half:], me)
    behind, before = ids[last] - ids[me], ids[me] - ids[first]
    # Ends that overlap go all around: the sum is more than a word holds.
    around = behind + before < before or (last == me and first == me)
    return around or key - ids[first] <= behind + before


@njit(cache=True)
def wants(nodes: Nodes, me: int, peer: int) -> Any:
    """Return whether a peer would be kept, and is not yet."""
    if peer == me:
        return False
    leaves, half = nodes.leaves[me], nodes.leaves.shape[1] // 2
    level = shared_digits(nodes.ids[me], nodes.ids[peer])
    return (
        nodes.table[me, level, digit_of(nodes.ids[peer], level)] < 0
        or _column(nodes.ids, leaves[:half], me, peer, True) >= 0
        or _column(nodes.ids, leaves[half:], me, peer, False) >= 0
    )


@njit(cache=True)
def learn(nodes: Nodes, me: int, peer: int) -> None:
    """Keep a peer that was met, where it belongs."""
    if peer == me:
        return
    ids, leaves, half = nodes.ids, nodes.leaves[me], nodes.leaves.shape[1] // 2
    _keep(leaves[:half], _column(ids, leaves[:half], me, peer, True), peer)
    _keep(leaves[half:], _column(ids, leaves[half:], me, peer, False), peer)
    level = shared_digits(ids[me], ids[peer])
    digit = digit_of(ids[peer], level)
    if nodes.table[me, level, digit] < 0:
        nodes.table[me, level, digit] = peer


@njit(cache=True)
def forget(nodes: Nodes, me: int, peer: int) -> None:
    """Take a peer that was found silent out of all that `me` knows."""
    if peer == me:
        return
    leaves, half = nodes.leaves[me], nodes.leaves.shape[1] // 2
    _remove(leaves[:half], peer)
    _remove(leaves[half:], peer)
    level = shared_digits(nodes.ids[me], nodes.ids[peer])
    digit = digit_of(nodes.ids[peer], level)
    if nodes.table[me, level, digit] == peer:
        nodes.table[me, level, digit] = NOBODY


@njit(cache=True)
def _end(side: Int32, me: int) -> Any:
    """Return the farthest peer of one side, or `me`."""
    end = me
    for peer in side:
        if peer < 0:
            break
        end = peer
    return end


@njit(cache=True)
def _nearest_leaf(nodes: Nodes, me: int, key: int, without: int, reachable: Any) -> Any:
    ids, found = nodes.ids, me
    for peer in nodes.leaves[me]:
        if peer >= 0 and peer != without and is_nearer(ids[peer], ids[found], key) and reachable[peer]:
            found = peer
    return found


@njit(cache=True)
def _nearest_known(nodes: Nodes, me: int, key: int, without: int, reachable: Any) -> Any:
    """Return the peer nearest to a key of all that share no fewer digits with it than `me`; of all, if none is nearer.

    The latter is ours: with a leaf set that has not been filled up again, a message would end halfway.
    """
    ids, table = nodes.ids, nodes.table[me]
    level = shared_digits(ids[me], key)
    found = _nearest_leaf(nodes, me, key, without, reachable)
    best = found if shared_digits(ids[found], key) >= level else me
    for row in range(DIGITS):
        for digit in range(BASE):
            peer = table[row, digit]
            if peer < 0 or peer == without or not reachable[peer]:
                continue
            if row >= level and is_nearer(ids[peer], ids[best], key):
                best = peer
            if is_nearer(ids[peer], ids[found], key):
                found = peer
    return best if best != me else found


@njit(cache=True)
def _column(ids: Ids, side: Int32, me: int, peer: int, behind: bool) -> Any:
    """Return where on one side a peer belongs; -1 if it is there, or too far away."""
    away = ids[peer] - ids[me] if behind else ids[me] - ids[peer]
    for k in range(len(side)):
        other = side[k]
        if other == peer:
            return -1
        if other < 0 or away < (ids[other] - ids[me] if behind else ids[me] - ids[other]):
            return k
    return -1


@njit(cache=True)
def _keep(side: Int32, k: int, peer: int) -> None:
    if k >= 0:
        for i in range(len(side) - 1, k, -1):
            side[i] = side[i - 1]
        side[k] = peer


@njit(cache=True)
def _remove(side: Int32, peer: int) -> None:
    for k in range(len(side)):
        if side[k] == peer:
            for i in range(k, len(side) - 1):
                side[i] = side[i + 1]
            side[-1] = NOBODY
            return
