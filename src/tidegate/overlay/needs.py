"""What the chunks of a stream need of a source's posts, without a chunk being made: arrays instead of messages."""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidegate.csr import Int64
from tidegate.overlay.borders import Borders, Floats
from tidegate.rank.windows import Windows

Flags = NDArray[np.bool_]

ID_BYTES: Final = 8
RANK_BYTES: Final = 1
HEADER_BYTES: Final = 16
"""Feed and chunk: every message that is no post has them."""
NOTICE_BYTES: Final = HEADER_BYTES + ID_BYTES + RANK_BYTES
"""That one event has won."""


class Needs(NamedTuple):
    """Of one stream at one source; arrays are by its own posts there."""

    sent: Flags
    """Guards and winners."""
    nbytes: int
    """Of the ids by which chunks are told over a link that carries a post once."""
    chunks: int
    longest: int
    spans: int
    """Of all events, the lengths of the chunks that they are in."""


def ranks_of(scores: Floats, times: Floats) -> Int64:
    """Return by post its place in the order of `Event.order`, the best of all first."""
    ranks = np.empty(len(scores), np.int64)
    # Posts are numbered as they are published, and ids sort as numbers.
    ranks[np.lexsort((np.arange(len(scores)), -times, -scores))] = np.arange(len(scores))
    return ranks


def winners(ranks: Int64, windows: Windows, starts: Int64) -> Flags:
    """Return which events are among the best of some window that begins at one of `starts`."""
    won = np.zeros(len(ranks), np.bool_)
    if len(starts):
        rows = ranks[starts[:, None] + np.arange(windows.width)]
        best = np.argpartition(rows, windows.k - 1, axis=1)[:, : windows.k]
        won[(starts[:, None] + best).ravel()] = True
    return won


def starts_of(length: int, windows: Windows) -> Int64:
    """Return where the windows begin that are complete within so many events."""
    return np.arange(0, length - windows.width + 1, windows.shift)


def chunk_ends(positions: Int64, times: Floats, shift: int, borders: Borders, together: int = 1) -> Int64:
    """Return after how many of its events each chunk of a stream ends, the last with the stream.

    `positions` are those of its events in the source's stream. Where chunks are recombined, so many go `together`.
    """
    due = borders.ends(positions, times, shift)
    due[-1] = True
    ends = (np.flatnonzero(due) + 1) * shift
    last = np.arange(len(ends)) % together == together - 1
    last[-1] = True
    return np.asarray(ends[last])


def needs_of(ranks: Int64, ends: Int64, windows: Windows) -> Needs:
    """Return what chunks with these ends need; `ranks` are those of the events that they are made of.

    A winner is told as soon as it has won, and again with the end of its chunk.
    """
    lengths = np.diff(ends, prepend=0)
    end_of = np.repeat(ends, lengths)
    number = np.arange(len(ranks))
    starts = starts_of(len(ranks), windows)
    tops = winners(ranks, windows, starts[starts + windows.width <= end_of[starts]])
    begin_of = np.repeat(ends - lengths, lengths)
    guards = (number - begin_of < windows.width) | (end_of - number <= windows.width)
    ids, told = 2 * int(np.minimum(lengths, windows.width).sum()), int(tops.sum())
    nbytes = 2 * HEADER_BYTES * len(ends) + ID_BYTES * ids + (ID_BYTES + RANK_BYTES + NOTICE_BYTES) * told
    return Needs(guards | tops, nbytes, len(ends), int(lengths.max()), int(lengths @ lengths))
