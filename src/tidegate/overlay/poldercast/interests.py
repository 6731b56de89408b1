"""Which of the topics that are wanted a peer follows: what every step asks of dozens of peers.

`scratch.wanted` says of topics which one they are, from 1 on, and is 0 for all others. A peer's topics are looked up
there one by one; those that are found are collected without a branch, since nobody can foretell which they are.
"""

from typing import Any, Final

import numpy as np

from tidegate.csr import Int32
from tidegate.kernels import njit
from tidegate.overlay.poldercast.state import Nodes

AHEAD: Final = 4
"""The topics of so many peers on are asked for while those of one are looked up: they are all over the memory."""


@njit(cache=True)
def topics_of(nodes: Nodes, peer: int) -> Any:
    """The topics of a peer, as a view."""
    return nodes.topics[nodes.bounds[peer, 0] : nodes.bounds[peer, 1]]


@njit(cache=True)
def want(topics: Int32, wanted: Int32) -> None:
    """Let `wanted` say of these topics which one they are, from 1 on."""
    for k in range(len(topics)):
        wanted[topics[k]] = k + 1


@njit(cache=True)
def unwant(topics: Int32, wanted: Int32) -> None:
    """Let nothing be wanted."""
    for topic in topics:
        wanted[topic] = 0


@njit(cache=True)
def shared(topics: Int32, first: int, end: int, wanted: Int32, hits: Int32) -> Any:
    """Let `hits` say which of the wanted topics are among those from `first` to `end`, counted from 0 on; return how
    many they are.
    """
    n = np.uint64(0)
    # Unsigned: Numba would ask of every index whether it counts from the end.
    for pair in range(np.uint64(first), np.uint64(end)):
        at = wanted[np.uint32(topics[pair])]
        hits[n] = at - 1
        n += np.uint64(at > 0)
    return np.int64(n)
