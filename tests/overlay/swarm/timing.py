"""Peers in time, for tests."""

import numpy as np

from tidegate.csr import from_rows
from tidegate.overlay.swarm.completeness import completeness
from tidegate.overlay.swarm.latency import Latency, drawn_latency
from tidegate.overlay.swarm.swarm import Swarm
from tidegate.overlay.swarm.timed import AS_PRINTED, Timed
from tidegate.workload.follows import friends

PEERS = 200
FOLLOWS = friends(PEERS, 8, 3)


def started(seed: int = 3) -> Timed:
    swarm = Swarm(FOLLOWS.followed, seed=seed)
    swarm.warm()
    return Timed(swarm, drawn_latency(PEERS, 1))


def with_closed_rings() -> Timed:
    timed = started()
    timed.run(40 * 60.0)
    assert completeness(timed.swarm).missing == 0
    return timed


def far_apart(peers: int) -> Timed:
    """All follow one topic, and a letter takes five seconds."""
    swarm = Swarm(from_rows([[0]] * peers), seed=1)
    swarm.warm()
    return Timed(swarm, Latency(np.full((1, 1), 5.0), np.zeros(peers, np.int32)), AS_PRINTED)


def until_asked(timed: Timed, peer: int) -> None:
    """Go on until a peer has written, and whoever it wrote to cannot have read it."""
    while not (timed.swarm.nodes.asked[peer] >= 0).any():
        timed.run(timed.now + 1)
