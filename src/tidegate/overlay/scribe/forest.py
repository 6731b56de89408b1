"""Peers in one process: who they are, who is up, and cycles in which each of them keeps its leaves and its trees.

It is driven as `overlay.swarm.swarm.Swarm` is.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tidegate.csr import Csr, Int32, Int64, offsets_of
from tidegate.kernels import njit
from tidegate.overlay.ids import distinct_ids
from tidegate.overlay.lent import lent
from tidegate.overlay.poldercast.entries import below
from tidegate.overlay.scribe.carrying import World, enter, give_way, keep_leaves, tend
from tidegate.overlay.scribe.circle import BASE, DIGITS, digit_of
from tidegate.overlay.scribe.membership import drop_all, grown, has_room
from tidegate.overlay.scribe.settings import MOST_HOPS, Settings
from tidegate.overlay.scribe.state import MANY, NOBODY, Ids, Nodes, Trees, nodes_of, trees_of
from tidegate.workload.alias import State, random_state

Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Forest:
    """A seed determines all that becomes of it. All are up, know nobody, and are in no tree."""

    topics: Csr
    """By peer, the topics it follows, rising."""
    settings: Settings = field(default_factory=Settings)
    seed: int = 0

    @cached_property
    def nodes(self) -> Nodes:
        """What the peers know of each other."""
        return nodes_of(distinct_ids(self.topics.rows, [self.seed, 0]), self.topics.rows, self.settings)

    @property
    def trees(self) -> Trees:
        """What the peers know of trees: other arrays whenever there are more members than there was room for."""
        return self._trees[0]

    @cached_property
    def _trees(self) -> list[Trees]:
        return [trees_of(distinct_ids(self.many_topics, [self.seed, 3]), self.topics)]

    @cached_property
    def up(self) -> Flags:
        """By peer, whether it is there."""
        return np.ones(self.topics.rows, np.bool_)

    @cached_property
    def control(self) -> Int64:
        """By peer, messages sent and received: those that keep the network, and those of trees it wants, and does not.

        Whoever measures may set it to 0.
        """
        return np.zeros((self.topics.rows, 3), np.int64)

    @cached_property
    def world(self) -> World:
        """All of it that kernels take besides."""
        anybody = np.ones(self.topics.rows, np.bool_)
        return World(self.up, anybody, self.control, random_state([self.seed, 1]))

    @cached_property
    def many_topics(self) -> int:
        """How many topics there are, followed or not."""
        return int(self.topics.values.max(initial=-1)) + 1

    @cached_property
    def subscribers(self) -> Csr:
        """By topic, who follows it, in the order of their numbers."""
        peers = np.repeat(np.arange(self.topics.rows, dtype=np.int32), np.diff(self.topics.offsets))
        counts = np.bincount(self.topics.values, minlength=self.many_topics)
        return Csr(offsets_of(counts), peers[np.argsort(self.topics.values, kind="stable")])

    def warm(self) -> None:
        """Let all that are up have the leaves that they ought to have, and anybody that fits wherever their table may
        have somebody."""
        present = np.flatnonzero(self.up)
        _introduce_all(self.nodes, present[np.argsort(self.nodes.ids[present])], self.world.random)

    def run(self, cycles: int = 1) -> None:
        """Let everybody who is up keep its leaves and tend its trees `cycles` times, in an order that is drawn."""
        for _ in range(cycles):
            self.take_turns(_shuffled(np.flatnonzero(self.up), self.world.random))

    def take_turns(self, peers: Int64) -> None:
        """Let these peers, which are up, keep their leaves and tend their trees once, one after the other.

        A turn of each is a cycle, however long others wait for theirs: what is counted in turns, as patience is, a peer
        counts in its own.
        """
        done = 0
        while done < len(peers):
            done = _take_turns(self.nodes, self.trees, self.world, self.settings.patience, peers, done)
            if done < len(peers):
                self._trees[0] = grown(self.trees)

    def leave(self, peers: Iterable[int] | Int64) -> None:
        """Let peers go without a word."""
        self.up[np.fromiter(peers, np.int64)] = False

    def join(self, peers: Iterable[int] | Int64) -> None:
        """Let peers come, or come back with what they knew of others, each by way of one that is up.

        Trees they join in their next turn: those that they were in have gone on without them. A rendezvous that is
        none any more gives way at once if it has no patience, else in its next turn; events are lost meanwhile.
        """
        for peer in np.fromiter(peers, np.int64):
            if not self.up[peer]:
                _come(self.nodes, self.trees, self.world, peer)
                if self.settings.patience == 0:
                    self._give_way(np.unique(self.nodes.leaves[peer]))

    def _give_way(self, peers: Int32) -> None:
        """Let those of some peers that are up look whether they still are the rendezvous that they were."""
        for peer in peers[peers >= 0]:
            while self.up[peer] and not _stand_by(self.nodes, self.trees, self.world, peer):
                self._trees[0] = grown(self.trees)


@njit(cache=True)
def _introduce_all(nodes: Nodes, order: Int64, random: State) -> None:
    """Fill leaf sets and tables of peers in the order of their ids."""
    ids, half = nodes.ids[order], nodes.leaves.shape[1] // 2
    n = len(order)
    for at in range(n):
        me = order[at]
        nodes.leaves[me] = NOBODY
        nodes.table[me] = NOBODY
        for k in range(min(half, n - 1)):
            nodes.leaves[me, k] = order[(at + k + 1) % n]
            nodes.leaves[me, half + k] = order[at - k - 1]
        low, high = 0, n
        for level in range(DIGITS):
            if high - low < 2:
                break
            low, high = _fill_row(nodes, order, ids, at, level, low, high, random)


@njit(cache=True)
def _fill_row(nodes: Nodes, order: Int64, ids: Ids, at: int, level: int, low: int, high: int, random: State) -> Any:
    """Fill a row of the table from those in `order` that share so many digits, and return where those are that share
    one more."""
    me, shift = order[at], np.uint64(60 - 4 * level)
    begin = low
    own = (low, high)
    prefix = ids[at] >> shift & ~np.uint64(15)
    for digit in range(BASE):
        end = high
        if digit < BASE - 1:
            end = low + np.searchsorted(ids[low:high], (prefix | np.uint64(digit + 1)) << shift)
        if digit == digit_of(ids[at], level):
            own = (begin, end)
        elif end > begin:
            nodes.table[me, level, digit] = order[begin + below(end - begin, random)]
        begin = end
    return own


@njit(cache=True)
def _shuffled(peers: Int64, random: State) -> Any:
    for i in range(len(peers) - 1, 0, -1):
        k = below(i + 1, random)
        peers[i], peers[k] = peers[k], peers[i]
    return peers


@njit(cache=True)
def _take_turns(nodes: Nodes, trees: Trees, world: World, patience: int, turn: Int64, done: int) -> Any:
    """Let peers take their turns, from where it was left off, and return how many have: fewer than all if there may
    not be room for what the next one does."""
    nodes, trees, world = lent(nodes), lent(trees), lent(world)
    offsets = trees.topics.offsets
    for i in range(done, len(turn)):
        me = turn[i]
        routes = offsets[me + 1] - offsets[me] + trees.lists[me, MANY]
        if not has_room(trees, routes * (MOST_HOPS + 1)):
            return i
        nodes.clock[me] += 1
        keep_leaves(nodes, world, me)
        if nodes.leaves[me].max() < 0:
            # Nobody it knew is left: it starts over.
            _enter_by_any(nodes, world, me)
        tend(nodes, trees, world, me, patience)
    return len(turn)


@njit(cache=True)
def _stand_by(nodes: Nodes, trees: Trees, world: World, me: int) -> Any:
    """Let a peer look whether anybody is nearer to the keys that it is the rendezvous of; return whether there was room
    for what it does then."""
    if not has_room(trees, trees.lists[me, MANY] * (MOST_HOPS + 1)):
        return False
    give_way(nodes, trees, world, me)
    return True


@njit(cache=True)
def _come(nodes: Nodes, trees: Trees, world: World, me: int) -> None:
    drop_all(trees, me)
    nodes.leaves[me] = NOBODY
    _enter_by_any(nodes, world, me)
    world.up[me] = True


@njit(cache=True)
def _enter_by_any(nodes: Nodes, world: World, me: int) -> None:
    """Let a peer enter by way of any other one that is up, if there is one."""
    present = np.flatnonzero(world.up)
    if len(present) > 1 or (len(present) == 1 and present[0] != me):
        contact = present[below(len(present), world.random)]
        while contact == me:
            contact = present[below(len(present), world.random)]
        enter(nodes, world, me, contact)
