"""The best of many windows of many feeds at once: kernels over flat arrays.

Events are rows. Which of two is better is one comparison of numbers: rows are put in order once, the best of all first
(`best_first`), and a row's place in that order stands for its score, time and id from then on.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidegate.csr import Int64, offsets_of
from tidegate.kernels import njit
from tidegate.rank.ranking import Ranking, TimeWindows

Bools = NDArray[np.bool_]
Float64 = NDArray[np.float64]

NEVER = np.iinfo(np.int64).min
"""The watermark of a stream that has none yet."""


class Asked(NamedTuple):
    """What feeds ask for, one entry each; spans of time are microseconds."""

    k: Int64
    width: Int64
    shift: Int64
    timed: Bools
    diverse: Bools
    most: Int64
    """The bound on posts in a period; 0: none."""
    per: Int64


class Won(NamedTuple):
    """Who is among the best, by feed, window and rank."""

    feed: Int64
    window: Int64
    """Its number: it begins at so many shifts."""
    rank: Int64
    """From 0."""
    row: Int64


def asked(rankings: Sequence[Ranking], of: Int64) -> Asked:
    """Return what feeds ask for that have the rankings of these numbers."""
    windows = [one.windows for one in rankings]
    numbers = [[w.k for w in windows], [w.width for w in windows], [w.shift for w in windows]]
    k, width, shift = (np.array(given, np.int64)[of] for given in numbers)
    timed = np.array([isinstance(w, TimeWindows) for w in windows], np.bool_)[of]
    diverse = np.array([one.diverse for one in rankings], np.bool_)[of]
    most = np.array([one.most.posts if one.most else 0 for one in rankings], np.int64)[of]
    per = np.array([one.most.per if one.most else 1 for one in rankings], np.int64)[of]
    return Asked(k, width, shift, timed, diverse, most, per)


def best_first(score: Float64, time: Int64, id_rank: Int64) -> Int64:
    """Return the rows, the best first: the highest score, then the newest, then the lowest id (`Event.order`)."""
    return np.lexsort((id_rank, -time, -score))


@njit(cache=True, nogil=True)
def grouped(order: Int64, feed: Int64, offsets: Int64) -> Int64:
    """Return rows by feed, and in the given order inside of each; `offsets` says where each feed begins.

    Where `order` leaves out a feed, its rows are not set.
    """
    cursor = offsets[:-1].copy()
    rows = np.empty(len(feed), np.int64)
    for row in order:
        rows[cursor[feed[row]]] = row
        cursor[feed[row]] += 1
    return rows


def timed_winners(order: Int64, feed: Int64, time: Int64, author: Int64, by: Asked, closed: int = NEVER) -> Won:
    """Return the best of every window of time that ends after `closed`; rows of other feeds are passed over.

    `order` has the rows, the best first. `author` is a number for each row, below 0 where nobody knows who it is.
    """
    first, n_windows = _spans(order, feed, time, by.width, by.shift, by.timed, closed)
    row = np.repeat(order, n_windows)
    window = np.repeat(first - offsets_of(n_windows)[:-1], n_windows) + np.arange(len(row))
    # Sorting is stable: the best stay first.
    sorting = np.lexsort((window, feed[row]))
    row, window = row[sorting], window[sorting]
    rank = _ranks(feed[row], window, author[row], by.k, by.diverse)
    chosen = np.flatnonzero(rank >= 0)
    row = row[chosen]
    return Won(feed[row], window[chosen], rank[chosen], row)


@njit(cache=True, nogil=True)
def _spans(
    order: Int64, feed: Int64, time: Int64, width: Int64, shift: Int64, timed: Bools, closed: int
) -> tuple[Int64, Int64]:
    """For every row of `order`: the first open window that it is in, and how many."""
    first, n_windows = np.zeros(len(order), np.int64), np.zeros(len(order), np.int64)
    for i, row in enumerate(order):
        f = feed[row]
        if timed[f]:
            first[i] = (time[row] - width[f]) // shift[f] + 1
            if closed != NEVER:
                first[i] = max(first[i], (closed - width[f]) // shift[f] + 1)
            n_windows[i] = max(0, time[row] // shift[f] - first[i] + 1)
    return first, n_windows


@njit(cache=True, nogil=True)
def _ranks(feed: Int64, window: Int64, author: Int64, k: Int64, diverse: Bools) -> Int64:
    """The rank of each row in its window, whose rows are in a row with the best first; -1 for those not chosen."""
    ranks = np.full(len(feed), -1, np.int64)
    begin, n_chosen = 0, 0
    for i in range(len(feed)):
        f = feed[i]
        if i == 0 or f != feed[begin] or window[i] != window[begin]:
            begin, n_chosen = i, 0
        if n_chosen < k[f] and not (diverse[f] and _is_there(author[i], author[begin:i], ranks[begin:i])):
            ranks[i] = n_chosen
            n_chosen += 1
    return ranks


@njit(cache=True, nogil=True)
def _is_there(one: int, author: Int64, rank: Int64) -> bool:
    if one >= 0:
        for i in range(len(author)):
            if rank[i] >= 0 and author[i] == one:
                return True
    return False


@njit(cache=True, nogil=True)
def best_of(begin: int, end: int, place: Int64, author: Int64, k: int, diverse: bool, best: Int64) -> int:
    """Write the best of rows `begin` to `end` into `best`, the best first, and return how many there are."""
    n = 0
    for row in range(begin, end):
        at = n
        if diverse and author[row] >= 0:
            for i in range(n):
                if author[best[i]] == author[row]:
                    at = i
                    break
        # A row takes the place of its author's, of nobody's while there is room, or of the last.
        if at == k:
            at = k - 1
        if at < n and place[best[at]] < place[row]:
            continue
        n = max(n, at + 1)
        while at > 0 and place[best[at - 1]] > place[row]:
            best[at] = best[at - 1]
            at -= 1
        best[at] = row
    return n


def bounded(won: Won, moment: Int64, by: Asked, period: Int64, used: Int64) -> Bools:
    """Tell who is served within the bounds of the feeds; `moment` is the time of each one's window.

    `period` and `used` say per feed what has been served in which period, and are brought up to date. A window that
    belongs to an earlier period is served from the present one.
    """
    return np.asarray(_bounded(won.feed, moment, by.most, by.per, period, used))


@njit(cache=True, nogil=True)
def _bounded(feed: Int64, moment: Int64, most: Int64, per: Int64, period: Int64, used: Int64) -> Any:
    served = np.ones(len(feed), np.bool_)
    for i, f in enumerate(feed):
        if most[f] == 0:
            continue
        if moment[i] // per[f] > period[f]:
            period[f], used[f] = moment[i] // per[f], 0
        served[i] = used[f] < most[f]
        used[f] += served[i]
    return served
