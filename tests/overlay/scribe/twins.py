"""Pastry's choices and the way of an event once more, in plain Python: what kernels are compared with."""

from collections import Counter
from dataclasses import dataclass

import numpy as np

from tidegate.overlay.scribe.forest import Forest
from tidegate.overlay.scribe.membership import member_of
from tidegate.overlay.scribe.pastry import next_hop
from tidegate.overlay.scribe.settings import Settings
from tidegate.overlay.scribe.state import (
    CHILD,
    CHILDREN,
    FIRST,
    FURTHER,
    NEXT,
    NOBODY,
    PARENT,
    TOPIC,
    Nodes,
    Trees,
    nodes_of,
)

CIRCLE = 1 << 64


@dataclass
class Town:
    """Peers with ids, and a leaf set of so many."""

    ids: list[int]
    leaves: int = 8

    def nodes(self) -> Nodes:
        return nodes_of(np.array(self.ids, np.uint64), len(self.ids), Settings(leaves=self.leaves))

    def away(self, peer: int, key: int) -> tuple[int, int]:
        """Return by what peers are ordered for a key, the nearest first."""
        apart = (self.ids[peer] - key) % CIRCLE
        return min(apart, CIRCLE - apart), self.ids[peer]

    def nearest(self, peers: set[int], key: int) -> int:
        return min(peers, key=lambda peer: self.away(peer, key))

    def sides(self, me: int, peers: set[int]) -> tuple[list[int], list[int]]:
        """Return the leaves of a peer among others: those behind and those before, nearest first."""
        behind = sorted(peers - {me}, key=lambda peer: (self.ids[peer] - self.ids[me]) % CIRCLE)
        before = sorted(peers - {me}, key=lambda peer: (self.ids[me] - self.ids[peer]) % CIRCLE)
        return behind[: self.leaves // 2], before[: self.leaves // 2]

    def place(self, me: int, peer: int) -> tuple[int, int]:
        """Return the level and the digit at which a peer is in a table."""
        mine, other = f"{self.ids[me]:016x}", f"{self.ids[peer]:016x}"
        level = shared(mine, other)
        return level, int(other[level], 16)

    def hop(self, me: int, leaves: tuple[list[int], list[int]], table: dict[tuple[int, int], int], key: int) -> int:
        """Return where a message goes next, by the pseudo code of the paper on Pastry and our way out behind it."""
        behind, before = leaves
        leaf_set = {me, *behind, *before}
        begin = self.ids[before[-1]] if before else self.ids[me]
        width = sum((self.ids[b] - self.ids[a]) % CIRCLE for a, b in self._ends(me, behind, before))
        if len(leaf_set) == 1 or width >= CIRCLE or (key - begin) % CIRCLE <= width:
            return self.nearest(leaf_set, key)
        digits = f"{key:016x}"
        level = shared(f"{self.ids[me]:016x}", digits)
        if (level, int(digits[level], 16)) in table:
            return table[level, int(digits[level], 16)]
        known = leaf_set | set(table.values())
        as_many = {peer for peer in known if shared(f"{self.ids[peer]:016x}", digits) >= level}
        found = self.nearest(as_many, key)
        return found if found != me else self.nearest(known, key)

    @staticmethod
    def _ends(me: int, behind: list[int], before: list[int]) -> list[tuple[int, int]]:
        return ([(before[-1], me)] if before else []) + ([(me, behind[-1])] if behind else [])


def shared(one: str, other: str) -> int:
    """Return how many digits two ids have in common."""
    return next((k for k in range(16) if one[k] != other[k]), 16)


def listed(row: np.ndarray[tuple[int], np.dtype[np.int32]]) -> list[int]:
    """Return the peers of one side of a leaf set."""
    filled = [int(peer) for peer in row if peer >= 0]
    assert (row[len(filled) :] == NOBODY).all()
    return filled


def members_of(trees: Trees, peer: int) -> list[int]:
    """Return the members of a peer, in the order of its list."""
    found, member = [], int(trees.lists[peer, FIRST])
    while member >= 0:
        found.append(member)
        member = int(trees.members[member, NEXT])
    return found


def children_of(trees: Trees, member: int) -> list[int]:
    """Return the children of a member, in the order of its list; of -1 there are none."""
    found, link = [], int(trees.members[member, CHILDREN]) if member >= 0 else NOBODY
    while link >= 0:
        found.append(int(trees.links[link, CHILD]))
        link = int(trees.links[link, FURTHER])
    return found


def parents(forest: Forest) -> dict[tuple[int, int], int]:
    """Return by peer and topic the parent in that tree."""
    members = forest.trees.members
    return {
        (peer, int(members[member, TOPIC])): int(members[member, PARENT])
        for peer in range(forest.topics.rows)
        for member in members_of(forest.trees, peer)
    }


def way_of(forest: Forest, begin: int, key: int, longest: int = 32) -> list[int]:
    """Return the way of a message through those that are up, the first one included."""
    way = [begin]
    while len(way) < longest:
        hop = int(next_hop(forest.nodes, way[-1], np.uint64(key), NOBODY, forest.up))
        if hop == way[-1]:
            break
        way.append(hop)
    return way


def spread_of(forest: Forest, topic: int, first: int) -> tuple[list[int], Counter[int], dict[int, int], int]:
    """Let an event of `first` spread: return whom it was routed through, up to the rendezvous, the copies that peers
    got from their parents, by peer the hops it took, and how many copies were sent to the dead."""
    way = way_of(forest, first, int(forest.trees.keys[topic]))
    hops = {way[-1]: len(way) - 1}
    copies: Counter[int] = Counter()
    lost = 0
    for me in (queue := [way[-1]]):
        for child in children_of(forest.trees, int(member_of(forest.trees, me, topic))):
            lost += not forest.up[child]
            copies[child] += bool(forest.up[child])
            if forest.up[child] and child not in hops:
                hops[child] = hops[me] + 1
                queue.append(child)
    return way[1:], copies, hops, lost
