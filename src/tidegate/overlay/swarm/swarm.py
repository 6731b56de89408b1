"""Peers in one process: who they are, who is up, and cycles in which each of them gossips in turn."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tidegate.csr import Csr, Int32, Int64, offsets_of
from tidegate.kernels import njit
from tidegate.overlay.ids import distinct_ids
from tidegate.overlay.lent import lent
from tidegate.overlay.poldercast.entries import MET, below, column_of, entry_of, filled, peer_in, turned
from tidegate.overlay.poldercast.settings import CYCLON, Settings
from tidegate.overlay.poldercast.state import Nodes, Scratch, letters, nodes_of, scratch_of
from tidegate.overlay.poldercast.step import answer_gossip, close_gossip, open_gossip
from tidegate.workload.alias import State, random_state

Flags = NDArray[np.bool_]
Sides = NDArray[np.int8]
Letters = tuple[Int64, Int64, Int64]
NOBODY: Final = -1


@dataclass(frozen=True)
class Swarm:
    """A seed determines all that becomes of it. All are up, and know nobody."""

    topics: Csr
    """By peer, the topics it follows, rising."""
    settings: Settings = field(default_factory=Settings)
    seed: int = 0

    @cached_property
    def nodes(self) -> Nodes:
        """What the peers know.

        Profiles are kept once for all: a copy in a view is never older than the last one that its peer sent to anybody.
        """
        return nodes_of(distinct_ids(self.topics.rows, [self.seed, 0]), self.topics, self.topics.rows, self.settings)

    @cached_property
    def up(self) -> Flags:
        """By peer, whether it is there."""
        return np.ones(self.topics.rows, np.bool_)

    @cached_property
    def random(self) -> State:
        """The generator of everything that happens."""
        return random_state([self.seed, 1])

    @cached_property
    def scratch(self) -> Scratch:
        """Room to work in."""
        return scratch_of(self.topics.rows, self.many_topics)

    @cached_property
    def many_topics(self) -> int:
        """How many topics there are, followed or not."""
        return int(self.topics.values.max(initial=-1)) + 1

    @cached_property
    def subscribers(self) -> Csr:
        """By topic, who follows it, in the order of ids."""
        peers = np.repeat(np.arange(self.topics.rows), np.diff(self.topics.offsets))
        order = np.lexsort((self.nodes.ids[peers], self.topics.values))
        counts = np.bincount(self.topics.values, minlength=self.many_topics)
        return Csr(offsets_of(counts), peers[order].astype(np.int32))

    def warm(self) -> None:
        """Fill the Cyclon views of all with random peers: where every run begins (section 3.5.2)."""
        _introduce_all(self.nodes, self.up, self.random)

    def run(self, cycles: int = 1) -> None:
        """Let everybody who is up gossip `cycles` times by every module whose turn it is, in an order that is drawn."""
        periods = np.array([part.period for part in self.settings.parts], np.int32)
        requests, answers = letters(self.settings), letters(self.settings)
        for _ in range(cycles):
            _run_cycle(self.nodes, self.up, periods, requests, answers, self.scratch, self.random)

    def leave(self, peers: Iterable[int] | Int64) -> None:
        """Let peers go without a word."""
        self.up[np.fromiter(peers, np.int64)] = False

    def join(self, peers: Iterable[int] | Int64) -> None:
        """Let peers come, or come back with all they knew, one after the other: each by any of those that are there by
        then."""
        for peer in np.fromiter(peers, np.int64).tolist():
            if not self.up[peer]:
                present = np.flatnonzero(self.up)
                self.come(peer, int(present[below(len(present), self.random)]) if len(present) else NOBODY)

    def come(self, peer: int, contact: int = NOBODY) -> None:
        """Let a peer come, or come back with all it knew, by one that is up, or by nobody.

        It awaits no answer: who answered while it was away was not silent. Whom it had met may have forgotten it.
        """
        self.up[peer] = True
        self.nodes.asked[peer] = -1
        _forget_meetings(self.nodes, peer)
        if contact != NOBODY:
            _welcome(self.nodes, peer, contact, letters(self.settings)[CYCLON], self.scratch, self.random)


@njit(cache=True)
def _introduce_all(nodes: Nodes, up: Flags, random: State) -> None:
    """Let all that are up know random others of these, as many as their Cyclon views have room for, or fewer."""
    present = np.flatnonzero(up)
    for me in present:
        view = nodes.cyclon[me]
        at = filled(view)
        for _ in range(len(view)):
            if at == len(view):
                break
            peer = present[below(len(present), random)]
            if peer != me and column_of(view, peer) < 0:
                view[at] = entry_of(peer, nodes.clock[me])
                at += 1


@njit(cache=True)
def _forget_meetings(nodes: Nodes, me: int) -> None:
    for row in range(nodes.bounds[me, 0], nodes.bounds[me, 1]):
        for k in range(nodes.rings.shape[1]):
            if nodes.rings[row, k] >= MET:
                nodes.rings[row, k] -= MET


@njit(cache=True)
def _welcome(nodes: Nodes, me: int, contact: int, letter: Int64, scratch: Scratch, random: State) -> None:
    """Let a peer that comes be taken in by another, which names some of its Cyclon view, as peers on sockets do.

    They fill what is empty of its own view, behind the one that named them; some may be gone.
    """
    answer = np.empty_like(letter)
    answer_gossip(nodes, contact, CYCLON, me, letter, scratch, random, answer)
    view, clock = nodes.cyclon[me], nodes.clock[me]
    _fill_in(view, me, entry_of(contact, clock))
    for entry in answer:
        if entry >= 0:
            _fill_in(view, me, turned(entry, clock))


@njit(cache=True)
def _fill_in(view: Int64, me: int, entry: int) -> None:
    """Take an entry into a view that has room for it, unless its peer is in it."""
    peer, at = peer_in(entry), filled(view)
    if at < len(view) and peer != me and column_of(view, peer) < 0:
        view[at] = entry


@njit(cache=True)
def _run_cycle(
    nodes: Nodes, up: Flags, periods: Int32, requests: Letters, answers: Letters, scratch: Scratch, random: State
) -> None:
    nodes, scratch, requests, answers, random = lent(nodes), lent(scratch), lent(requests), lent(answers), lent(random)
    turn = np.flatnonzero(up)
    for i in range(len(turn) - 1, 0, -1):
        k = below(i + 1, random)
        turn[i], turn[k] = turn[k], turn[i]
    # All clocks at once: what a peer whose clock is still to go on tells one whose clock has would be a cycle younger
    # there, from hand to hand, and whoever is dead be taken for young for ever.
    nodes.clock[turn] += 1
    for me in turn:
        for module in range(len(periods)):
            if nodes.clock[me] % periods[module] == 0:
                _gossip(nodes, me, module, up, requests[module], answers[module], scratch, random)


@njit(cache=True)
def _gossip(
    nodes: Nodes, me: int, module: int, up: Flags, request: Int64, answer: Int64, scratch: Scratch, random: State
) -> None:
    target = open_gossip(nodes, me, module, scratch, random, request)
    if target >= 0 and up[target]:
        answer_gossip(nodes, target, module, me, request, scratch, random, answer)
        close_gossip(nodes, me, module, target, answer, scratch, random)
