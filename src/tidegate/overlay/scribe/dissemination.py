"""Events in a forest that stands still: who gets them, after how many hops, and who carries them for others (sections
3.5.4 to 3.5.6).

A publisher sends its event to the rendezvous along the route that Pastry gives; from there it goes down the tree.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from tidegate.csr import Csr, Int64
from tidegate.kernels import njit
from tidegate.overlay.outcome import Outcome
from tidegate.overlay.scribe.forest import Flags, Forest
from tidegate.overlay.scribe.membership import follows, member_of
from tidegate.overlay.scribe.pastry import next_hop
from tidegate.overlay.scribe.settings import MOST_HOPS
from tidegate.overlay.scribe.state import CHILD, CHILDREN, FURTHER, NOBODY, Nodes, Trees
from tidegate.overlay.swarm.dissemination import one_of
from tidegate.workload.alias import State, random_state

_SUBSCRIBERS, _REACHED, _COPIES, _HOPS, _LOST, _DELIVERED = range(6)
_MISSED, _RECEIVED, _UNWANTED, _DUE = range(4)


@dataclass(frozen=True)
class Dissemination(Outcome):
    """What became of events that went to the rendezvous and down the tree: copies and hops are those of all the way."""

    delivered: Int64
    """Of the copies, those that subscribers got out of the tree, but for the one that comes back to the publisher."""
    unwanted: Int64
    """By peer, those of the copies that are of topics it does not follow."""
    due: Int64
    """By peer, the events of others that it should have got."""

    @property
    def duplication(self) -> float:
        """Copies that were delivered over those that were new (section 3.5.4)."""
        return float(self.delivered.sum() / max(self.others_reached, 1))

    @property
    def miss_ratio(self) -> float:
        """Of the peers that should get something, those that missed at least one event (section 3.5.6)."""
        return int(np.count_nonzero(self.missed)) / max(int(np.count_nonzero(self.due)), 1)


def disseminated(
    forest: Forest, *, direct: bool = False, stand_in: bool = True, publishers: Flags | None = None, seed: int = 0
) -> Dissemination:
    """Publish one event for every topic, each by any subscriber that is up, and let it spread; the forest stays as it
    is.

    `direct` lets a publisher know the rendezvous from before, which takes one hop then. `stand_in` lets whoever routes
    an event find out that the next hop is gone, and take another one; in a tree there is none to take.
    Where some of a topic's subscribers are among `publishers`, one of these publishes.
    """
    by_topic = np.zeros((6, forest.many_topics), np.int64)
    by_peer = np.zeros((4, forest.topics.rows), np.int64)
    reachable = forest.up if stand_in else forest.world.anybody
    may = forest.up if publishers is None else publishers
    random = random_state([forest.seed, 2, seed])
    _publish_all(
        forest.nodes, forest.trees, forest.subscribers, forest.up, may, reachable, direct, random, by_topic, by_peer
    )
    subscribers, reached, copies, hops, lost, delivered = by_topic
    missed, received, unwanted, due = by_peer
    return Dissemination(
        subscribers, reached, copies, hops, lost, missed, received, delivered=delivered, unwanted=unwanted, due=due
    )


@njit(cache=True)
def _publish_all(
    nodes: Nodes,
    trees: Trees,
    subscribers: Csr,
    up: Flags,
    publishers: Flags,
    reachable: Flags,
    direct: bool,
    random: State,
    by_topic: Int64,
    by_peer: Int64,
) -> None:
    hop = np.full(len(up), -1, np.int64)
    queue = np.zeros(len(up), np.int64)
    for topic in range(by_topic.shape[1]):
        everybody = subscribers.values[subscribers.offsets[topic] : subscribers.offsets[topic + 1]]
        present = everybody[up[everybody]]
        counts = by_topic[:, topic]
        counts[_SUBSCRIBERS] = len(present)
        if len(present) == 0:
            continue
        first = one_of(present, publishers, random)
        root, hops = _routed(nodes, trees, topic, first, up, reachable, direct, counts, by_peer)
        reached = 0
        if root >= 0:
            reached = _spread(trees, topic, first, root, hops, up, queue, hop, counts, by_peer)
        _settle(present, first, hop, counts, by_peer)
        hop[queue[:reached]] = -1


@njit(cache=True)
def _routed(
    nodes: Nodes,
    trees: Trees,
    topic: int,
    first: int,
    up: Flags,
    reachable: Flags,
    direct: bool,
    counts: Int64,
    by_peer: Int64,
) -> Any:
    """Carry an event to its rendezvous, and return that, and the hops it took; -1 if it got lost."""
    at = first
    for hops in range(MOST_HOPS):
        peer = next_hop(nodes, at, trees.keys[topic], NOBODY, reachable)
        if peer == at:
            if at != first:
                _receive(trees, topic, at, counts, by_peer)
            return at, min(hops, 1) if direct else hops
        if not up[peer]:
            counts[_LOST] += 1
            break
        if at != first and not direct:
            _receive(trees, topic, at, counts, by_peer)
        at = peer
    return NOBODY, 0


@njit(cache=True)
def _spread(
    trees: Trees,
    topic: int,
    first: int,
    root: int,
    hops: int,
    up: Flags,
    queue: Int64,
    hop: Int64,
    counts: Int64,
    by_peer: Int64,
) -> Any:
    """Let an event go down its tree; `queue` has who was reached, in order. Return how many they are."""
    queue[0], hop[root] = root, hops
    counts[_DELIVERED] += root != first and follows(trees, root, topic)
    begin, end = 0, 1
    while begin < end:
        me = queue[begin]
        begin += 1
        member = member_of(trees, me, topic)
        # Who has come back since is sent events, and knows of no tree yet.
        link = trees.members[member, CHILDREN] if member >= 0 else NOBODY
        while link >= 0:
            peer = trees.links[link, CHILD]
            link = trees.links[link, FURTHER]
            if not up[peer]:
                counts[_LOST] += 1
                continue
            is_wanted = _receive(trees, topic, peer, counts, by_peer)
            counts[_DELIVERED] += is_wanted and peer != first
            if hop[peer] < 0:
                hop[peer] = hop[me] + 1
                queue[end] = peer
                end += 1
    return end


@njit(cache=True)
def _settle(present: Int64, first: int, hop: Int64, counts: Int64, by_peer: Int64) -> None:
    """Count for whom the event was, and who has got it."""
    counts[_REACHED] = 1
    for peer in present:
        if peer == first:
            continue
        by_peer[_DUE, peer] += 1
        if hop[peer] < 0:
            by_peer[_MISSED, peer] += 1
        else:
            counts[_REACHED] += 1
            counts[_HOPS] += hop[peer]


@njit(cache=True)
def _receive(trees: Trees, topic: int, peer: int, counts: Int64, by_peer: Int64) -> Any:
    """Count a copy for a peer, and return whether it follows the topic."""
    is_wanted = follows(trees, peer, topic)
    counts[_COPIES] += 1
    by_peer[_RECEIVED, peer] += 1
    by_peer[_UNWANTED, peer] += not is_wanted
    return is_wanted
