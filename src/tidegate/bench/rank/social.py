"""Figures 9 and 10: feeds of users who follow each other, and what synchronised chunks bring them."""

from dataclasses import dataclass, replace
from functools import cached_property
from time import perf_counter
from typing import Final, Self

import numpy as np

from tidegate.bench.rank.scene import COUNT
from tidegate.bench.rank.sizes import Sizes
from tidegate.bench.report import Report, Row
from tidegate.overlay.borders import Borders, CommonStretches, EveryCount, EveryPeriod
from tidegate.overlay.chain import Chain
from tidegate.overlay.feeds import Feed, Posts
from tidegate.overlay.limits import limits
from tidegate.overlay.needs import chunk_ends
from tidegate.overlay.setting import Setting
from tidegate.overlay.traffic import Traffic, counted
from tidegate.rank.windows import Windows
from tidegate.workload.follows import Follows

WINDOWS: Final = Windows(2, 20, 20)
SYNCHRONISED: Final = "synchronised"
_BY_COUNT: Final = EveryCount(COUNT)
_PAPER: Final = ("paper, source", "paper, cores")
_RANKS: Final = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000)
_PAPER_SOURCE: Final = {"Facebook-like": {100: 27.6, 1_000: 6.7}, "Twitter-like": {100: 16.9, 1_000: 0.5}}
_PAPER_CORES: Final = {"Facebook-like": {1_000: 48}, "Twitter-like": {1_000: 38}}


