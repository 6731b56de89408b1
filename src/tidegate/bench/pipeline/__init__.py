"""Benchmark `pipeline`: posts per second on Spark beside the ceiling and rivals, streams, changes and memory.

Every plan and every rival must find the same matches: a wrong answer ends the run.
"""

import tempfile
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final

from rich.progress import Progress

from tidegate.bench.parts import run_parts
from tidegate.bench.pipeline.changes import report_changes
from tidegate.bench.pipeline.corpus import Corpus
from tidegate.bench.pipeline.fan_out import report_fan_out
from tidegate.bench.pipeline.forecast import CORES, report_forecast
from tidegate.bench.pipeline.memory import report_memory
from tidegate.bench.pipeline.rivals import report_rivals
from tidegate.bench.pipeline.searches import Searches, several_words
from tidegate.bench.pipeline.sizes import SIZES, Sizes
from tidegate.bench.pipeline.streams import report_streams
from tidegate.bench.pipeline.subscribed import Subscribed
from tidegate.bench.pipeline.throughput import Throughput, report_plans, report_throughput
from tidegate.bench.report import Report, Scale
from tidegate.errors import ConfigError
from tidegate.route.plan import Plan
from tidegate.spark.trials.batch import trial_session

__all__ = ["run"]

_MATCHES_PER_POST: Final = 10.0


def run(
    scale: Scale,
    seed: int = 1,
    posts: Path | None = None,
    progress: Progress | None = None,
    sizes: Sizes | None = None,
    plans: tuple[str, ...] = (),
) -> Report:
    """Run everything at `scale` (or of these `sizes`), on two cores; raise `TidegateError` at a wrong answer.

    `posts`, a Parquet file with a column `text`, gives other posts than generated ones; `plans` are the kinds of plans
    that partition to be run, *hash* if none are named. How far the run has come is
    shown by `progress`, or by a bar of its own on the standard error.
    """
    sizes = sizes or SIZES[scale]
    sizes = replace(sizes, plans=plans) if plans else sizes
    _check_plans(sizes)
    params = {"seed": seed, "posts_file": posts.name if posts else None, "cores": CORES, **asdict(sizes)}
    report = Report("pipeline", scale, params)
    count = 6 + bool(sizes.foretold) + len(sizes.subscriptions) + (sizes.partitioned > 0)
    with tempfile.TemporaryDirectory(prefix="tidegate-bench-") as folder:
        run_parts(_parts(report, sizes, seed, posts, Path(folder)), "posts", count, progress)
    return report


def _check_plans(sizes: Sizes) -> None:
    for kind in sizes.plans:
        if kind == "replicate":
            raise ConfigError("plan replicate is always run: name kinds that partition")
        Plan.parse(f"{kind}:1")


def _parts(report: Report, sizes: Sizes, seed: int, posts: Path | None, folder: Path) -> Iterator[str]:
    """Do one part after the other; yield the name of the next before it begins."""
    corpus = Corpus.read(posts, sizes.posts, seed)
    written = corpus.write(folder / "posts")
    yield "Spark"
    with trial_session(CORES) as spark:
        for count in sizes.subscriptions:
            yield f"{count:,} subscriptions"
            searches = Searches.draw(corpus, count, _MATCHES_PER_POST, several_words(), seed)
            subscribed = Subscribed.fill(folder / f"store-{count}", searches)
            paces = report_throughput(report, spark, written, sizes.posts, subscribed, sizes.rounds)
            if count == sizes.headline:
                yield from _headline_parts(report, spark, folder, corpus, subscribed, paces, sizes)
            if count == sizes.partitioned:
                yield "plans"
                some = corpus.write(folder / "some-posts", 0, sizes.plan_posts)
                plans = [Plan.parse(f"{kind}:{matchers}") for kind in sizes.plans for matchers in sizes.matchers]
                report_plans(report, spark, some, subscribed, paces.ceiling, plans, sizes)
        if sizes.foretold:
            yield "forecasts"
            report_forecast(report, spark, written, folder, corpus, _MATCHES_PER_POST, sizes, seed)
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
