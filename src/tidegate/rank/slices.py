"""What a slice of a stream has to send on, for all of its feeds at once: the chunks of a pipeline without memory.

A slice knows nothing of those before it. For windows of time that does not matter: it sends the best of each. Windows
by count may begin anywhere in it, as their beginning depends on the events before; so it sends its first and last
events, one fewer than a window has, and whatever is among the best of any window's length of events in a row. That is
`chunk_of` with a shift of one, and costs little more than windows whose beginnings are known.
"""

import numpy as np

from tidegate.csr import Int64
from tidegate.kernels import njit
from tidegate.rank.selection import Asked, Bools, best_of, grouped, timed_winners

WIDEST_DIVERSE = 256
"""Of windows by count with no two events of one author: wider ones cost more to look at than to send."""


def needed(order: Int64, feed: Int64, time: Int64, author: Int64, offsets: Int64, by: Asked) -> Bools:
    """Tell which rows have to be sent on.

    Rows are by feed (`offsets` says where each begins) and in the order of the feed; `order` has those of all feeds
    that `can_save`, the best first; `author` is a number for each, below 0 where nobody knows who it is.
    """
    mask = np.zeros(len(feed), np.bool_)
    if by.timed.any():
        mask[timed_winners(order, feed, time, author, by).row] = True
    if not by.timed.all():
        place = np.zeros(len(feed), np.int64)
        place[order] = np.arange(len(order))
        saves = can_save(np.diff(offsets), by)
        _needed_by_count(grouped(order, feed, offsets), place, author, offsets, saves, by, mask)
    return mask


def can_save(lengths: Int64, by: Asked) -> Bools:
    """Tell for which feeds a slice with so many of their events may send fewer."""
    is_dear = by.diverse & (by.width > WIDEST_DIVERSE)
    return np.asarray(by.timed | ((lengths >= 2 * by.width) & ~is_dear))


@njit(cache=True, nogil=True)
def _needed_by_count(
    ranked: Int64, place: Int64, author: Int64, offsets: Int64, saves: Bools, by: Asked, mask: Bools
) -> None:
    longest = np.int64(0)
    for f in range(len(by.k)):
        longest = max(longest, offsets[f + 1] - offsets[f])
    before, after = np.empty(longest, np.int64), np.empty(longest, np.int64)
    best = np.empty(np.max(by.k), np.int64)
    for f in range(len(by.k)):
        if by.timed[f]:
            continue
        begin, end, k, width = offsets[f], offsets[f + 1], by.k[f], by.width[f]
        if not saves[f]:
            mask[begin:end] = True
            continue
        mask[begin : begin + width - 1] = True
        mask[end - width + 1 : end] = True
        if by.diverse[f]:
            for start in range(begin, end - width + 1):
                n = best_of(start, start + width, place, author, k, True, best)
                for i in range(n):
                    mask[best[i]] = True
        else:
            _note_winners(ranked[begin:end] - begin, k, width, before, after, best, mask[begin:end])


@njit(cache=True, nogil=True)
def _note_winners(ranked: Int64, k: int, width: int, before: Int64, after: Int64, nearest: Int64, mask: Bools) -> None:
    """Note which events are among the `k` best of some `width` in a row; takes time for each event, and `k`.

    Events leave a linked list, the worst first: the neighbours of one that leaves are the nearest better ones. It wins
    if there is room for a window between one of them on the left and one on the right that leaves out enough.
    """
    n = len(ranked)
    for i in range(n):
        before[i], after[i] = i - 1, i + 1
    for event in ranked[::-1]:
        left = event
        for j in range(k):
            left = before[left] if left >= 0 else left
            nearest[j] = left
        right = event
        for j in range(k):
            right = after[right] if right < n else right
            # With `j` better ones on the right, there may be `k - 1 - j` on the left.
            if right - nearest[k - 1 - j] - 1 >= width:
                mask[event] = True
                break
        if before[event] >= 0:
            after[before[event]] = after[event]
        if after[event] < n:
            before[after[event]] = before[event]
