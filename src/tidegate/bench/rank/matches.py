"""Matches to be ranked on Spark: drawn, written as slices of micro-batches, and their best found in one place."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, NamedTuple, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tidegate.csr import Csr, Int64, offsets_of, taken
from tidegate.errors import TidegateError
from tidegate.rank.ranking import TimeWindows, ranking_of
from tidegate.workload.follows import Follows

SLICES: Final = 2
"""Of a micro-batch."""
WINDOW_US: Final = 10 * 60 * 1_000_000
_BEGIN: Final = 10**15 // WINDOW_US * WINDOW_US
_MOST_LIKES: Final = 1_000_000
_FEEDS_OF_A_POST: Final = 50
_TEXT: Final = "A post of about a hundred characters, which is what travels along with a match: it is number "


class Best(NamedTuple):
    """The best posts of windows, by feed, window and rank; feeds and posts by number."""

    feed: Int64
    window: Int64
    rank: Int64
    """From 1."""
    post: Int64

    @classmethod
    def of(cls, table: pa.Table) -> Self:
        """Read them from rows that Spark has delivered, in any order."""
        feed, window, rank, post = (
            table.column(name).cast(pa.int64()).to_numpy() for name in ("subscriber", "window", "rank", "id")
        )
        order = np.lexsort((rank, window, feed))
        return cls(feed[order], window[order], rank[order], post[order])


class Slice(NamedTuple):
    """Matches in their order."""

    post: Int64
    feed: Int64


@dataclass(frozen=True)
class Matches:
    """Posts in feeds, slice by slice; posts are numbered in the order of time."""

    time: Int64
    likes: Int64
    """Up to here: of each post."""
    rankings: tuple[str, ...]
    ranking: Int64
    """Of each feed, its number among them."""
    slices: tuple[Slice, ...]

    def __len__(self) -> int:
        """How many there are."""
        return sum(len(one.post) for one in self.slices)

    @classmethod
    def followed(cls, follows: Follows, rankings: Sequence[str], slices: int, rows: int, seed: int) -> Self:
        """Let users post, and have a feed of those they follow each: `slices` of about `rows` matches.

        Rankings are given to feeds in turn. A window of time takes two micro-batches.
        """
        pairs = follows.followed
        by_author = np.argsort(pairs.values, kind="stable")
        user = np.repeat(np.arange(follows.users), np.diff(pairs.offsets))
        followers = Csr(offsets_of(follows.popularity), user[by_author].astype(np.int32))
        mean = float(np.square(follows.popularity).sum()) / follows.pairs
        authors = follows.authors(int(1.5 * slices * rows / mean) + 100 * slices, seed)
        ends = np.searchsorted(np.cumsum(follows.popularity[authors]), rows * np.arange(1, slices + 1))
        authors = authors[: ends[-1]]
        feeds = taken(followers, authors.astype(np.int64))
        posts = np.repeat(np.arange(len(authors)), np.diff(feeds.offsets))
        cuts = feeds.offsets[ends[:-1]]
        parts = zip(np.split(posts, cuts), np.split(feeds.values.astype(np.int64), cuts), strict=True)
        span = WINDOW_US * slices // (2 * SLICES)
        return cls._of(rankings, follows.users, len(authors), span, [Slice(*part) for part in parts], seed)

    @classmethod
    def even(cls, feeds: int, ranking: str, slices: int, posts: int, span: int, seed: int) -> Self:
        """Give every feed `posts` posts in each slice; a post is in fifty feeds. All are written within `span`."""
        generator = np.random.default_rng([seed, 6])
        drawn, n = [], 0
        for _ in range(slices):
            feed = np.concatenate([generator.permutation(feeds) for _ in range(posts)])
            drawn.append(Slice(n + np.arange(len(feed)) // _FEEDS_OF_A_POST, feed))
            n = int(drawn[-1].post[-1]) + 1
        return cls._of([ranking], feeds, n, span, drawn, seed)

    @classmethod
    def _of(
        cls, rankings: Sequence[str], feeds: int, posts: int, span: int, slices: Sequence[Slice], seed: int
    ) -> Self:
        likes = np.random.default_rng([seed, 7]).integers(0, _MOST_LIKES, posts)
        time = _BEGIN + np.arange(posts) * span // posts
        return cls(time, likes, tuple(rankings), np.arange(feeds) % len(rankings), tuple(slices))

    def written(self, folder: Path) -> tuple[list[Path], "Matches"]:
        """Write a file for each slice; return them, and the matches in the order in which Spark ranks them."""
        folder.mkdir(parents=True)
        files = [folder / f"{number:04}.parquet" for number in range(len(self.slices))]
        for number, (file, one) in enumerate(zip(files, self.slices, strict=True)):
            pq.write_table(self._table(one), file)
            os.utime(file, (number, number))  # by which Spark tells which is older
        # Of the files of a micro-batch, Spark makes a partition of the largest first.
        batches = np.arange(len(files)) // SLICES
        order = np.lexsort((-np.array([file.stat().st_size for file in files]), batches)).tolist()
        return files, replace(self, slices=tuple(self.slices[i] for i in order))

    def of_batch(self, number: int) -> "Matches":
        """Return those of one micro-batch."""
        return replace(self, slices=self.slices[number * SLICES : (number + 1) * SLICES])

    def _table(self, one: Slice) -> pa.Table:
        used, post = np.unique(one.post, return_inverse=True)
        names = pa.array(np.arange(len(self.ranking)).astype(str))
        subscriber = pa.DictionaryArray.from_arrays(pa.array(one.feed), names)
        ids = pc.utf8_lpad(pa.array(used).cast(pa.string()), 9, "0")
        texts = pc.binary_join_element_wise(_TEXT, ids, "")
        of_feed = pa.array(self.ranking[one.feed])
        return pa.table(
            {
                "id": pa.DictionaryArray.from_arrays(pa.array(post), ids),
                "ts": pa.array(self.time[one.post], pa.timestamp("us", tz="UTC")),
                "likes": pa.array(self.likes[one.post]),
                "text": pa.DictionaryArray.from_arrays(pa.array(post), texts),
                "subscriber": subscriber,
                "subscription": subscriber,
                "ranking": pa.DictionaryArray.from_arrays(of_feed, pa.array(self.rankings)),
            }
        )

    def best(self, watermark: int | None = None) -> Best:
        """Return the best of all windows, with all matches in one place: nothing is shared with the stage.

        Windows of time are complete at the watermark, and those by count with their last match; without a watermark,
        windows that are not complete are there as well.
        """
        windows = [ranking_of(text).windows for text in self.rankings]
        timed, k, width = (
            np.array([value(one) for one in windows])[self.ranking]
            for value in (lambda one: isinstance(one, TimeWindows), lambda one: one.k, lambda one: one.width)
        )
        post, feed = (np.concatenate(parts) for parts in zip(*self.slices, strict=True))
        order = np.argsort(feed, kind="stable")
        post, feed = post[order], feed[order]
        lengths = np.bincount(feed, minlength=len(self.ranking))
        position = np.arange(len(feed)) - offsets_of(lengths)[feed]
        window = np.where(timed[feed], self.time[post], position) // width[feed]
        if watermark is not None:
            end = np.where(timed, watermark, lengths)
            kept = np.flatnonzero((window + 1) * width[feed] <= end[feed])
            post, feed, window = post[kept], feed[kept], window[kept]
        place = np.empty(len(self.time), np.int64)
        place[np.lexsort((-self.time, -self.likes))] = np.arange(len(self.time))
        order = np.lexsort((place[post], window, feed))
        post, feed, window = post[order], feed[order], window[order]
        is_first = np.diff(feed, prepend=-1).astype(bool) | np.diff(window, prepend=-1).astype(bool)
        rank = np.arange(len(feed)) - np.flatnonzero(is_first)[np.cumsum(is_first) - 1] + 1
        chosen = rank <= k[feed]
        return Best(feed[chosen], window[chosen], rank[chosen], post[chosen])


def check_best(found: Best, expected: Best, what: str) -> int:
    """Compare all windows; return how many posts they have. `TidegateError` at the first that differs."""
    n = min(len(found.feed), len(expected.feed))
    differs = np.logical_or.reduce([one[:n] != other[:n] for one, other in zip(found, expected, strict=True)])
    at = int(np.argmax(differs)) if differs.any() else n
    if at < max(len(found.feed), len(expected.feed)):
        ours, theirs = (
            str(tuple(column[at].item() for column in best)) if at < len(best.feed) else "none"
            for best in (found, expected)
        )
        raise TidegateError(f"{what}: feed, window, rank and post number {at:,} are {ours}, and have to be {theirs}")
    return n
