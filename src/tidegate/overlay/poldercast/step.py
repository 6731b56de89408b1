"""The step of a peer: what it sends when it is its turn, and what it does with a letter.

A step changes the row of one peer and fills a letter; it reads no clock, asks no network, and draws its numbers from a
generator that it is given. Whoever carries letters, a simulator or a socket, calls these and nothing else.
"""

from typing import Any

from tidegate.csr import Int64
from tidegate.kernels import njit
from tidegate.overlay.lent import lent
from tidegate.overlay.poldercast.cyclon import answer_swap, close_swap, open_swap
from tidegate.overlay.poldercast.entries import EMPTY, entry_of, peer_in, remove, turned
from tidegate.overlay.poldercast.ring_letters import name_neighbours
from tidegate.overlay.poldercast.rings import leave_rings, open_round, take_neighbours
from tidegate.overlay.poldercast.settings import CYCLON, RINGS, VICINITY
from tidegate.overlay.poldercast.state import Nodes, Scratch
from tidegate.overlay.poldercast.vicinity import answer_visit, keep_nearest, open_visit
from tidegate.workload.alias import State


@njit(cache=True)
def open_gossip(nodes: Nodes, me: int, module: int, scratch: Scratch, random: State, out: Int64) -> Any:
    """Fill the letter with which a peer opens a gossip, and return to whom it goes; -1 if it knows nobody.

    Whoever was asked before and has not answered is taken to be gone.
    """
    nodes, scratch, random, out = lent(nodes), lent(scratch), lent(random), lent(out)
    if nodes.asked[me, module] >= 0:
        forget(nodes, me, nodes.asked[me, module])
    if module == CYCLON:
        target = open_swap(nodes.cyclon[me], nodes.clock[me], nodes.sent[me], random, out)
    elif module == VICINITY:
        target = open_visit(nodes, me, scratch, random, out)
    else:
        target = open_round(nodes, me, scratch, random, out)
    nodes.asked[me, module] = target
    return target


@njit(cache=True)
def answer_gossip(
    nodes: Nodes, me: int, module: int, sender: int, letter: Int64, scratch: Scratch, random: State, out: Int64
) -> None:
    """Take in the letter of a peer that has opened a gossip, and fill the one that is sent back."""
    nodes, scratch, random, letter, out = lent(nodes), lent(scratch), lent(random), lent(letter), lent(out)
    leave_out_gone(nodes, me, letter)
    if module == CYCLON:
        answer_swap(nodes.cyclon[me], me, nodes.clock[me], nodes.sent[me], sender, letter, random, out)
    elif module == VICINITY:
        answer_visit(nodes, me, sender, letter, scratch, random, out)
    else:
        name_neighbours(nodes, me, sender, scratch, random, out)
    if module == RINGS or not nodes.as_printed:
        take_neighbours(nodes, me, sender, letter, scratch)


@njit(cache=True)
def close_gossip(
    nodes: Nodes, me: int, module: int, sender: int, letter: Int64, scratch: Scratch, random: State
) -> Any:
    """Take in an answer, and return whether it was one: from nobody else than who was asked, and once."""
    nodes, scratch, random, letter = lent(nodes), lent(scratch), lent(random), lent(letter)
    if sender < 0 or nodes.asked[me, module] != sender:
        return False
    nodes.asked[me, module] = -1
    leave_out_gone(nodes, me, letter)
    if module == CYCLON:
        close_swap(nodes.cyclon[me], me, nodes.clock[me], nodes.sent[me], letter)
    elif module == VICINITY:
        keep_nearest(nodes, me, sender, letter, scratch, random)
    if module == RINGS or not nodes.as_printed:
        take_neighbours(nodes, me, sender, letter, scratch)
    return True


@njit(cache=True)
def forget(nodes: Nodes, me: int, peer: int) -> None:
    """Take a peer out of all that `me` knows, note that it was silent, and await nothing from it.

    The thesis takes it out of the view of the module that asked, and leaves the others to find out for themselves; but
    the modules feed each other, and would hand it back and forth.
    """
    gone, at = nodes.gone[me], -1
    for k in range(len(gone)):
        if gone[k] >= 0 and peer_in(gone[k]) == peer:
            at = k
    # The one found silent longest ago makes room, empty places before all.
    gone[gone.argmin() if at < 0 else at] = entry_of(peer, nodes.clock[me] - 1)
    for module in range(nodes.asked.shape[1]):
        if nodes.asked[me, module] == peer:
            nodes.asked[me, module] = EMPTY
    remove(nodes.cyclon[me], peer)
    remove(nodes.vicinity[me], peer)
    leave_rings(nodes, me, peer)


@njit(cache=True)
def leave_out_gone(nodes: Nodes, me: int, letter: Int64) -> None:
    """Take out of a letter whoever was found silent since the sender, or its source, heard of it."""
    gone, n = nodes.gone[me], 0
    if gone[0] < 0:
        # Nobody ever was: the first place is filled first.
        return
    for i in range(len(letter)):
        if letter[i] < 0:
            break
        entry = turned(letter[i], nodes.clock[me])
        stale = False
        for k in range(len(gone)):
            stale |= gone[k] >= entry and peer_in(gone[k]) == peer_in(entry)
        if not stale:
            letter[n] = letter[i]
            n += 1
    letter[n:] = EMPTY
