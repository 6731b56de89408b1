"""Windows by count that are complete, of many feeds at once, from events of which some were left out on the way."""

from typing import Any

import numpy as np

from tidegate.csr import Int64, offsets_of
from tidegate.kernels import njit
from tidegate.rank.selection import Asked, Won, best_of


def counted_winners(
    place: Int64, position: Int64, author: Int64, offsets: Int64, before: Int64, after: Int64, by: Asked
) -> Won:
    """Return the best of every window that a feed completes as it grows from `before` to `after` events.

    Rows are by feed (`offsets`) and rise by `position` in it; `place` says which is better, the lower.
    """
    n_windows = np.where(by.timed, 0, next_window(after, by) - next_window(before, by))
    largest = offsets_of(n_windows * by.k)
    feed, window, rank, row, n = _complete(
        place, position, author, offsets, next_window(before, by), n_windows, int(largest[-1]), by
    )
    return Won(feed[:n], window[:n], rank[:n], row[:n])


def next_window(length: Int64, by: Asked) -> Int64:
    """Return the first window of each feed that so many events do not complete."""
    return np.asarray(np.maximum(0, (length - by.width) // by.shift + 1))


@njit(cache=True, nogil=True)
def _complete(
    place: Int64,
    position: Int64,
    author: Int64,
    offsets: Int64,
    first: Int64,
    n_windows: Int64,
    largest: int,
    by: Asked,
) -> Any:
    feeds, windows = np.empty(largest, np.int64), np.empty(largest, np.int64)
    ranks, rows = np.empty(largest, np.int64), np.empty(largest, np.int64)
    n = 0
    for f in range(len(n_windows)):
        begin, end = offsets[f], offsets[f]
        for window in range(first[f], first[f] + n_windows[f]):
            start = window * by.shift[f]
            while begin < offsets[f + 1] and position[begin] < start:
                begin += 1
            end = max(begin, end)
            while end < offsets[f + 1] and position[end] < start + by.width[f]:
                end += 1
            found = best_of(begin, end, place, author, by.k[f], by.diverse[f], rows[n:])
            for rank in range(found):
                feeds[n + rank], windows[n + rank], ranks[n + rank] = f, window, rank
            n += found
    return feeds, windows, ranks, rows, n
