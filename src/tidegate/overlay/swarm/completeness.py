"""How complete the rings are: whether everybody has the successor and the predecessor that it ought to have."""

from dataclasses import dataclass

import numpy as np

from tidegate.csr import Csr, Int64
from tidegate.kernels import njit
from tidegate.overlay.poldercast.entries import peer_in
from tidegate.overlay.poldercast.ringcast import pair_of
from tidegate.overlay.poldercast.state import Nodes
from tidegate.overlay.swarm.swarm import Flags, Swarm


@dataclass(frozen=True)
class Completeness:
    """Of rings with at least two peers that are up, as Figure 3.5 counts them."""

    rings: int
    incomplete: int
    """Rings of which some link is missing."""
    links: int
    """Two for every peer of a ring."""
    missing: int

    @property
    def complete_share(self) -> float:
        """Of the rings, how many have all their links; all of none."""
        return 1 - self.incomplete / self.rings if self.rings else 1.0


def completeness(swarm: Swarm) -> Completeness:
    """Compare all rings with those that there should be."""
    present, missing = links_by_topic(swarm)
    rings = present >= 2
    return Completeness(
        rings=int(rings.sum()),
        incomplete=int((missing > 0).sum()),
        links=int(2 * present[rings].sum()),
        missing=int(missing.sum()),
    )


def links_by_topic(swarm: Swarm) -> tuple[Int64, Int64]:
    """Return by topic how many of its peers are up, and how many of the links between them are missing."""
    present = np.zeros(swarm.many_topics, np.int64)
    missing = np.zeros(swarm.many_topics, np.int64)
    _count(swarm.nodes, swarm.subscribers, swarm.up, present, missing)
    return present, missing


@njit(cache=True)
def _count(nodes: Nodes, subscribers: Csr, up: Flags, present: Int64, missing: Int64) -> None:
    half = nodes.rings.shape[1] // 2
    for topic in range(len(present)):
        everybody = subscribers.values[subscribers.offsets[topic] : subscribers.offsets[topic + 1]]
        peers = everybody[up[everybody]]
        present[topic] = len(peers)
        if len(peers) < 2:
            continue
        for k in range(len(peers)):
            pair = pair_of(nodes, peers[k], topic)
            missing[topic] += peer_in(nodes.rings[pair, 0]) != peers[(k + 1) % len(peers)]
            missing[topic] += peer_in(nodes.rings[pair, half]) != peers[k - 1]
