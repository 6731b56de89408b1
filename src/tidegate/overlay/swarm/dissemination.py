"""Events in a swarm that stands still: who gets them, after how many hops, and how often (sections 3.5.2 and 3.5.4)."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from tidegate.csr import Csr, Int32, Int64
from tidegate.errors import ConfigError
from tidegate.kernels import njit
from tidegate.overlay.lent import lent
from tidegate.overlay.outcome import Outcome
from tidegate.overlay.poldercast.entries import below
from tidegate.overlay.poldercast.ringcast import BY_BOTH, LEAST_FAN_OUT, NAMED, name, pass_on
from tidegate.overlay.poldercast.state import Nodes
from tidegate.overlay.swarm.swarm import Flags, Sides, Swarm
from tidegate.workload.alias import State, random_state


@dataclass(frozen=True)
class Dissemination(Outcome):
    """What became of events that went along rings and across them."""

    published: Int64
    """Of those that were reached, who published it: one, or none where that one does not count any more."""

    @property
    def others_reached(self) -> int:
        """Of all events, how many subscribers got them that did not publish them."""
        return int(self.reached.sum() - self.published.sum())

    @property
    def duplication(self) -> float:
        """All copies received over peers that have the event, whoever publishes it included.

        It is at most the fan-out by construction: each that has the event passes it on once. Section 3.5.4 divides by
        those that received it, which is more: in a topic of ten, a ninth.
        """
        return float(self.copies.sum() / max(self.reached.sum(), 1))

    @property
    def miss_ratio(self) -> float:
        """Of the peers that should get something, those that missed at least one event (section 3.5.6)."""
        asked = np.count_nonzero(self.missed + self.received)
        return int(np.count_nonzero(self.missed)) / max(int(asked), 1)


def disseminated(
    swarm: Swarm,
    fan_out: int = 2,
    shortcuts: int = BY_BOTH,
    *,
    stand_in: bool = True,
    publishers: Flags | None = None,
    side: Sides | None = None,
    seed: int = 0,
) -> Dissemination:
    """Publish one event for every topic, each by any subscriber that is up, and let it spread; the swarm stays as it
    is.

    `stand_in` lets a peer find out that another is gone when it sends to it, as a connection would tell it, and take
    another instead, in a ring the next one. Where some of a topic's subscribers are among `publishers`, one of these
    publishes: who has just come may know nobody yet. `side` has by peer on which side of a partition it is: whoever is
    beyond should get an event, and cannot be reached, as if it were gone.
    """
    if fan_out < LEAST_FAN_OUT:
        raise ConfigError(f"a fan-out of {fan_out}: an event goes along its ring both ways, so give at least 2")
    topics, peers = swarm.many_topics, swarm.topics.rows
    by_topic = np.zeros((5, topics), np.int64)
    by_peer = np.zeros((2, peers), np.int64)
    if side is None:
        side = np.zeros(peers, np.int8)
    there = np.stack([swarm.up & (side == one) for one in range(2)])
    room = np.zeros((2, peers), np.int64), np.zeros((peers, NAMED), np.int64), np.zeros(fan_out, np.int64)
    random = random_state([swarm.seed, 2, seed])
    _publish_all(
        swarm.nodes,
        swarm.subscribers,
        swarm.up,
        swarm.up if publishers is None else publishers,
        side,
        there,
        there if stand_in else np.ones_like(there),
        shortcuts,
        random,
        room,
        by_topic,
        by_peer,
    )
    subscribers, reached, copies, hops, lost = by_topic
    missed, received = by_peer
    # Who publishes an event is up, and the first that has it.
    published = (reached > 0).astype(np.int64)
    return Dissemination(subscribers, reached, copies, hops, lost, missed, received, published)


@njit(cache=True)
def _publish_all(
    nodes: Nodes,
    subscribers: Csr,
    up: Flags,
    publishers: Flags,
    side: Sides,
    there: Flags,
    reachable: Flags,
    shortcuts: int,
    random: State,
    room: Any,
    by_topic: Int64,
    by_peer: Int64,
) -> None:
    nodes, random = lent(nodes), lent(random)
    queue, named, out = lent(room)
    hop = np.full(len(up), -1, np.int64)
    for topic in range(by_topic.shape[1]):
        everybody = subscribers.values[subscribers.offsets[topic] : subscribers.offsets[topic + 1]]
        present = everybody[up[everybody]]
        by_topic[0, topic] = len(present)
        if len(present) > 0:
            first = one_of(present, publishers, random)
            _spread(
                nodes,
                topic,
                first,
                there[side[first]],
                reachable[side[first]],
                shortcuts,
                random,
                queue,
                named,
                out,
                hop,
                by_topic[:, topic],
                by_peer[1],
            )
        for peer in present:
            if hop[peer] < 0:
                by_peer[0, peer] += 1
            hop[peer] = -1


@njit(cache=True)
def one_of(present: Int32, publishers: Flags, random: State) -> Any:
    """Draw one of those present that may publish, or any of them if none may."""
    able = present[publishers[present]]
    return able[below(len(able), random)] if len(able) > 0 else present[below(len(present), random)]


@njit(cache=True)
def _spread(
    nodes: Nodes,
    topic: int,
    first: int,
    there: Flags,
    reachable: Flags,
    shortcuts: int,
    random: State,
    queue: Int64,
    named: Int64,
    out: Int64,
    hop: Int64,
    counts: Int64,
    received: Int64,
) -> None:
    """Let an event spread from its publisher to those that are `there`, and count; `queue` has who was reached, in
    order, and by whom; `named` by peer whom its copies name."""
    none = np.empty(0, np.int64)
    queue[0, 0], queue[1, 0] = first, -1
    hop[first] = 0
    begin, end = 0, 1
    while begin < end:
        me, sender = queue[0, begin], queue[1, begin]
        begin += 1
        counts[3] += hop[me]
        served = named[sender] if sender >= 0 else none
        many = pass_on(nodes, me, topic, sender, served, shortcuts, reachable, random, out)
        name(me, sender, served, out[:many], named[me])
        for peer in out[:many]:
            if not there[peer]:
                counts[4] += 1
                continue
            counts[2] += 1
            received[peer] += 1
            if hop[peer] < 0:
                hop[peer] = hop[me] + 1
                queue[0, end], queue[1, end] = peer, me
                end += 1
    counts[1] = end
