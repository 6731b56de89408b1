"""Benchmark `pipeline`: posts per second on Spark beside the ceiling and rivals, streams, changes and memory.

Every plan and every rival must find the same matches: a wrong answer ends the run.
"""

import tempfile
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.progress import Progress

from tidegate.bench.pipeline.changes import report_changes
from tidegate.bench.pipeline.corpus import Corpus
from tidegate.bench.pipeline.fan_out import report_fan_out
from tidegate.bench.pipeline.memory import report_memory
from tidegate.bench.pipeline.rivals import report_rivals
from tidegate.bench.pipeline.searches import Searches, several_words
from tidegate.bench.pipeline.sizes import SIZES, Sizes
from tidegate.bench.pipeline.streams import report_streams
from tidegate.bench.pipeline.subscribed import Subscribed
from tidegate.bench.pipeline.throughput import Throughput, report_plans, report_throughput
from tidegate.bench.report import Report, Scale
from tidegate.spark.trials.batch import trial_session

__all__ = ["run"]

_CORES: Final = 2
_MATCHES_PER_POST: Final = 10.0


def run(
    scale: Scale,
    seed: int = 1,
    posts: Path | None = None,
    progress: Progress | None = None,
    sizes: Sizes | None = None,
) -> Report:
    """Run everything at `scale` (or of these `sizes`), on two cores; raise `TidegateError` at a wrong answer.

    `posts`, a Parquet file with a column `text`, gives other posts than generated ones. How far the run has come is
    shown by `progress`, or by a bar of its own on the standard error.
    """
    sizes = sizes or SIZES[scale]
    report = Report("pipeline", scale, {"seed": seed, "posts_file": posts.name if posts else None, **asdict(sizes)})
    with (
        nullcontext(progress) if progress else Progress(console=Console(stderr=True), transient=True) as shown,
        tempfile.TemporaryDirectory(prefix="tidegate-bench-") as folder,
    ):
        task = shown.add_task("posts", total=6 + len(sizes.subscriptions) + (sizes.partitioned > 0))
        for done, part in enumerate(_parts(report, sizes, seed, posts, Path(folder)), 1):
            shown.update(task, description=part, completed=done)
    return report


def _parts(report: Report, sizes: Sizes, seed: int, posts: Path | None, folder: Path) -> Iterator[str]:
    """Do one part after the other; yield the name of the next before it begins."""
    corpus = Corpus.read(posts, sizes.posts, seed)
    written = corpus.write(folder / "posts")
    yield "Spark"
    with trial_session(_CORES) as spark:
        for count in sizes.subscriptions:
            yield f"{count:,} subscriptions"
            searches = Searches.draw(corpus, count, _MATCHES_PER_POST, several_words(), seed)
            subscribed = Subscribed.fill(folder / f"store-{count}", searches)
            paces = report_throughput(report, spark, written, sizes.posts, subscribed, sizes.rounds)
            if count == sizes.headline:
                yield from _headline_parts(report, spark, folder, corpus, subscribed, paces, sizes)
            if count == sizes.partitioned:
                yield "plans"
                report_plans(report, spark, written, subscribed, paces, sizes.matchers, sizes.plan_rounds)
        yield "one word each"
        report_fan_out(report, spark, folder, corpus, sizes, seed)
        yield "changes"
        report_changes(report, spark, folder / "changes", searches, sizes.change_batches, sizes.acknowledged)


def _headline_parts(
    report: Report, spark: Any, folder: Path, corpus: Corpus, subscribed: Subscribed, paces: Throughput, sizes: Sizes
) -> Iterator[str]:
    report.summary |= {
        "ceiling_posts_per_s": paces.ceiling.best,
        "tidegate_posts_per_s": paces.replicate.best,
        "fraction_of_ceiling": paces.fraction,
        "fraction_of_ceiling_per_post": paces.per_post.best / paces.ceiling.best,
        "matches_per_post": paces.replicate.matches_per_post,
    }
    report_memory(report, Path(subscribed.store.location.url), len(subscribed))
    yield "rivals"
    report_rivals(
        report, spark, folder, corpus, subscribed, paces, min(sizes.rival_posts, sizes.posts), sizes.rival_rounds
    )
    yield "streams"
    # The subscriptions made here count from a later version on than the one that batches are pinned to.
    report_streams(report, spark, folder, corpus, subscribed, paces.replicate.best, sizes.probes, sizes.latency_seconds)
