"""Cyclon (Voulgaris and others, 2005): a small random sample of all peers, kept random by swapping entries.

The opener gives up its link to the oldest peer it knows and gets a link from there: links are swapped, never
multiplied, so that everybody is known to about equally many. This is why the answer does not bring its sender back, as
those of the other two modules do.
"""

from typing import Any

from tidegate.csr import Int32, Int64
from tidegate.kernels import njit
from tidegate.overlay.poldercast.entries import (
    EMPTY,
    MET,
    below,
    column_of,
    entry_of,
    filled,
    oldest,
    peer_in,
    remove,
    turned,
)
from tidegate.workload.alias import State


@njit(cache=True)
def open_swap(view: Int64, clock: int, sent: Int32, random: State, out: Int64) -> Any:
    """Write to the oldest peer of the view, which is taken out, and return it; -1 if the view is empty."""
    k = oldest(view, random)
    if k < 0:
        return -1
    target = peer_in(view[k])
    remove(view, target)
    # One of those that a letter names is its sender.
    _name_some(view, clock, len(out) - 1, -1, random, out)
    _remember(out, sent)
    return target


@njit(cache=True)
def answer_swap(
    view: Int64, me: int, clock: int, sent: Int32, sender: int, letter: Int64, random: State, out: Int64
) -> None:
    """Name some of the view in return, and take in the sender and those that it named.

    `sent` has what the peer's own gossip, which may be under way, has named, and is left alone.
    """
    _name_some(view, clock, len(out), sender, random, out)
    named = sent.copy()
    _remember(out, named)
    at = _take(view, me, MET | entry_of(sender, clock), named, 0)
    _take_all(view, me, clock, letter, named, at)


@njit(cache=True)
def close_swap(view: Int64, me: int, clock: int, sent: Int32, letter: Int64) -> None:
    """Take in those that an answer names."""
    _take_all(view, me, clock, letter, sent, 0)
    sent[:] = EMPTY


@njit(cache=True)
def _name_some(view: Int64, clock: int, most: int, without: int, random: State, out: Int64) -> None:
    """Name random peers of the view; they are moved to its first columns, which is all the same."""
    n = filled(view)
    named = 0
    for k in range(n):
        if named == most:
            break
        other = k + below(n - k, random)
        view[k], view[other] = view[other], view[k]
        if peer_in(view[k]) != without:
            out[named] = turned(view[k], clock)
            named += 1
    out[named:] = EMPTY


@njit(cache=True)
def _remember(out: Int64, sent: Int32) -> None:
    for i in range(len(out)):
        sent[i] = peer_in(out[i]) if out[i] >= 0 else EMPTY


@njit(cache=True)
def _take_all(view: Int64, me: int, clock: int, letter: Int64, sent: Int32, at: int) -> None:
    for named in letter:
        if named < 0:
            break
        at = _take(view, me, turned(named, clock), sent, at)


@njit(cache=True)
def _take(view: Int64, me: int, entry: int, sent: Int32, at: int) -> Any:
    """Take an entry into the view: where there is room, or in place of one that was sent; return where to look next.

    Whom one knows already is known as of the later time.
    """
    peer = peer_in(entry)
    if peer == me:
        return at
    k = column_of(view, peer)
    if k >= 0:
        view[k] = max(view[k], entry)
        return at
    k = filled(view)
    if k == len(view):
        k = -1
        while at < len(sent) and sent[at] >= 0 and k < 0:
            k = column_of(view, sent[at])
            at += 1
        if k < 0:
            return at
    view[k] = entry
    return at
