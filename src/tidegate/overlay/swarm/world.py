"""What is so in a simulation in time: who is up, how far it is, and how often peers gossip."""

from typing import Any, NamedTuple

from tidegate.csr import Int32, Int64
from tidegate.kernels import njit
from tidegate.overlay.swarm.latency import Latency
from tidegate.overlay.swarm.swarm import Flags, Sides
from tidegate.workload.terms import Floats

CYCLE, PATIENCE, WARY, AGAIN = range(4)
"""Where in a pace these are."""


class World(NamedTuple):
    """What is so, beside what peers know of each other: whether they are there, and when they write."""

    up: Flags
    side: Sides
    """On which side of a partition a peer is: 0 for all, if there is none."""
    reachable: Flags
    """By side and peer, who can be reached from there."""
    turns: Int64
    """By peer, the number of its turn that comes up next: one of a life before is none."""
    came: Floats
    """By peer, when it last came."""
    contacts: Int64
    """By peer, by whom it came; -1 if there was nobody."""
    gossiped: Int64
    """By peer, its turns so far."""
    haste: Int64
    """By peer and module, how many more letters it writes as soon as it is answered."""
    wrote: Floats
    """By peer and module, when it last did."""
    latency: Latency
    periods: Int32
    lengths: Int64
    """By module, how many entries a letter has."""
    pace: Floats
    """Seconds between turns; after how many somebody is silent; in how many letters one is in haste that has found
    somebody silent; and after how many turns one writes to whom it came by, 0 for never."""


@njit(cache=True)
def connected(world: World, one: int, other: int) -> Any:
    """Return whether letters pass between two peers."""
    return world.side[one] == world.side[other]


@njit(cache=True)
def way(latency: Latency, one: int, other: int) -> Any:
    """Return how long a letter takes, in seconds."""
    return latency.one_way[latency.place[one], latency.place[other]]
