"""Benchmark `index`: every table and figure of the EDBT paper with its figures beside ours, and the rivals.

Each timed answer is compared with another index's, and some with brute force: a wrong one ends the run.
"""

from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

from rich.progress import Progress

from tidegate.bench.index.choice import report_choice
from tidegate.bench.index.headline import report_building, report_fan_out, report_headline, summarise
from tidegate.bench.index.morphology import report_lengths, report_model, report_ranks
from tidegate.bench.index.orders import report_distributions, report_orders
from tidegate.bench.index.plots import plot
from tidegate.bench.index.rivals import report_rivals
from tidegate.bench.index.scaling import report_scaling
from tidegate.bench.index.sizes import SIZES, Sizes
from tidegate.bench.index.trial import paper_workload, run_trial, warm_up
from tidegate.bench.index.upkeep import report_upkeep
from tidegate.bench.parts import run_parts
from tidegate.bench.report import Report, Scale
from tidegate.errors import ConfigError
from tidegate.workload.terms import uniform

__all__ = ["plot", "run"]


def run(
    scale: Scale,
    seed: int = 1,
    posts: Path | None = None,
    progress: Progress | None = None,
    sizes: Sizes | None = None,
) -> Report:
    """Run everything at `scale` (or of these `sizes`), on one core; raise `TidegateError` at a wrong answer.

    `posts`, a Parquet file with a column `text`, gives the rivals other posts than generated ones. How far the
    run has come is shown by `progress`, or by a bar of its own on the standard error.
    """
    sizes = sizes or SIZES[scale]
    if posts is not None and sizes.is_headline_only:
        raise ConfigError(f"scale {scale} has no rivals that could match {posts.name}: leave --posts out")
    report = Report("index", scale, {"seed": seed, "posts": posts.name if posts else None, **asdict(sizes)})
    run_parts(_parts(report, sizes, seed, posts), "compiling", _count_parts(sizes), progress)
    return report


def _count_parts(sizes: Sizes) -> int:
    return 4 if sizes.is_headline_only else 11 + len(sizes.further_workloads)


def _parts(report: Report, sizes: Sizes, seed: int, posts: Path | None) -> Iterator[str]:
    """Do one part after the other; yield the name of the next before it begins."""
    warm_up(seed)
    yield f"{sizes.subscriptions:,} subscriptions"
    paper = paper_workload(sizes.subscriptions, sizes.vocabulary)
    main = run_trial(paper, sizes, seed, with_trie=not sizes.is_headline_only)
    report_headline(report, main)
    report_building(report, main)
    summarise(report, main)
    yield "fan-out"
    report_fan_out(report, main, sizes)
    yield "Table 3"
    report_model(report, sizes, seed)
    if sizes.is_headline_only:
        return
    yield "Table 4, Figure 2"
    report_ranks(report, sizes, seed)
    yield "Figure 3"
    report_lengths(report, sizes, seed)
    yield "Figures 4 and 5"
    report_orders(report, sizes.further, seed)
    yield "Figures 6 and 7"
    report_distributions(report, sizes.further, seed)
    trials = [main]
    for subscriptions, vocabulary in sizes.further_workloads:
        yield f"{subscriptions:,} subscriptions over {vocabulary:,} terms"
        trials.append(run_trial(paper_workload(subscriptions, vocabulary), sizes.further, seed))
        if vocabulary == sizes.small_vocabulary:
            report_headline(report, trials[-1])
    report_scaling(report, trials)
    yield "choose_index"
    # Where subscriptions do not ask for what items say, lists are short: without such a workload, no fit could
    # tell the time of copying counters from that of decrementing them.
    indifferent = replace(trials[1].workload, terms=uniform(trials[1].vocabulary))
    report_choice(report, [*trials, run_trial(indifferent, sizes.further, seed)])
    yield "live"
    report_upkeep(report, sizes, seed)
    yield "rivals"
    report_rivals(report, sizes, seed, posts)
