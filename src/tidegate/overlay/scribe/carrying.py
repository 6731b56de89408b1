"""Messages carried between simulated peers at once: what a peer does in its turn, and when it enters the network.

Whoever sends a message that is routed finds out that the next hop is gone, and takes another one; so does who sends its
leaves a sign of life. An unanswered heartbeat in a tree is noticed only when the next one is due (`Settings.patience`).
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidegate.csr import Int32, Int64
from tidegate.kernels import njit
from tidegate.overlay.poldercast.entries import below
from tidegate.overlay.scribe.circle import shared_digits
from tidegate.overlay.scribe.membership import add_member, member_of
from tidegate.overlay.scribe.pastry import forget, learn, next_hop, wants
from tidegate.overlay.scribe.settings import MOST_HOPS
from tidegate.overlay.scribe.state import DEPTH, FIRST, FOLLOWS, HEARD, NEXT, NOBODY, PARENT, PEER, TOPIC, Nodes, Trees
from tidegate.overlay.scribe.trees import (
    become_root,
    give_up_silent,
    is_idle,
    is_in_circle,
    leave_tree,
    seek_parent,
    take_answer,
    take_child,
    take_farewell,
)
from tidegate.workload.alias import State

BY_PASTRY, WANTED, UNWANTED = range(3)
"""What messages are for: the network itself, trees of topics that a peer follows, trees that it is a relay in."""


class World(NamedTuple):
    """What a simulation has besides the state of its peers."""

    up: NDArray[np.bool_]
    """By peer, whether it is there."""
    anybody: NDArray[np.bool_]
    """All true: who was not found silent is thought to be there."""
    control: Int64
    """By peer and by what they are for: the messages that it has sent or received, events apart."""
    random: State


@njit(cache=True)
def enter(nodes: Nodes, world: World, me: int, contact: int) -> None:
    """Let a peer come, or come back, by way of one that is there (section 2.4 of the paper on Pastry).

    Its leaf set is made anew, the table is kept: who is in it is tried when it is needed.
    """
    nodes.leaves[me] = NOBODY
    at = contact
    for _ in range(MOST_HOPS):
        _meet(nodes, world, me, at)
        for level in range(shared_digits(nodes.ids[me], nodes.ids[at]) + 1):
            _meet_all(nodes, world, me, nodes.table[at, level].copy())
        hop = _hop(nodes, world, at, nodes.ids[me], me)
        if hop == at:
            break
        at = hop
    _meet_all(nodes, world, me, nodes.leaves[at].copy())
    # That is the next one on one side; the far end of the other side is known to the next one there.
    leaves, half = nodes.leaves[me], nodes.leaves.shape[1] // 2
    for peer in (leaves[0], leaves[half]):
        if peer >= 0 and world.up[peer]:
            _meet_all(nodes, world, me, nodes.leaves[peer].copy())


@njit(cache=True)
def keep_leaves(nodes: Nodes, world: World, me: int) -> None:
    """Send a sign of life to the whole leaf set, forget who does not answer, and compare notes with one that does.

    With the last one on a side that has lost somebody, as the paper on Pastry has it; and with any.
    """
    leaves, half = nodes.leaves[me], nodes.leaves.shape[1] // 2
    for side in (leaves[:half], leaves[half:]):
        has_lost = False
        for peer in side.copy():
            if peer >= 0:
                _count(world, me, peer)
                if world.up[peer]:
                    learn(nodes, peer, me)
                else:
                    forget(nodes, me, peer)
                    has_lost = True
        last = _last(side)
        if has_lost and last >= 0:
            _meet_all(nodes, world, me, nodes.leaves[last].copy())
    if leaves[0] < 0 and leaves[half] < 0:
        _meet_all(nodes, world, me, nodes.table[me].copy().ravel())
    peer = leaves[below(len(leaves), world.random)]
    if peer >= 0 and world.up[peer]:
        _meet_all(nodes, world, me, nodes.leaves[peer].copy())


@njit(cache=True)
def tend(nodes: Nodes, trees: Trees, world: World, me: int, patience: int) -> None:
    """Let a peer join the trees of what it follows, and care for all that it is a member of."""
    offsets = trees.topics.offsets
    for topic in trees.topics.values[offsets[me] : offsets[me + 1]]:
        if member_of(trees, me, topic) < 0:
            join_along(nodes, trees, world, add_member(trees, me, topic))
    member, previous = trees.lists[me, FIRST], NOBODY
    while member >= 0:
        following = trees.members[member, NEXT]
        give_up_silent(nodes, trees, member, patience)
        if is_idle(trees, member):
            _count_for(world, trees, member, 1)
            topic = trees.members[member, TOPIC]
            parent = leave_tree(trees, member, previous)
            if parent >= 0 and world.up[parent]:
                take_farewell(trees, parent, topic, me)
        else:
            _stay(nodes, trees, world, member, patience)
            previous = member
        member = following


@njit(cache=True)
def give_way(nodes: Nodes, trees: Trees, world: World, me: int) -> None:
    """Let a peer join every tree that it is the root of: below somebody nearer to the key, if it knows one by now."""
    member = trees.lists[me, FIRST]
    while member >= 0:
        if trees.members[member, PARENT] < 0:
            join_along(nodes, trees, world, member)
        member = trees.members[member, NEXT]


@njit(cache=True)
def join_along(nodes: Nodes, trees: Trees, world: World, member: int) -> None:
    """Let a member join, and all on the way to the rendezvous that are not in the tree yet."""
    for _ in range(MOST_HOPS):
        parent = _parent(nodes, trees, world, member)
        if parent < 0:
            become_root(nodes, trees, member)
            return
        upper, is_new = _ask(nodes, trees, world, member, parent)
        if not is_new:
            return
        member = upper


@njit(cache=True)
def _stay(nodes: Nodes, trees: Trees, world: World, member: int, patience: int) -> None:
    """Send a heartbeat to the parent; join again if it has not answered, or if a rendezvous is none any more."""
    members = trees.members
    me, parent = members[member, PEER], members[member, PARENT]
    silent = nodes.clock[me] - members[member, HEARD]
    if silent == 0:
        return
    if parent < 0:
        join_along(nodes, trees, world, member)
    elif is_in_circle(trees, member):
        if world.up[parent]:
            take_farewell(trees, parent, members[member, TOPIC], me)
        join_along(nodes, trees, world, member)
    elif silent > max(patience, 1) or (patience == 0 and not world.up[parent]):
        forget(nodes, me, parent)
        join_along(nodes, trees, world, member)
    elif world.up[parent]:
        upper, is_new = _ask(nodes, trees, world, member, parent)
        if is_new:
            join_along(nodes, trees, world, upper)
    else:
        _count_for(world, trees, member, 1)


@njit(cache=True)
def _ask(nodes: Nodes, trees: Trees, world: World, member: int, parent: int) -> Any:
    """Carry a join to a parent that is there, and its answer back."""
    members = trees.members
    upper, is_new = take_child(nodes, trees, parent, members[member, TOPIC], members[member, PEER])
    take_answer(nodes, trees, member, parent, members[upper, DEPTH])
    _count_for(world, trees, member, 2)
    _count_for(world, trees, upper, 2)
    return upper, is_new


@njit(cache=True)
def _parent(nodes: Nodes, trees: Trees, world: World, member: int) -> Any:
    """Return who is to be the parent, those left out that cannot be reached."""
    while True:
        hop = seek_parent(nodes, trees, member, world.anybody)
        if hop < 0 or world.up[hop]:
            return hop
        _miss(nodes, world, trees.members[member, PEER], hop)


@njit(cache=True)
def _hop(nodes: Nodes, world: World, me: int, key: int, without: int) -> Any:
    """Return where a message goes next, those left out that cannot be reached."""
    while True:
        hop = next_hop(nodes, me, key, without, world.anybody)
        if hop == me:
            return me
        if world.up[hop]:
            _count(world, me, hop)
            return hop
        _miss(nodes, world, me, hop)


@njit(cache=True)
def _miss(nodes: Nodes, world: World, me: int, gone: int) -> None:
    """Forget a peer that could not be reached, and ask one of the same row of the table whom to put in its place."""
    forget(nodes, me, gone)
    level = shared_digits(nodes.ids[me], nodes.ids[gone])
    row = nodes.table[me, level]
    first = below(len(row), world.random)
    for k in range(len(row)):
        peer = row[(first + k) % len(row)]
        if peer >= 0 and world.up[peer]:
            _meet_all(nodes, world, me, nodes.table[peer, level].copy())
            return


@njit(cache=True)
def _meet_all(nodes: Nodes, world: World, me: int, named: Int32) -> None:
    """Take in a letter with peers that another one knows."""
    for peer in named:
        if peer >= 0:
            _meet(nodes, world, me, peer)


@njit(cache=True)
def _meet(nodes: Nodes, world: World, me: int, peer: int) -> None:
    """Ask a peer that would be kept for a sign of life; if it is there, both have met."""
    if not wants(nodes, me, peer):
        return
    _count(world, me, peer)
    if world.up[peer]:
        learn(nodes, me, peer)
        learn(nodes, peer, me)


@njit(cache=True)
def _last(side: Int32) -> Any:
    last = NOBODY
    for peer in side:
        if peer < 0:
            break
        last = peer
    return last


@njit(cache=True)
def _count(world: World, me: int, peer: int) -> None:
    """Count a message of Pastry's and, if there is one, its answer, for both that send and receive it."""
    if world.up[peer]:
        world.control[me, BY_PASTRY] += 2
        world.control[peer, BY_PASTRY] += 2
    else:
        world.control[me, BY_PASTRY] += 1


@njit(cache=True)
def _count_for(world: World, trees: Trees, member: int, messages: int) -> None:
    """Count messages of a tree for the peer of a member."""
    purpose = WANTED if trees.members[member, FOLLOWS] else UNWANTED
    world.control[trees.members[member, PEER], purpose] += messages
