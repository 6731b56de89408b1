"""RingCast (section 3.3.2): to whom a peer passes an event on that it has seen for the first time.

Along the ring, away from where it came; and to others that follow the topic, picked from the views, until there are as
many as the fan-out. A copy names some that have the event, or are being sent it: who gets it leaves those alone.
"""

from typing import Any, Final

from tidegate.csr import Int64
from tidegate.kernels import njit
from tidegate.overlay.poldercast.entries import EMPTY, below, peer_in
from tidegate.overlay.poldercast.state import Nodes
from tidegate.workload.alias import State

BY_CYCLON, BY_VICINITY, BY_BOTH = 1, 2, 3
"""Which views shortcuts are picked from."""
BY_ALL: Final = 7
"""From those of Rings, too: who is behind the next ones. Not in the thesis."""
_BY_RINGS: Final = 4
LEAST_FAN_OUT: Final = 2
NAMED: Final = 8
"""How many a copy names at most."""


@njit(cache=True)
def pair_of(nodes: Nodes, peer: int, topic: int) -> Any:
    """Return where a topic is among those of a peer that is known, or -1 if it does not follow it."""
    low, end = nodes.bounds[peer, 0], nodes.bounds[peer, 1]
    high = end
    while low < high:
        middle = (low + high) // 2
        if nodes.topics[middle] < topic:
            low = middle + 1
        else:
            high = middle
    return low if low < end and nodes.topics[low] == topic else -1


@njit(cache=True)
def pass_on(
    nodes: Nodes,
    me: int,
    topic: int,
    sender: int,
    served: Int64,
    shortcuts: int,
    reachable: Any,
    random: State,
    out: Int64,
) -> Any:
    """Fill `out`, as long as the fan-out, with those that an event goes to next, and return how many they are.

    The sender is -1 where an event begins. `served` are those that its copy named: they get none. Nor does anybody
    else for a ring neighbour among them, whose place stays empty: the ring goes on from there. `reachable` says by peer
    who can be reached, as far as `me` can tell: who cannot be is stood in for, a ring neighbour by the next one. `me`
    follows the topic, or the event goes nowhere. As printed, nobody is served.
    """
    pair = pair_of(nodes, me, topic)
    if pair < 0:
        return 0
    if nodes.as_printed:
        served = served[:0]
    half = nodes.rings.shape[1] // 2
    after = _first_reachable(nodes.rings[pair, :half], reachable)
    before = _first_reachable(nodes.rings[pair, half:], reachable)
    n, places = 0, len(out)
    if after >= 0 and after != sender:
        if _among(served, len(served), after):
            places -= 1
        else:
            out[n] = after
            n += 1
    # Two peers are each other's neighbour on both sides.
    if before >= 0 and before not in (sender, after) and n < places:
        if _among(served, len(served), before):
            places -= 1
        else:
            out[n] = before
            n += 1
    return _with_shortcuts(nodes, me, pair, sender, served, shortcuts, reachable, random, out[:places], n)


@njit(cache=True)
def name(me: int, sender: int, served: Int64, receivers: Int64, named: Int64) -> None:
    """Fill `named` with those that copies to some receivers name: these; whom `me` has the event from; and whom that
    one named, as many as there is room for. `EMPTY` is behind them."""
    named[:] = EMPTY
    n = 0
    for peer in receivers:
        n = _add(named, n, peer)
    n = _add(named, n, sender)
    for peer in served:
        if peer != me:
            n = _add(named, n, peer)


@njit(cache=True)
def _add(named: Int64, n: int, peer: int) -> Any:
    if peer < 0 or n == len(named):
        return n
    named[n] = peer
    return n + 1


@njit(cache=True)
def _first_reachable(side: Int64, reachable: Any) -> Any:
    for entry in side:
        if entry >= 0 and reachable[peer_in(entry)]:
            return peer_in(entry)
    return -1


@njit(cache=True)
def _with_shortcuts(
    nodes: Nodes,
    me: int,
    pair: int,
    sender: int,
    served: Int64,
    shortcuts: int,
    reachable: Any,
    random: State,
    out: Int64,
    n: int,
) -> Any:
    """Add others that follow the topic, any of those in the views, until there are as many as the fan-out."""
    ring, met = n, 0
    views = ((BY_CYCLON, nodes.cyclon[me]), (BY_VICINITY, nodes.vicinity[me]), (_BY_RINGS, nodes.rings[pair]))
    for kind, view in views:
        if not shortcuts & kind:
            continue
        for entry in view:
            # Not at an end: each side of a ring has its own.
            if entry < 0:
                continue
            peer = peer_in(entry)
            if peer == sender or not reachable[peer] or _among(out, n, peer) or _among(served, len(served), peer):
                continue
            if pair_of(nodes, peer, nodes.topics[pair]) < 0:
                continue
            met += 1
            # A sample of fixed size from a stream of unknown length.
            if n < len(out):
                out[n] = peer
                n += 1
            elif n > ring:
                at = below(met, random)
                if at < n - ring:
                    out[ring + at] = peer
    return n


@njit(cache=True)
def _among(row: Int64, n: int, peer: int) -> Any:
    # No array in between: this is asked for every entry of every view.
    found = False
    for i in range(n):
        found |= row[i] == peer
    return found
