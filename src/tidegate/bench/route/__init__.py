"""Benchmark `route`: what every word map does to posts (S³-TM, Figures 3 to 21 and 28), and plans on matcher clocks.

Whatever is clocked has to find the same matches: a wrong answer ends the run.
"""

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from rich.progress import Progress

from tidegate.bench.parts import run_parts
from tidegate.bench.report import Report, Scale
from tidegate.bench.route.audience import Audience, learned_topics
from tidegate.bench.route.claims import report_claims, summarise
from tidegate.bench.route.clocked_maps import report_clocked_maps
from tidegate.bench.route.contest import report_contest
from tidegate.bench.route.corpus import Corpus, report_corpus
from tidegate.bench.route.figures import report_figures
from tidegate.bench.route.learning import report_learning
from tidegate.bench.route.look_ups import report_look_ups
from tidegate.bench.route.plots import plot
from tidegate.bench.route.sizes import SIZES, Sizes
from tidegate.bench.route.trials import Trials

__all__ = ["plot", "run"]


def run(
    scale: Scale,
    seed: int = 1,
    posts: Path | None = None,
    progress: Progress | None = None,
    sizes: Sizes | None = None,
) -> Report:
    """Run everything at `scale` (or of these `sizes`); raise `TidegateError` at a wrong answer.

    `posts`, a Parquet file with a column `text`, gives other posts than generated ones. How far the run has come is
    shown by `progress`, or by a bar of its own on the standard error.
    """
    sizes = sizes or SIZES[scale]
    report = Report("route", scale, {"seed": seed, "posts_file": posts.name if posts else None, **asdict(sizes)})
    run_parts(_parts(report, sizes, seed, posts), "posts", _count_parts(sizes), progress)
    return report


def _count_parts(sizes: Sizes) -> int:
    return 6 + sizes.folds + 2 * len(sizes.clocked_matchers) + len(sizes.short_matchers)


def _parts(report: Report, sizes: Sizes, seed: int, posts: Path | None) -> Iterator[str]:
    """Do one part after the other; yield the name of the next before it begins."""
    corpus = Corpus.read(posts, sizes.posts, seed)
    report_corpus(report, corpus)
    yield "topics"
    topics = learned_topics(corpus, sizes.topics, sizes.topic_posts, seed)
    most = max(sizes.subscriptions, *sizes.grown)
    tweets = Audience.tweet_based(corpus, most, seed)
    audiences = (tweets, Audience.topic_based(corpus, topics, most, seed))
    yield "Figure 3"
    report_look_ups(report, corpus, tweets.first(sizes.subscriptions), sizes.look_up_posts)
    trials = Trials()
    for fold in trials.run(corpus, audiences, sizes):
        yield f"Figures 5 to 21, fold {fold + 1} of {sizes.folds}"
    report_figures(report, trials, sizes)
    report_claims(report, trials, sizes)
    summarise(report, trials, sizes)
    yield "Figures 13 and 28"
    report_learning(report, corpus, tweets.first(sizes.subscriptions), sizes)
    yield from report_clocked_maps(report, corpus, audiences, trials, sizes)
    yield from report_contest(report, corpus, trials, sizes, seed)
