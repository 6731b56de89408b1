"""One-word subscriptions, of which a post matches hundreds: what a row for each match costs, and fanning out later."""

from pathlib import Path
from typing import Any, Final

from tidegate.bench.pipeline.corpus import Corpus
from tidegate.bench.pipeline.searches import Searches, one_word
from tidegate.bench.pipeline.sizes import Sizes
from tidegate.bench.pipeline.subscribed import Subscribed
from tidegate.bench.pipeline.throughput import Pace
from tidegate.bench.report import Report
from tidegate.errors import TidegateError
from tidegate.spark.trials.batch import fingerprint, matching_seconds

# A million of them match a thousand times a post, and fewer in proportion.
_SHARE: Final = 1e-3
_LABELS: Final = {"match": "one per match", "post": "one per post, its matches in lists"}


def report_fan_out(report: Report, spark: Any, folder: Path, corpus: Corpus, sizes: Sizes, seed: int) -> None:
    """Add the pace with a row per match, and with a row per post, for sinks that can take lists."""
    count, n_posts = sizes.one_word_subscriptions, min(sizes.one_word_posts, sizes.posts)
    posts = corpus.write(folder / "one-word-posts", 0, n_posts)
    searches = Searches.draw(corpus, count, _SHARE * count, one_word(), seed)
    subscribed = Subscribed.fill(folder / "one-word-store", searches)
    paces = {per: _pace(spark, posts, n_posts, subscribed, per, sizes.rounds) for per in _LABELS}
    if len({pace.found for pace in paces.values()}) != 1:
        found = ", ".join(f"{pace.found} per {per}" for per, pace in paces.items())
        raise TidegateError(f"wrong answers: one word each finds {found}")
    report.section(
        f"One word each: {count:,} subscriptions, {n_posts:,} posts",
        [
            {
                "rows": _LABELS[per],
                "posts/s": pace.best,
                "matches a post": pace.matches_per_post,
                "matches/s": pace.best * pace.matches_per_post,
            }
            for per, pace in paces.items()
        ],
        note=f"the same matches; best of {sizes.rounds} rounds",
    )


def _pace(spark: Any, posts: Path, n_posts: int, subscribed: Subscribed, per: str, rounds: int) -> Pace:
    store, at = subscribed.store, subscribed.at
    found = fingerprint(spark, posts, store, at, per)
    return Pace(n_posts, [matching_seconds(spark, posts, store, at, per) for _ in range(rounds)], found)
