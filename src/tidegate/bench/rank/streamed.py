"""Ranked feeds on Spark: what is shuffled, and how many matches a second go through the stage that ranks.

Everything that is delivered while it is counted or timed is compared with all matches in one place.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow.parquet as pq

from tidegate.bench.rank.matches import SLICES, WINDOW_US, Best, Matches, check_best
from tidegate.bench.rank.sizes import Sizes
from tidegate.bench.report import Report, Row
from tidegate.rank.duration import duration
from tidegate.spark.ranked import RankSettings
from tidegate.spark.trials.ranked import (
    RankedBatch,
    ranked_batches,
    shuffle_seconds,
    shuffled_bytes,
    windowed_best,
    windowed_seconds,
)
from tidegate.workload.follows import FACEBOOK_LIKE, TWITTER_LIKE, Follows, fans, friends

SHUFFLED, STREAMED = "Spark, what is shuffled", "Spark, matches ranked a second"
BY_COUNT, BY_TIME, MIXED = "20 posts, k = 1", "10 minutes, k = 5", "half of each"
RANDOM: Final = "random"
_COUNT: Final = '{"k": 1, "window": 20, "score": "field:likes", "feed": true}'
_TIME: Final = '{"k": 5, "window": "10m", "score": "field:likes", "feed": true}'
_POSTS: Final = 100
"""Of a feed, in a slice or in a window of time."""
_SHUFFLED_BUCKETS: Final = 8
"""Few feeds want few: each costs a round trip of its own."""
_DELAY: Final = "1m"
_WARM_UP: Final = 1
"""Batches."""


class _Run(NamedTuple):
    """A stream that was ranked, and whose answers are right."""

    batches: list[RankedBatch]
    written: int
    """Bytes that Spark wrote to be shuffled."""
    checked: int
    """Posts delivered."""

    def total(self, name: str) -> int:
        return sum(one.counts.get(name, 0) for one in self.batches)

    def pace(self, begin: int, end: int | None = None) -> float:
        """Matches a second in some of the batches."""
        some = self.batches[begin:end]
        return sum(one.counts.get("matches", 0) for one in some) / sum(one.seconds for one in some)


def report_shuffled(report: Report, spark: Any, folder: Path, sizes: Sizes, seed: int) -> int:
    """Report rows and bytes shuffled with chunks and without; return how many delivered posts were compared."""
    feeds, slices = sizes.shuffled_feeds, SLICES * sizes.shuffled_batches
    # A slice has a hundred posts of a feed; or a window has, and is two slices.
    by_count = Matches.even(feeds, _COUNT, slices, _POSTS, WINDOW_US, seed)
    by_time = Matches.even(feeds, _TIME, slices, _POSTS // SLICES, sizes.shuffled_batches * WINDOW_US, seed)
    rising = replace(by_count, likes=np.arange(len(by_count.likes)))
    rows: list[Row] = []
    checked = 0
    cases = [(BY_COUNT, RANDOM, by_count), (BY_TIME, RANDOM, by_time)]
    cases += [(BY_COUNT, "rising", rising)] if sizes.every_case else []
    for windows, score, drawn in cases:
        own = folder / f"shuffled-{len(rows)}"
        _, matches = drawn.written(own / "matches")
        chunks, everything = (
            _ranked(spark, own, matches, RankSettings(buckets=_SHUFFLED_BUCKETS, delay=_DELAY, chunks=chunked))
            for chunked in (True, False)
        )
        checked += chunks.checked + everything.checked
        rows.append(_shuffled_row(windows, score, chunks, everything))
    report.section(
        f"{SHUFFLED}: {feeds:,} feeds, two slices a batch; {_POSTS} posts a slice, or {_POSTS} a window of time",
        rows,
        note="of: against shuffling all matches. Bytes: of the bundles, which hold a post once. Spark wrote: by its "
        "own count, with all that surrounds them. A slice does not know where windows by count begin: where every post "
        "is better than those before (rising), each is the best of some window, and nothing can be left behind",
    )
    return checked


def _shuffled_row(windows: str, score: str, chunks: _Run, everything: _Run) -> Row:
    return {
        "windows": windows,
        "score": score,
        "matches": everything.total("sent"),
        "shuffled": chunks.total("sent"),
        "rows, of": chunks.total("sent") / everything.total("sent"),
        "all, bytes": everything.total("sent_bytes"),
        "bytes": chunks.total("sent_bytes"),
        "bytes, of": chunks.total("sent_bytes") / everything.total("sent_bytes"),
        "all, Spark wrote": everything.written,
        "Spark wrote": chunks.written,
        "Spark wrote, of": chunks.written / everything.written,
    }


def report_streamed(report: Report, spark: Any, folder: Path, sizes: Sizes, seed: int) -> int:
    """Report the pace of follow graphs beside Spark's own; return how many delivered posts were compared.

    To be the first thing that a session does, so that the first batch of all is as slow as it can be.
    """
    fans_, friends_ = fans(sizes.ranked_feeds, TWITTER_LIKE, seed), friends(sizes.ranked_feeds, FACEBOOK_LIKE, seed)
    cases: list[tuple[str, Follows, str, tuple[str, ...]]] = [
        ("Twitter-like", fans_, MIXED, (_COUNT, _TIME)),
        ("Facebook-like", friends_, MIXED, (_COUNT, _TIME)),
    ]
    if sizes.every_case:
        cases += [("Twitter-like", fans_, BY_COUNT, (_COUNT,)), ("Twitter-like", fans_, BY_TIME, (_TIME,))]
    rows: list[Row] = []
    for graph, follows, windows, rankings in cases:
        drawn = Matches.followed(follows, rankings, SLICES * sizes.ranked_batches, sizes.slice_rows, seed)
        row = _streamed_row(spark, folder / f"streamed-{len(rows)}", drawn, sizes.rival_rounds)
        rows.append({"graph": graph, "windows": windows, **row})
    report.section(
        f"{STREAMED}: {sizes.ranked_feeds:,} feeds, one of each user; {sizes.ranked_batches} batches of two slices, "
        "two cores",
        rows,
        note="matches/s: without the first batch, and with the last, which only ends windows; first batch: in the "
        "first row it starts workers and loads kernels. What is delivered is written to Parquet. Window functions: "
        "Spark SQL on the last batch alone, nothing being kept between batches; shuffle: by subscriber, and nothing "
        f"else; both read the same files and drop what they find, warm, best of {sizes.rival_rounds}",
    )
    return sum(row["delivered"] for row in rows)


def _streamed_row(spark: Any, folder: Path, drawn: Matches, rounds: int) -> Row:
    files, matches = drawn.written(folder / "matches")
    run = _ranked(spark, folder, matches, RankSettings(delay=_DELAY))
    ours = run.pace(_WARM_UP)
    last = len(files) // SLICES - 1
    windowed, shuffled = _rivals(spark, files[SLICES * last :], matches.of_batch(last), rounds)
    return {
        "matches": len(matches),
        "posts": len(matches.time),
        "matches/s": ours,
        "first batch": run.pace(0, _WARM_UP),
        "overall": run.pace(0),
        "shuffled, of": run.total("sent") / run.total("matches"),
        "held, MB": max(one.counts.get("held_bytes", 0) for one in run.batches) / 1e6,
        "window functions": windowed,
        "ours, of these": ours / windowed,
        "shuffle": shuffled,
        "ours, of this": ours / shuffled,
        "delivered": run.checked,
    }


def _rivals(spark: Any, files: Sequence[Path], matches: Matches, rounds: int) -> tuple[float, float]:
    """The paces of Spark's window functions, which must find the same, and of a shuffle; in turns."""
    found = windowed_best(spark, files, matches.rankings)  # warms up, too
    check_best(Best.of(found), matches.best(), "Spark's window functions")
    laps = [(windowed_seconds(spark, files, matches.rankings), shuffle_seconds(spark, files)) for _ in range(rounds)]
    windowed, shuffled = (len(matches) / min(seconds) for seconds in zip(*laps, strict=True))
    return windowed, shuffled


def _ranked(spark: Any, folder: Path, matches: Matches, settings: RankSettings) -> _Run:
    """Rank the matches that are in a folder, and compare all that is delivered; `TidegateError` at what differs."""
    best = folder / ("best" if settings.chunks else "best-of-all")
    before = shuffled_bytes(spark)
    batches = ranked_batches(spark, folder / "matches", best, settings)
    written = shuffled_bytes(spark) - before
    expected = matches.best(int(matches.time.max()) - duration("delay", settings.delay))
    delivered = pq.read_table(best, columns=["subscriber", "window", "rank", "id"])
    return _Run(batches, written, check_best(Best.of(delivered), expected, "ranked feeds on Spark"))
