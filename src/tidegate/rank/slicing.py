"""From the matches of a slice to what is sent on: feeds told apart, posts scored, the rest left behind."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tidegate.csr import Int64, offsets_of
from tidegate.errors import ConfigError
from tidegate.rank.bundle import (
    FEED,
    NAME,
    Bundle,
    Entries,
    PostColumns,
    authors,
    bundle,
    first_rows,
    id_ranks,
    id_texts,
    numbered,
    times,
)
from tidegate.rank.ranking import Ranking, ranking_of
from tidegate.rank.score import ScoreFunction
from tidegate.rank.scores import Float64, ScoreColumns, scored
from tidegate.rank.selection import Bools, asked, best_first, grouped
from tidegate.rank.slices import can_save, needed


@dataclass(frozen=True)
class Slicing:
    """How matches are read: one row each, with the columns of its post, `subscriber`, `subscription` and `ranking`."""

    columns: PostColumns = field(default_factory=PostColumns)
    scores: ScoreColumns = field(default_factory=ScoreColumns)
    functions: Mapping[str, ScoreFunction] = field(default_factory=dict)
    chunks: bool = True
    """Whether what no window can need is left behind; if not, all is sent, to compare."""
    apart: bool = False
    """Whether a post may be in several slices, so that only who sees them all can count it once."""


class Sliced(NamedTuple):
    """What becomes of a slice."""

    feeds: pa.Table
    bucket: Int64
    """Of each feed."""
    sent: Entries
    posts: pa.Table
    aside: pa.Table
    """The matches that cannot be ranked, with a `reason`."""
    newest: int | None
    """The time of the newest post that is in a feed."""

    def bundles(self) -> Iterator[tuple[int, Bundle]]:
        """Yield what is to be sent to each bucket that gets anything."""
        of_entry = self.bucket[self.sent.feed]
        for number in np.unique(of_entry).tolist():
            own = np.flatnonzero(self.bucket == number)
            entries = self.sent.at(np.flatnonzero(of_entry == number))
            local = entries._replace(feed=np.searchsorted(own, entries.feed))
            yield number, bundle(self.feeds.take(pa.array(own)), local, self.posts)


def sliced(matches: pa.Table, bucket: Int64, how: Slicing, latest: int | None = None) -> Sliced:
    """Return what a slice sends on, to the bucket given for each of its matches (the same for all of a subscriber).

    The order of a feed is that of its matches here; a post that a feed has twice counts once, where it is first. Posts
    with a time after `latest` are set aside: one of them would end the windows of all feeds.
    """
    post, first = numbered(id_texts(matches, how.columns))
    posts = matches.drop_columns([one.name for one in NAME]).take(pa.array(first))
    when = times(posts, how.columns)
    ranking, rankings, refused = _rankings(matches.column("ranking"))
    aside = _Aside(len(post))
    wrong = np.flatnonzero(ranking >= len(rankings))
    aside.put_all(wrong, ranking[wrong] - len(rankings), refused)
    aside.put(_is_null(posts.column(how.columns.id))[post], "the post has no id")
    aside.put(_is_null(posts.column(how.columns.time))[post], "the post has no time")
    if latest is not None:
        aside.put((when > latest)[post], "the post is from the future")
    rest = aside.rest
    found = scored(posts, when, post[rest], ranking[rest], [one.score for one in rankings], how.functions, how.scores)
    is_good = found.reason < 0
    aside.put_all(rest[~is_good], found.reason[~is_good], found.reasons)
    good = rest[is_good]
    feed, first, feeds = _feeds(matches.take(pa.array(good)), ranking[good], rankings)
    entries, lengths = _entries(feed, post[good], found.values[is_good], len(first))
    newest = np.full(len(first), np.iinfo(np.int64).min)
    np.maximum.at(newest, entries.feed, when[entries.post])
    return Sliced(
        _with_numbers(feeds, lengths, newest),
        bucket[good][first],
        entries.at(_needed(entries, lengths, ranking[good][first], rankings, posts, how)) if how.chunks else entries,
        posts,
        aside.table(matches),
        int(newest.max()) if len(newest) else None,
    )


class _Aside:
    """Which matches are set aside, and why; the first reason counts."""

    def __init__(self, n: int) -> None:
        self._reason = np.full(n, -1, np.int64)
        self._reasons: list[str] = []

    @property
    def rest(self) -> Int64:
        return np.flatnonzero(self._reason < 0)

    def put(self, which: Bools, reason: str) -> None:
        rows = np.flatnonzero(which & (self._reason < 0))
        self.put_all(rows, np.zeros(len(rows), np.int64), [reason])

    def put_all(self, rows: Int64, number: Int64 | NDArray[np.int32], reasons: Sequence[str]) -> None:
        """Set rows aside, each for the reason of its number."""
        self._reason[rows] = len(self._reasons) + number
        self._reasons += reasons

    def table(self, matches: pa.Table) -> pa.Table:
        rows = np.flatnonzero(self._reason >= 0)
        reasons = pa.array(self._reasons, pa.string()).take(pa.array(self._reason[rows]))
        return matches.take(pa.array(rows)).append_column("reason", reasons)


def _rankings(texts: pa.ChunkedArray) -> tuple[Int64, list[Ranking], list[str]]:
    """The number of the ranking of each match, the rankings, and why those that are numbered after them are none."""
    found = texts.combine_chunks().fill_null("").dictionary_encode()
    numbers: dict[Ranking, int] = {}
    refused: dict[int, str] = {}
    meant = np.zeros(len(found.dictionary), np.int64)
    for i, text in enumerate(found.dictionary.to_pylist()):
        try:
            ranking = ranking_of(text)
            meant[i] = numbers.setdefault(ranking, len(numbers))
        except ConfigError as error:
            refused[i] = str(error)
    meant[list(refused)] = len(numbers) + np.arange(len(refused))
    return meant[found.indices.to_numpy()], list(numbers), list(refused.values())


def _feeds(matches: pa.Table, ranking: Int64, rankings: list[Ranking]) -> tuple[Int64, Int64, pa.Table]:
    """The feed of each match, the first match of each feed, and what feeds are called."""
    is_whole = pa.array(np.array([one.feed for one in rankings], np.bool_)[ranking])
    subscriber, subscription = (matches.column(name).cast(pa.string()) for name in ("subscriber", "subscription"))
    alone = pc.if_else(is_whole, pa.scalar(None, pa.string()), subscription)
    feed, first = numbered(subscriber, alone, pa.array(ranking))
    texts = pa.array([one.canonical for one in rankings], pa.string()).take(pa.array(ranking[first]))
    named = [column.take(pa.array(first)) for column in (subscriber, alone)]
    return feed, first, pa.Table.from_arrays([*named, texts], schema=pa.schema(NAME))


def _entries(feed: Int64, post: Int64, score: Float64, n_feeds: int) -> tuple[Entries, Int64]:
    """The entries of feeds, each post once, and how many each feed has."""
    once = first_rows(numbered(pa.array(feed), pa.array(post))[0])
    lengths = np.bincount(feed[once], minlength=n_feeds).astype(np.int64)
    offsets = offsets_of(lengths)
    rows = once[grouped(np.arange(len(once)), feed[once], offsets)]
    return Entries(feed[rows], np.arange(len(rows)) - offsets[feed[rows]], score[rows], post[rows]), lengths


def _needed(
    entries: Entries, lengths: Int64, ranking: Int64, rankings: list[Ranking], posts: pa.Table, how: Slicing
) -> Int64:
    by = asked(rankings, ranking)
    when, author = times(posts, how.columns)[entries.post], authors(posts, how.columns)[entries.post]
    # Most feeds have few events in a slice, and send them all: those need not be put in order.
    at = np.flatnonzero(can_save(lengths, by)[entries.feed])
    ids = id_ranks(id_texts(posts, how.columns))[entries.post[at]]
    order = at[best_first(entries.score[at], when[at], ids)]
    is_needed = needed(order, entries.feed, when, author, offsets_of(lengths), by)
    if how.apart:
        is_whole = np.array([one.feed for one in rankings], np.bool_)[ranking] & ~by.timed
        is_needed |= is_whole[entries.feed]
    return np.flatnonzero(is_needed)


def _with_numbers(feeds: pa.Table, lengths: Int64, newest: Int64) -> pa.Table:
    nothing = pa.array(np.zeros(len(lengths), np.int64))
    return pa.Table.from_arrays([*feeds.columns, pa.array(lengths), pa.array(newest), nothing, nothing], schema=FEED)


def _is_null(column: pa.ChunkedArray) -> Bools:
    return np.asarray(column.is_null().to_numpy())
