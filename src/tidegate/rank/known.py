"""Several bundles as one: what is held of feeds, and what slices add, numbered alike."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tidegate.csr import Int64, offsets_of
from tidegate.errors import PipelineError
from tidegate.rank.bundle import NAME, Bundle, PostColumns, authors, first_rows, id_ranks, id_texts, numbered, times
from tidegate.rank.completion import next_window
from tidegate.rank.ranking import ranking_of
from tidegate.rank.selection import Asked, Bools, Float64, asked, best_first, grouped


@dataclass(frozen=True)
class Known:
    """Feeds, and their entries by feed and position."""

    names: pa.Table
    by: Asked
    before: Int64
    after: Int64
    """How many events of each feed there were, and there are."""
    seen: Int64
    period: Int64
    used: Int64
    is_touched: Bools
    """Whether slices have something for it. Up to here: of each feed."""
    offsets: Int64
    """Where the entries of each feed begin."""
    feed: Int64
    position: Int64
    score: Float64
    post: Int64
    time: Int64
    author: Int64
    is_held: Bools
    """Whether it was there before. Up to here: of each entry."""
    order: Int64
    """The entries of all feeds that have something to choose from now, the best of all first."""
    posts: pa.Table

    @property
    def place(self) -> Int64:
        """The place in that order of each entry that is in it."""
        place = np.zeros(len(self.feed), np.int64)
        place[self.order] = np.arange(len(self.order))
        return place


def known(held: Bundle | None, slices: Sequence[Bundle], columns: PostColumns, *, apart: bool = False) -> Known:
    """Join at least one bundle with others; entries of slices follow those held, slice by slice.

    Slices that have the matches of a post `apart` may share it; where they do not, the same post twice is two events
    of a window by count.
    """
    bundles = [*([] if held is None else [held]), *slices]
    feeds = pa.concat_tables([one.feeds for one in bundles])
    n_held = 0 if held is None else held.feeds.num_rows
    number, first = numbered(*(feeds.column(one.name) for one in NAME))
    lengths, seen, period, used = (feeds.column(name).to_numpy() for name in ("length", "seen", "period", "used"))
    newest = seen[first]
    np.maximum.at(newest, number, seen)
    # Feeds that are held come first, each once; slices know nothing of bounds.
    is_old = np.arange(len(first)) < n_held
    before = np.where(is_old, lengths[first], 0)
    after = before.copy()
    parts: list[tuple[Int64, Int64]] = []
    begin = 0
    for one in bundles:
        own = number[begin : begin + one.feeds.num_rows]
        feed = own[one.column("feed")]
        is_slice = begin >= n_held
        parts.append((feed, one.column("position") + (after[feed] if is_slice else 0)))
        if is_slice:
            after[own] += lengths[begin : begin + len(own)]
        begin += len(own)
    feed, position = (np.concatenate(part) for part in zip(*parts, strict=True))
    score = np.concatenate([one.column("score") for one in bundles])
    shifts = offsets_of([one.posts.num_rows for one in bundles])
    post = np.concatenate([one.column("post") + shift for one, shift in zip(bundles, shifts[:-1], strict=True)])
    posts = _posts([one.posts for one in bundles])
    by = _asked(feeds.column("ranking").take(pa.array(first)))
    ids = id_ranks(id_texts(posts, columns))
    # A post may come twice into a window of time, through two slices. Windows by count are counted already.
    is_known = _first_times(feed, ids[post], by.timed[feed])
    is_new = np.arange(len(feed)) >= (0 if held is None else held.entries.num_rows)
    if apart:
        is_whole = feeds.column("subscription").take(pa.array(first)).is_null().to_numpy() & ~by.timed
        is_known &= _counted_once(feed, position, ids[post], before, after, is_new & is_whole[feed])
    rows = np.flatnonzero(is_known)
    offsets = offsets_of(np.bincount(feed[rows], minlength=len(first)))
    rows = rows[grouped(np.arange(len(rows)), feed[rows], offsets)]
    time = times(posts, columns)[post[rows]]
    completes = by.timed | (next_window(after, by) > next_window(before, by))
    at = np.flatnonzero(completes[feed[rows]])
    return Known(
        names=feeds.select([one.name for one in NAME]).take(pa.array(first)),
        by=by,
        before=before,
        after=after,
        seen=newest,
        period=period[first],
        used=used[first],
        is_touched=np.isin(np.arange(len(first)), number[n_held:]),
        offsets=offsets,
        feed=feed[rows],
        position=position[rows],
        score=score[rows],
        post=post[rows],
        time=time,
        author=authors(posts, columns)[post[rows]],
        is_held=~is_new[rows],
        order=at[best_first(score[rows[at]], time[at], ids[post[rows[at]]])],
        posts=posts,
    )


def _posts(tables: list[pa.Table]) -> pa.Table:
    """All of them as one table; after a restart posts may have more columns, and wider numbers in them."""
    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except pa.ArrowException as error:
        remedy = "give columns the types they had, or begin with another checkpoint"
        raise PipelineError(f"posts have other types than those that are held of feeds: {error}: {remedy}") from error


def _first_times(feed: Int64, post: Int64, which: Bools) -> Bools:
    """Whether an entry is the first of its post in its feed, among some; the others are."""
    rows = np.flatnonzero(which)
    is_first = ~which
    is_first[rows[first_rows(numbered(pa.array(feed[rows]), pa.array(post[rows]))[0])]] = True
    return is_first


def _counted_once(feed: Int64, position: Int64, post: Int64, before: Int64, after: Int64, which: Bools) -> Bools:
    """Tell which entries stay if posts are left out that several slices have counted; closes the gaps.

    Of the feeds of these entries slices have sent everything, so that the gaps can be seen.
    """
    is_first = _first_times(feed, post, which)
    rows = np.flatnonzero(which & is_first)
    offsets = offsets_of(np.bincount(feed[rows], minlength=len(before)))
    rows = rows[grouped(np.arange(len(rows)), feed[rows], offsets)]
    position[rows] = before[feed[rows]] + np.arange(len(rows)) - offsets[feed[rows]]
    after -= np.bincount(feed[~is_first], minlength=len(before))
    return is_first


def _asked(texts: pa.ChunkedArray) -> Asked:
    found = texts.combine_chunks().dictionary_encode()
    return asked([ranking_of(text) for text in found.dictionary.to_pylist()], found.indices.to_numpy())
