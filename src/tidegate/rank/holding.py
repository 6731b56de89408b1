"""What is held of feeds between two micro-batches, and what they deliver as slices come in and time goes by.

Windows by count complete with their last event, whatever its time. Windows of time are complete when the watermark
reaches their end; a post that comes in later than that is late for the window, and counts for those still open.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from tidegate.csr import Int64
from tidegate.rank.bundle import FEED, NAME, Bundle, Entries, PostColumns, bundle
from tidegate.rank.completion import counted_winners, next_window
from tidegate.rank.known import Known, known
from tidegate.rank.selection import NEVER, Bools, Won, bounded, timed_winners

DELIVERED = [
    *NAME,
    pa.field("window", pa.int64()),  # its number: it begins at so many shifts
    pa.field("begins", pa.timestamp("us", tz="UTC")),  # null for windows by count
    pa.field("rank", pa.int32()),  # from 1
    pa.field("score", pa.float64()),
]
"""What is added to a post that is among the best of a window."""


class Held(NamedTuple):
    """All that has to be remembered."""

    bundle: Bundle
    closed: int
    """The watermark so far: what ends by then has been delivered."""


class Advance(NamedTuple):
    """What comes of one step."""

    delivered: pa.Table
    """By feed, window and rank: `DELIVERED` and the columns of the post."""
    held: Held
    due: int | None
    """The watermark at which there is something to do even if nothing comes in; None: never."""
    late: int
    """Entries that came in too late for all of their windows."""


def advance(
    held: Held | None,
    slices: Sequence[Bundle],
    columns: PostColumns,
    watermark: int = NEVER,
    idle: int | None = None,
    *,
    apart: bool = False,
) -> Advance:
    """Add slices, in the order of feeds, to what is held, at this watermark; times are microseconds.

    A feed that has got nothing for `idle` is forgotten: should it get something again, it begins anew. `apart` is as
    the slices were made by.
    """
    closed = NEVER if held is None else held.closed
    now = known(None if held is None else held.bundle, slices, columns, apart=apart)
    watermark = max(watermark, closed)
    # What comes in now is late for the windows that end now.
    ended = timed_winners(now.order[now.is_held[now.order]], now.feed, now.time, now.author, now.by, closed)
    ended = _some(ended, _ends(ended, now) <= watermark)
    coming = timed_winners(now.order, now.feed, now.time, now.author, now.by, watermark)
    counted = counted_winners(now.place, now.position, now.author, now.offsets, now.before, now.after, now.by)
    delivered = _delivered(counted, ended, now)

    is_open = now.position >= (next_window(now.after, now.by) * now.by.shift)[now.feed]
    is_open[now.by.timed[now.feed]] = False
    is_open[coming.row] = True
    seen = np.where(now.is_touched, np.maximum(now.seen, watermark), now.seen)
    is_kept = np.bincount(now.feed[is_open & now.by.timed[now.feed]], minlength=len(seen)) > 0
    has_memory = ~now.by.timed | (now.by.most > 0)
    is_kept |= has_memory if idle is None else has_memory & (seen > watermark - idle if watermark != NEVER else True)
    due = _ends(coming, now).tolist()
    if idle is not None:
        due += (seen[has_memory & is_kept] + idle).tolist()
    late = ~now.is_held & now.by.timed[now.feed] & (_last_ends(now) <= watermark)
    rest = Held(_bundle(now, np.flatnonzero(is_open & is_kept[now.feed]), is_kept, seen), watermark)
    return Advance(delivered, rest, min(due, default=None), int(np.count_nonzero(late)))


def _ends(won: Won, now: Known) -> Int64:
    return won.window * now.by.shift[won.feed] + now.by.width[won.feed]


def _last_ends(now: Known) -> Int64:
    """When the last window ends that an entry is in."""
    shift = now.by.shift[now.feed]
    return now.time // shift * shift + now.by.width[now.feed]


def _some(won: Won, which: Bools) -> Won:
    return Won(*(column[which] for column in won))


def _delivered(counted: Won, ended: Won, now: Known) -> pa.Table:
    """Everything that feeds deliver, within their bounds; brings those up to date."""
    # A window by count belongs to the time of the newest of its best, which is known wherever it was cut to pieces.
    begins = np.flatnonzero(counted.rank == 0)
    newest = np.maximum.reduceat(now.time[counted.row], begins) if len(begins) else np.zeros(0, np.int64)
    moment = np.concatenate((np.repeat(newest, np.diff(begins, append=len(counted.rank))), _ends(ended, now) - 1))
    won = Won(*(np.concatenate(pair) for pair in zip(counted, ended, strict=True)))
    sorting = np.argsort(won.feed, kind="stable")
    won, moment = _some_rows(won, sorting), moment[sorting]
    won = _some(won, bounded(won, moment, now.by, now.period, now.used))
    begin = np.where(now.by.timed[won.feed], won.window * now.by.shift[won.feed], 0)
    added = [
        *now.names.take(pa.array(won.feed)).columns,
        pa.array(won.window),
        pa.array(begin, mask=~now.by.timed[won.feed]).cast(DELIVERED[4].type),
        pa.array(won.rank + 1, pa.int32()),
        pa.array(now.score[won.row]),
    ]
    posts = now.posts.take(pa.array(now.post[won.row]))
    return pa.Table.from_arrays([*added, *posts.columns], schema=pa.schema([*DELIVERED, *posts.schema]))


def _some_rows(won: Won, rows: Int64) -> Won:
    return Won(*(column[rows] for column in won))


def _bundle(now: Known, rows: Int64, is_kept: Bools, seen: Int64) -> Bundle:
    kept = np.flatnonzero(is_kept)
    numbers = [pa.array(column[kept]) for column in (now.after, seen, now.period, now.used)]
    feeds = pa.Table.from_arrays([*now.names.take(pa.array(kept)).columns, *numbers], schema=FEED)
    local = np.searchsorted(kept, now.feed[rows])
    return bundle(feeds, Entries(local, now.position[rows], now.score[rows], now.post[rows]), now.posts)
