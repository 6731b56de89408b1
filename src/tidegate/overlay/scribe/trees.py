"""Scribe (Castro and others, 2002): a tree for every topic, made of the routes from its subscribers to its rendezvous.

There are three kinds of messages to other members. A *join* asks whoever gets it to be the parent of its sender; sent
again, it is the heartbeat that keeps the sender a child, and the answer is the parent's. A *farewell* ends it. An event
goes to all children. What carries them, and finds out that somebody cannot be reached, is not here.
"""

from typing import Any

from tidegate.kernels import njit
from tidegate.overlay.scribe.membership import add_member, drop_link, drop_member, member_of, put_link
from tidegate.overlay.scribe.pastry import next_hop
from tidegate.overlay.scribe.settings import MOST_HOPS
from tidegate.overlay.scribe.state import (
    CHILD,
    CHILDREN,
    DEPTH,
    FOLLOWS,
    FURTHER,
    HEARD,
    NOBODY,
    PARENT,
    PEER,
    REFRESHED,
    TOPIC,
    Nodes,
    Trees,
)


@njit(cache=True)
def seek_parent(nodes: Nodes, trees: Trees, member: int, reachable: Any) -> Any:
    """Return to whom a member sends its join; -1 if it is the rendezvous, as far as its peer can tell."""
    members = trees.members
    me = members[member, PEER]
    hop = next_hop(nodes, me, trees.keys[members[member, TOPIC]], NOBODY, reachable)
    return NOBODY if hop == me else hop


@njit(cache=True)
def take_child(nodes: Nodes, trees: Trees, me: int, topic: int, child: int) -> Any:
    """Take in a join, and return the member of `me` in that tree, and whether it is new: it has to join then itself."""
    member = member_of(trees, me, topic)
    is_new = member < 0
    if is_new:
        member = add_member(trees, me, topic)
    put_link(trees, member, child, nodes.clock[me])
    return member, is_new


@njit(cache=True)
def take_answer(nodes: Nodes, trees: Trees, member: int, parent: int, depth: int) -> None:
    """Take in the answer to a join: its sender, which says how deep in the tree it is, is the parent from now on."""
    trees.members[member, PARENT] = parent
    trees.members[member, DEPTH] = depth + 1
    trees.members[member, HEARD] = nodes.clock[trees.members[member, PEER]]


@njit(cache=True)
def become_root(nodes: Nodes, trees: Trees, member: int) -> None:
    """Let a member that has found nobody nearer to the key be the rendezvous."""
    take_answer(nodes, trees, member, NOBODY, -1)


@njit(cache=True)
def is_in_circle(trees: Trees, member: int) -> Any:
    """Return whether a member is deeper than any route is long: then its parents are below it themselves.

    They have come to be so while tables were out of date, would answer each other for ever, and count upwards.
    """
    return trees.members[member, DEPTH] > MOST_HOPS


@njit(cache=True)
def take_farewell(trees: Trees, me: int, topic: int, child: int) -> None:
    """Take in that somebody is no child any more."""
    member = member_of(trees, me, topic)
    if member < 0:
        return
    link, previous = trees.members[member, CHILDREN], NOBODY
    while link >= 0:
        if trees.links[link, CHILD] == child:
            drop_link(trees, member, link, previous)
            return
        link, previous = trees.links[link, FURTHER], link


@njit(cache=True)
def give_up_silent(nodes: Nodes, trees: Trees, member: int, patience: int) -> None:
    """Drop the children of a member that have not written for longer than they may."""
    clock = nodes.clock[trees.members[member, PEER]]
    link, previous = trees.members[member, CHILDREN], NOBODY
    while link >= 0:
        further = trees.links[link, FURTHER]
        # Peers take their turns in any order, so that two of one may lie between two of another.
        if clock - trees.links[link, REFRESHED] > 2 + patience:
            drop_link(trees, member, link, previous)
        else:
            previous = link
        link = further


@njit(cache=True)
def is_idle(trees: Trees, member: int) -> Any:
    """Return whether a member is a relay to nobody."""
    return trees.members[member, CHILDREN] < 0 and not trees.members[member, FOLLOWS]


@njit(cache=True)
def leave_tree(trees: Trees, member: int, previous: int) -> Any:
    """Drop a member, and return to whom a farewell goes, or -1; `previous` is the member before it of the same peer."""
    parent = trees.members[member, PARENT]
    drop_member(trees, member, previous)
    return parent
