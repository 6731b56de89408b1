"""Members and links: where they are kept, found, added and dropped. What they are for is in `trees.py`.

A member is found by a hash of its peer and topic; the members of a peer are a list, and so are the links of a member.
Places that become free are used again.
"""

from typing import Any

import numpy as np

from tidegate.csr import Int32, Int64
from tidegate.kernels import njit
from tidegate.overlay.scribe.state import (
    CHILD,
    CHILDREN,
    DEPTH,
    FIRST,
    FOLLOWS,
    FREE_LINK,
    FREE_MEMBER,
    FURTHER,
    HEARD,
    LINKS,
    MANY,
    MEMBERS,
    NEXT,
    NOBODY,
    PARENT,
    PEER,
    REFRESHED,
    TOPIC,
    USED_LINKS,
    USED_MEMBERS,
    Trees,
    with_more_room,
)


def grown(trees: Trees) -> Trees:
    """Return the same trees with twice the room."""
    larger = with_more_room(trees)
    _place_all(larger)
    return larger


@njit(cache=True)
def has_room(trees: Trees, more: int) -> Any:
    """Return whether so many more members, and as many links, can be added."""
    most = min(len(trees.members), len(trees.links))
    return max(trees.counts[MEMBERS], trees.counts[LINKS]) + more <= most


@njit(cache=True)
def member_of(trees: Trees, peer: int, topic: int) -> Any:
    """Return the member of a peer in the tree of a topic, or -1."""
    return trees.places[_place(trees.places, trees.members, peer, topic)]


@njit(cache=True)
def follows(trees: Trees, peer: int, topic: int) -> Any:
    """Return whether a peer follows a topic."""
    row = trees.topics.values[trees.topics.offsets[peer] : trees.topics.offsets[peer + 1]]
    at = np.searchsorted(row, topic)
    return at < len(row) and row[at] == topic


@njit(cache=True)
def add_member(trees: Trees, peer: int, topic: int) -> Any:
    """Add a member that is not there yet, without a parent or children, and return it."""
    members, lists, counts = trees.members, trees.lists, trees.counts
    place = _place(trees.places, members, peer, topic)
    member = _taken(members, NEXT, counts, FREE_MEMBER, USED_MEMBERS)
    members[member, PEER] = peer
    members[member, TOPIC] = topic
    members[member, PARENT] = NOBODY
    members[member, HEARD] = 0
    members[member, NEXT] = lists[peer, FIRST]
    members[member, CHILDREN] = NOBODY
    members[member, FOLLOWS] = follows(trees, peer, topic)
    members[member, DEPTH] = 0
    trees.places[place] = member
    lists[peer, FIRST] = member
    lists[peer, MANY] += 1
    counts[MEMBERS] += 1
    return member


@njit(cache=True)
def drop_member(trees: Trees, member: int, previous: int) -> None:
    """Drop a member and its links; `previous` is the one before it in the list of its peer, -1 if it is the first."""
    members, lists, counts = trees.members, trees.lists, trees.counts
    peer = members[member, PEER]
    while members[member, CHILDREN] >= 0:
        drop_link(trees, member, members[member, CHILDREN], NOBODY)
    if previous >= 0:
        members[previous, NEXT] = members[member, NEXT]
    else:
        lists[peer, FIRST] = members[member, NEXT]
    lists[peer, MANY] -= 1
    _vacate(trees.places, members, _place(trees.places, members, peer, members[member, TOPIC]))
    members[member, NEXT] = counts[FREE_MEMBER]
    counts[FREE_MEMBER] = member
    counts[MEMBERS] -= 1


@njit(cache=True)
def drop_all(trees: Trees, peer: int) -> None:
    """Drop all members of a peer."""
    while trees.lists[peer, FIRST] >= 0:
        drop_member(trees, trees.lists[peer, FIRST], NOBODY)


@njit(cache=True)
def put_link(trees: Trees, member: int, child: int, clock: int) -> None:
    """Note that a child of a member has written, whether it was one before or not."""
    links, members = trees.links, trees.members
    link = members[member, CHILDREN]
    while link >= 0:
        if links[link, CHILD] == child:
            links[link, REFRESHED] = clock
            return
        link = links[link, FURTHER]
    link = _taken(links, FURTHER, trees.counts, FREE_LINK, USED_LINKS)
    links[link, CHILD] = child
    links[link, REFRESHED] = clock
    links[link, FURTHER] = members[member, CHILDREN]
    members[member, CHILDREN] = link
    trees.counts[LINKS] += 1


@njit(cache=True)
def drop_link(trees: Trees, member: int, link: int, previous: int) -> None:
    """Drop a link of a member; `previous` is the one before it, -1 if it is the first."""
    links, counts = trees.links, trees.counts
    if previous >= 0:
        links[previous, FURTHER] = links[link, FURTHER]
    else:
        trees.members[member, CHILDREN] = links[link, FURTHER]
    links[link, FURTHER] = counts[FREE_LINK]
    counts[FREE_LINK] = link
    counts[LINKS] -= 1


@njit(cache=True)
def _taken(rows: Int32, column: int, counts: Int64, free: int, used: int) -> Any:
    """Return a place for one more: one that has become free, or the next one."""
    place = counts[free]
    if place >= 0:
        counts[free] = rows[place, column]
        return place
    counts[used] += 1
    return counts[used] - 1


@njit(cache=True)
def _home(places: Int32, peer: int, topic: int) -> Any:
    """Return where the search for a member begins."""
    word = np.uint64(peer) << np.uint64(32) | np.uint64(topic)
    word = (word ^ word >> np.uint64(29)) * np.uint64(0xBF58476D1CE4E5B9)
    return np.int64((word ^ word >> np.uint64(32)) & np.uint64(len(places) - 1))


@njit(cache=True)
def _place(places: Int32, members: Int32, peer: int, topic: int) -> Any:
    """Return the place where a member is, or would be put."""
    at = _home(places, peer, topic)
    while places[at] >= 0 and (members[places[at], PEER] != peer or members[places[at], TOPIC] != topic):
        at = (at + 1) & (len(places) - 1)
    return at


@njit(cache=True)
def _vacate(places: Int32, members: Int32, at: int) -> None:
    """Empty a place, and let those behind move up that would not be found otherwise."""
    last = len(places) - 1
    behind = at
    while True:
        behind = (behind + 1) & last
        if places[behind] < 0:
            break
        home = _home(places, members[places[behind], PEER], members[places[behind], TOPIC])
        # It may move up if its search begins no later than at the place that is empty.
        if (behind - home) & last >= (behind - at) & last:
            places[at] = places[behind]
            at = behind
    places[at] = NOBODY


@njit(cache=True)
def _place_all(trees: Trees) -> None:
    members = trees.members
    for peer in range(len(trees.lists)):
        member = trees.lists[peer, FIRST]
        while member >= 0:
            trees.places[_place(trees.places, members, peer, members[member, TOPIC])] = member
            member = members[member, NEXT]