@dataclass(frozen=True)
class Society:
    """Users, what they post, and their feeds, which are subscribed to in a random order."""

    name: str
    follows: Follows
    posts: Posts
    feeds: list[Feed]
    """Without an edge broker yet."""

    @classmethod
    def draw(cls, name: str, follows: Follows, posts: int, seed: int) -> Self:
        """Let users post, one a second; a post counts as much as its author has followers."""
        authors = follows.authors(posts, seed)
        by_author = np.argsort(authors, kind="stable")
        starts = np.searchsorted(authors[by_author], np.arange(follows.users + 1))
        scores = follows.popularity[authors].astype(np.float64)
        feeds = []
        for user in np.random.default_rng([seed, 4]).permutation(follows.users).tolist():
            theirs = [by_author[starts[one] : starts[one + 1]] for one in follows.followed.row(user)]
            matched = np.sort(np.concatenate([np.empty(0, np.int64), *theirs]))
            feeds.append(Feed(0, WINDOWS, matched, scores))
        return cls(name, follows, Posts(np.arange(posts, dtype=np.float64), np.zeros(posts, np.int64)), feeds)

    @cached_property
    def mean_chunk(self) -> int:
        """The posts in which a feed gets a chunk's worth, in the mean."""
        mean = float(np.mean([len(feed.matched) for feed in self.feeds])) / len(self.posts.times)
        return round(COUNT / mean)

    def first(self, posts: int) -> "Society":
        """Return the beginning of it."""
        scores = self.feeds[0].scores[:posts]
        feeds = [replace(feed, matched=feed.matched[feed.matched < posts], scores=scores) for feed in self.feeds]
        published = Posts(self.posts.times[:posts], self.posts.sources[:posts])
        return replace(self, posts=published, feeds=feeds)

    def synchronised(self, period: float) -> CommonStretches:
        """Return common stretches, the period in mean chunks, by which chunks are no longer in the mean than by count.

        A run is finite: it has a whole number of periods, and stretches are a little longer if chunks would be fewer.
        """
        posts = len(self.posts.times)
        length = posts // max(round(posts / (period * self.mean_chunk)), 1)
        rules = (CommonStretches(count, length) for count in range(COUNT, 0, -1))
        return next(rule for rule in rules if rule.count == 1 or self._is_no_longer(rule))

    @cached_property
    def by_the_clock(self) -> EveryPeriod:
        """Return chunks that end by the clock, and are no longer in the mean than by count."""
        rules = (EveryPeriod(self.mean_chunk * share / 50) for share in range(60, 0, -1))
        return next(rule for rule in rules if self._is_no_longer(rule))

    def _is_no_longer(self, rule: Borders) -> bool:
        """Whether there are at least as many chunks as by count."""
        return self._chunks(rule) >= self._chunks_by_count

    @cached_property
    def _chunks_by_count(self) -> int:
        return self._chunks(_BY_COUNT)

    def _chunks(self, borders: Borders) -> int:
        shift = WINDOWS.shift
        streams = [feed.matched[: len(feed.matched) // shift * shift] for feed in self.feeds]
        times = self.posts.times
        return sum(len(chunk_ends(own, times[own], shift, borders)) for own in streams if len(own))

    def on(self, brokers: int, subscribers: int) -> "Placed":
        """Put the source at one end of a chain, and the first feeds at the other edges."""
        chain = Chain.of(brokers)
        source = chain.edges[0]
        feeds = [
            replace(feed, edge=edge)
            for edge, feed in zip(chain.spread(subscribers, [source]), self.feeds, strict=False)
        ]
        return Placed(chain, Posts(self.posts.times, np.full(len(self.posts.times), source)), feeds)


@dataclass(frozen=True)
class Placed:
    """Feeds on a chain."""

    chain: Chain
    posts: Posts
    feeds: list[Feed]

    @cached_property
    def edge(self) -> Traffic:
        """What EDGE sends."""
        return counted(self.chain, self.posts, self.feeds, Setting("EDGE"))

    def once(self, borders: Borders) -> Traffic:
        """Return what B-CHUNK sends."""
        return counted(self.chain, self.posts, self.feeds, Setting("B-CHUNK", borders))

    def less(self, traffic: Traffic, brokers: range | list[int]) -> float:
        """Return by how many per cent less some brokers send on than with EDGE."""
        return 100 * (1 - traffic.sent_by(brokers) / self.edge.sent_by(brokers))

    @property
    def source(self) -> list[int]:
        """The source broker."""
        return self.posts.used

    @property
    def cores(self) -> range:
        """The core brokers, of which the first is next to the source."""
        return range(self.chain.cores)


def report_tails(report: Report, societies: list[Society]) -> None:
    """Report Figure 9."""
    tails = {society.name: np.sort(society.follows.popularity)[::-1] for society in societies}
    fewest = min(map(len, tails.values()))
    rows: list[Row] = [
        {"rank": rank, **{name: int(tail[rank - 1]) for name, tail in tails.items()}}
        for rank in _RANKS
        if rank <= fewest
    ]
    pairs = ", ".join(f"{society.name} {society.follows.pairs:,}" for society in societies)
    report.section("Figure 9: followers by rank", rows, note=f"follows in all: {pairs}")


def report_growth(report: Report, society: Society, sizes: Sizes) -> float:
    """Report Figure 10; return what synchronised chunks gain at the source with most subscribers, in points."""
    rows: list[Row] = []
    borders = society.synchronised(sizes.period)
    for n in sizes.social_subscribers:
        placed = society.on(sizes.brokers[0], n)
        plain, together = placed.once(_BY_COUNT), placed.once(borders)
        paper = _PAPER_SOURCE.get(society.name, {}).get(n), _PAPER_CORES.get(society.name, {}).get(n)
        saved, gained = (placed.less(traffic, placed.source) for traffic in (plain, together))
        rows += [
            _saving(n, "by count", placed, plain) | dict(zip(_PAPER, paper, strict=True)) | {"gain, points": None},
            _saving(n, SYNCHRONISED, placed, together) | dict.fromkeys(_PAPER) | {"gain, points": gained - saved},
        ]
    report.section(
        f"Figure 10, {society.name}: what B-CHUNK saves against EDGE; k = 2, W = δ = 20, C = 100",
        rows,
        note=f"{society.follows.users:,} users, {society.follows.pairs:,} follows, {len(society.posts.times):,} posts. "
        f"Synchronised: chunks end in common stretches, every {borders.period:,} posts. A mean chunk is that of all "
        "chunks, each counted once; that of an event counts it with each of its events. "
        "Placed at random, the subscribers of an edge save on their link what they would at a source of their own: the "
        "paper's 48 and 38 % with some 53 of them are hard to reconcile with its 27.6 and 16.9 % at a source with 100",
    )
    return float(rows[-1]["gain, points"])


def _saving(n: int, chunks: str, placed: Placed, traffic: Traffic) -> Row:
    return {
        "subscribers": n,
        "chunks": chunks,
        **_lengths(traffic),
        "delivered, %": 100 * traffic.delivered / traffic.matched,
        "source, % less": placed.less(traffic, placed.source),
        "cores, % less": placed.less(traffic, placed.cores),
    }


def _lengths(traffic: Traffic) -> Row:
    return {"mean chunk": traffic.matched / traffic.chunks, "chunk of an event": traffic.spans / traffic.matched}


def report_synchronised(report: Report, society: Society, sizes: Sizes) -> None:
    """Report what synchronised chunks cost and bring by their period, and what theory allows."""
    placed = society.on(sizes.brokers[0], max(sizes.social_subscribers))
    clock = society.by_the_clock
    rules: dict[str, Borders] = {
        f"every {COUNT} events": _BY_COUNT,
        f"by the clock, every {clock.seconds:,.0f} s": clock,
    }
    rules |= {f"common stretches, {period:g}": society.synchronised(period) for period in sizes.periods}
    rows: list[Row] = []
    for name, borders in rules.items():
        traffic = placed.once(borders)
        rows.append(
            {
                "chunks end": name,
                "period, posts": borders.period if isinstance(borders, CommonStretches) else None,
                **_lengths(traffic),
                "longest": traffic.longest,
                "source, % less": placed.less(traffic, placed.source),
                "first core": placed.less(traffic, [0]),
                "cores": placed.less(traffic, placed.cores),
                "ids, B/post": traffic.told_by(placed.source) / len(placed.posts.times),
            }
        )
    allowed = limits(placed.posts, placed.feeds, COUNT)
    for name, share in (
        ("in stretches, the limit of ever longer periods", allowed.long_stretches),
        ("anywhere, at most", allowed.any_borders),
        ("never: all but winners", allowed.winners_alone),
    ):
        rows.append(dict.fromkeys(rows[0]) | {"chunks end": name, "source, % less": 100 * share})
    report.section(
        f"Synchronised chunks, {society.name}: {max(sizes.social_subscribers):,} subscribers",
        rows,
        note="periods in mean chunks; stretches are so long that the mean chunk is no longer than by count. Most of "
        "these chunks are single windows then, all guard, and most events are in far longer ones: it is this that "
        "gains. Chunks that all end by the same clock gain little, as the guards of slow feeds fill their period. "
        f"Below, what theory allows with {COUNT} events a chunk in the mean. Every chunk has one window of guards at "
        "least, as chunks of one window each, in stretches, have: between these, hardly a post is a guard",
    )


def report_scalability(report: Report, societies: list[Society], sizes: Sizes) -> None:
    """Report chains of different lengths, and how long it takes to simulate them."""
    rows: list[Row] = []
    for society in societies:
        for brokers in sizes.brokers:
            placed = society.on(brokers, max(sizes.social_subscribers))
            begin = perf_counter()
            traffic = placed.once(_BY_COUNT)
            seconds = perf_counter() - begin
            rows.append(
                {
                    "graph": society.name,
                    "brokers": brokers,
                    "source, % less": placed.less(traffic, placed.source),
                    "paper, source": _PAPER_SOURCE.get(society.name, {}).get(len(placed.feeds)),
                    "first core": placed.less(traffic, [0]),
                    "paper, first core": _PAPER_CORES.get(society.name, {}).get(len(placed.feeds)),
                    "all cores": placed.less(traffic, placed.cores),
                    "last core": placed.less(traffic, [placed.chain.cores - 1]),
                    "seconds": seconds,
                }
            )
    report.section(
        "Scalability: the same subscribers on longer chains",
        rows,
        note="seconds: to count B-CHUNK on all links. Further cores serve fewer subscribers, and save more",
    )
