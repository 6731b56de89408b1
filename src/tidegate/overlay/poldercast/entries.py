"""Entries of views and letters, each one word: whether a peer was met, when it was heard of (or its age), its number.

A peer was met if it wrote itself; of others one has only heard from third parties.
Views are rows of entries, filled from the first column on, and `EMPTY` behind. What the modules do alike is here: the
oldest entry, removal, and all whom a peer knows.
"""

from typing import Any, Final

import numpy as np

from tidegate.csr import Int64
from tidegate.kernels import njit
from tidegate.overlay.poldercast.state import Nodes, Scratch
from tidegate.workload.alias import State, next_word

EMPTY: Final = -1
MET: Final = 1 << 62
_PEER: Final = (1 << 32) - 1
_WHEN: Final = (1 << 30) - 1
LAST_COUNT: Final = (1 << 31) - 1
"""Marks have so much room for the count in which they were made."""
_LOOKED_THROUGH: Final = 64
"""Of its ring neighbours, a peer looks through so many at most before it writes: some have thousands."""


@njit(cache=True)
def entry_of(peer: int, when: int) -> Any:
    """Return a peer and a time, or an age, as one word: of two entries of a peer the higher one is the better."""
    return np.int64(when) << 32 | np.int64(peer)


@njit(cache=True)
def peer_in(entry: int) -> Any:
    """Return the peer of an entry."""
    return entry & _PEER


@njit(cache=True)
def heard(entry: int) -> Any:
    """Return when the peer of an entry was heard of, or its age."""
    return entry >> 32 & _WHEN


@njit(cache=True)
def turned(entry: int, clock: int) -> Any:
    """Return an entry of a view as one of a letter, with an age for its time, or the other way around.

    What is older than the reader's clock is as old as can be: a negative word would be read as no entry.
    """
    return np.int64(max(clock - heard(entry), 0)) << 32 | peer_in(entry)


@njit(cache=True)
def below(n: int, random: State) -> Any:
    """Draw a number from 0 to `n - 1`."""
    return np.int64((next_word(random) >> np.uint64(33)) * np.uint64(n) >> np.uint64(31))


@njit(cache=True)
def filled(row: Int64) -> Any:
    """Return how many entries a row of a view has."""
    n = 0
    while n < len(row) and row[n] >= 0:
        n += 1
    return n


@njit(cache=True)
def oldest(row: Int64, random: State) -> Any:
    """Return the column of the entry that was least recently heard of, of several any; -1 if there is none."""
    found, ties = -1, 0
    for k in range(len(row)):
        if row[k] < 0:
            break
        if found < 0 or heard(row[k]) < heard(row[found]):
            found, ties = k, 1
        elif heard(row[k]) == heard(row[found]):
            ties += 1
            if below(ties, random) == 0:
                found = k
    return found


@njit(cache=True)
def column_of(row: Int64, peer: int) -> Any:
    """Return where a peer is in a row, or -1."""
    for k in range(len(row)):
        if row[k] < 0:
            break
        if row[k] & _PEER == peer:
            return k
    return -1


@njit(cache=True)
def remove(row: Int64, peer: int) -> Any:
    """Take a peer out of a row; those behind move up, so that an order is kept. Return whether it was there."""
    k = column_of(row, peer)
    if k < 0:
        return False
    for i in range(k, len(row) - 1):
        row[i] = row[i + 1]
    row[-1] = EMPTY
    return True


@njit(cache=True)
def begin_count(marks: Int64) -> None:
    """Let nobody be written down. Marks are wiped only when there is no later count to tell them from."""
    if marks[-1] == LAST_COUNT:
        marks[:] = 0
    marks[-1] += 1


@njit(cache=True)
def note(marks: Int64, found: Int64, n: int, entry: int) -> Any:
    """Write down a peer once, as of the latest time it was heard of; return how many are written down then."""
    peer = entry & _PEER
    stamp = marks[-1]
    mark = marks[peer]
    if mark >> 32 == stamp:
        at = mark & _PEER
        found[at] = max(found[at], entry)
        return n
    marks[peer] = stamp << 32 | n
    found[n] = entry
    return n + 1


@njit(cache=True)
def note_row(marks: Int64, found: Int64, n: int, row: Int64) -> Any:
    """Write down all peers of a row."""
    for k in range(len(row)):
        if row[k] < 0:
            break
        n = note(marks, found, n, row[k])
    return n


@njit(cache=True)
def known(nodes: Nodes, me: int, without: int, scratch: Scratch, random: State) -> Any:
    """Write down whom a peer knows, by any of its views, but for itself and one other; return how many they are.

    Of many ring neighbours some are taken, those of topics that are wanted before others.
    """
    marks, found = scratch.marks, scratch.found
    n = in_views(nodes, me, scratch)
    most = n + _LOOKED_THROUGH
    n = _in_rings(nodes, me, True, scratch, n, most, random)
    n = _in_rings(nodes, me, False, scratch, n, most, random)
    n = _left_out(marks, found, n, me)
    return _left_out(marks, found, n, without)


@njit(cache=True)
def _in_rings(nodes: Nodes, me: int, wanted: bool, scratch: Scratch, n: int, most: int, random: State) -> Any:
    """Write down ring neighbours of topics that are wanted, or that are not, from a random one on, up to so many."""
    marks, found, rings, topics = scratch.marks, scratch.found, nodes.rings, nodes.topics
    first, pairs = nodes.bounds[me, 0], nodes.bounds[me, 1] - nodes.bounds[me, 0]
    start = below(pairs, random) if pairs > 0 else 0
    for i in range(start, start + pairs):
        if n >= most:
            break
        pair = first + i if i < pairs else first + i - pairs
        if (scratch.wanted[topics[pair]] > 0) == wanted:
            for k in range(rings.shape[1]):
                if rings[pair, k] >= 0:
                    n = note(marks, found, n, rings[pair, k])
    return n


@njit(cache=True)
def in_views(nodes: Nodes, me: int, scratch: Scratch) -> Any:
    """Write down whom a peer has in its Cyclon and Vicinity views; return how many they are."""
    begin_count(scratch.marks)
    n = note_row(scratch.marks, scratch.found, 0, nodes.cyclon[me])
    return note_row(scratch.marks, scratch.found, n, nodes.vicinity[me])


@njit(cache=True)
def _left_out(marks: Int64, found: Int64, n: int, peer: int) -> Any:
    if peer < 0 or marks[peer] >> 32 != marks[-1]:
        return n
    at = marks[peer] & _PEER
    found[at] = found[n - 1]
    marks[found[at] & _PEER] = marks[-1] << 32 | at
    marks[peer] = 0
    return n - 1
