"""Who of those that pass by can be helped to a topic's first neighbour.

Two followers of a topic who share nothing else have nobody in common that would tell one of the other: they wait for
chance to bring them together. But with views of 20 somebody knows both of them at almost any time, and can tell from
their profiles; it need only write to one.
"""

from typing import Any

from tidegate.csr import Int32, Int64
from tidegate.kernels import njit
from tidegate.overlay.poldercast.entries import below, known, peer_in
from tidegate.overlay.poldercast.interests import shared, unwant
from tidegate.overlay.poldercast.state import Nodes, Scratch
from tidegate.workload.alias import State


@njit(cache=True)
def whom_to_help(nodes: Nodes, me: int, scratch: Scratch, random: State) -> Any:
    """Return the stranger that lacks a neighbour in most topics that somebody else whom `me` knows follows, or -1.

    Strangers are those of the Cyclon view: who is known for longer was helped before.
    """
    strangers = nodes.cyclon[me]
    lonely = _lonely_topics(nodes, strangers, scratch)
    if len(lonely) == 0:
        return -1
    # Nothing is wanted while peers are written down: no ring comes before another.
    n = known(nodes, me, -1, scratch, random)
    for k in range(len(lonely)):
        scratch.wanted[lonely[k]] = k + 1
    _count_followers(nodes, n, scratch)
    found = _most_helped(nodes, strangers, scratch, random)
    scratch.counted[: len(lonely)] = 0
    unwant(lonely, scratch.wanted)
    return found


@njit(cache=True)
def _lonely_topics(nodes: Nodes, strangers: Int64, scratch: Scratch) -> Any:
    """Return the topics in which some stranger has no neighbour, each once; nothing is wanted afterwards."""
    topics, held, wanted, lonely = nodes.topics, nodes.held, scratch.wanted, scratch.along
    n = 0
    for entry in strangers:
        if entry < 0:
            break
        for pair in range(nodes.bounds[peer_in(entry), 0], nodes.bounds[peer_in(entry), 1]):
            if held[pair] == 0 and wanted[topics[pair]] == 0:
                wanted[topics[pair]] = 1
                lonely[n] = topics[pair]
                n += 1
    unwant(lonely[:n], wanted)
    return lonely[:n]


@njit(cache=True)
def _count_followers(nodes: Nodes, n: int, scratch: Scratch) -> None:
    """Count, by topic that is wanted, those of `n` peers that follow it."""
    topics, bounds, wanted, hits, counted = nodes.topics, nodes.bounds, scratch.wanted, scratch.hits, scratch.counted
    for i in range(n):
        peer = peer_in(scratch.found[i])
        for k in range(shared(topics, bounds[peer, 0], bounds[peer, 1], wanted, hits)):
            counted[hits[k]] += 1


@njit(cache=True)
def _most_helped(nodes: Nodes, strangers: Int64, scratch: Scratch, random: State) -> Any:
    """Return whose lonely topics most often have a follower besides itself, of several any; -1 if none has."""
    most, found, ties = 0, -1, 0
    for entry in strangers:
        if entry < 0:
            break
        helped = _helped(nodes, peer_in(entry), scratch.wanted, scratch.counted)
        if helped > most:
            most, found, ties = helped, peer_in(entry), 1
        elif helped == most and most > 0:
            ties += 1
            if below(ties, random) == 0:
                found = peer_in(entry)
    return found


@njit(cache=True)
def _helped(nodes: Nodes, peer: int, wanted: Int32, counted: Int32) -> Any:
    """Return in how many topics without a neighbour a peer is not the only one that was counted."""
    helped = 0
    for pair in range(nodes.bounds[peer, 0], nodes.bounds[peer, 1]):
        if nodes.held[pair] == 0:
            helped += counted[wanted[nodes.topics[pair]] - 1] > 1
    return helped
