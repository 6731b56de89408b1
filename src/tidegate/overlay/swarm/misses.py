"""How peers find out what was missed: each by the numbers of events of its own topics, all together by gossip.

Who gets an event knows from its number whether there was another in between; and letters of Rings tell the last
numbers of the topics that both follow. Once a cycle a peer says whether it has missed anything, and keeps a running
share; letters tell the sender's, and who reads one takes the mean, so that each comes to know the share of all.
"""

from typing import Final

from tidegate.csr import Int64
from tidegate.kernels import njit
from tidegate.overlay.poldercast.state import Nodes
from tidegate.overlay.swarm.spreading import UNHEARD, WARM_UP_S, Misses, Spreading

_LATE_S: Final = 5.0
"""An event that a neighbour has had for so long comes no more."""
_WEIGHT: Final = 0.1
"""What the last cycle counts in a running share."""


@njit(cache=True)
def begin_anew(nodes: Nodes, misses: Misses, peers: Int64, account: float) -> None:
    """Let peers that have just come know of no event, and take account at some time; what they said before is over."""
    for me in peers:
        misses.known[nodes.bounds[me, 0] : nodes.bounds[me, 1]] = UNHEARD
        misses.found[me], misses.account[me], misses.share[me] = 0, account, UNHEARD


@njit(cache=True)
def hear(misses: Misses, me: int, pair: int, number: int) -> None:
    """Let a peer get an event: those between the last one and this were missed."""
    last = misses.known[pair]
    misses.found[me] += last != UNHEARD and number > last + 1
    misses.known[pair] = max(last, number)


@njit(cache=True)
def compare(nodes: Nodes, spreading: Spreading, me: int, other: int, came: float, now: float) -> None:
    """Let a peer that has come at some time hear the last number of each topic that both follow from another, if it
    has had that event for a while: if it is news it was missed, or published too soon after coming."""
    misses, event, topics = spreading.misses, spreading.event, nodes.topics
    mine, theirs = nodes.bounds[me, 0], nodes.bounds[other, 0]
    while mine < nodes.bounds[me, 1] and theirs < nodes.bounds[other, 1]:
        topic, its = topics[mine], topics[theirs]
        published = spreading.published[topic]
        is_last = topic == its and event[topic] > 0 and spreading.seen[theirs] == event[topic]
        if is_last and misses.known[mine] < event[topic] and published + spreading.late[theirs] <= now - _LATE_S:
            misses.found[me] += came <= published - WARM_UP_S
            misses.known[mine] = event[topic]
        mine += topic <= its
        theirs += its <= topic


@njit(cache=True)
def take_account(misses: Misses, me: int, now: float, cycle: float) -> None:
    """Let a peer say once a cycle whether it has missed an event."""
    if now < misses.account[me]:
        return
    missed = 1.0 if misses.found[me] > 0 else 0.0
    last = misses.share[me]
    misses.share[me] = missed * _WEIGHT if last == UNHEARD else last + _WEIGHT * (missed - last)
    misses.found[me] = 0
    misses.account[me] = now + cycle


@njit(cache=True)
def average(misses: Misses, me: int, other: int) -> None:
    """Let a peer hear from another what share that one knows of."""
    mine, its = misses.share[me], misses.share[other]
    if its != UNHEARD:
        misses.share[me] = its if mine == UNHEARD else (mine + its) / 2
