"""Benchmark `adjust`: what adjusting a plan costs while it serves, and what it brings (PS²Stream, Figures 12 to 16).

Whatever is adjusted has to find all matches: one that is lost ends the run.
"""

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from rich.progress import Progress

from tidegate.bench.adjust.claims import summarise
from tidegate.bench.adjust.days import Days
from tidegate.bench.adjust.figures import report_replays, report_switching
from tidegate.bench.adjust.plots import plot
from tidegate.bench.adjust.replay import WAYS, Asked, Replayed, balanced_start, replayed
from tidegate.bench.adjust.sizes import SIZES, Sizes
from tidegate.bench.adjust.switching import Interval, Switching, planned
from tidegate.bench.parts import run_parts
from tidegate.bench.report import Report, Scale
from tidegate.errors import ConfigError

__all__ = ["plot", "run"]


def run(
    scale: Scale,
    seed: int = 1,
    posts: Path | None = None,
    progress: Progress | None = None,
    sizes: Sizes | None = None,
) -> Report:
    """Run everything at `scale` (or of these `sizes`); raise `TidegateError` at a wrong answer.

    Posts and queries are generated: a file of `posts` is refused. How far the run has come is shown by `progress`, or
    by a bar of its own on the standard error.
    """
    if posts is not None:
        raise ConfigError(
            f"benchmark 'adjust' takes no posts, and {posts.name} was given: its own wander over the days"
        )
    sizes = sizes or SIZES[scale]
    report = Report("adjust", scale, {"seed": seed, **asdict(sizes)})
    count = len(sizes.queries) * len(WAYS) + sizes.intervals + 1
    run_parts(_parts(report, sizes, seed), "Figures 12 to 15: GR", count, progress)
    return report


def _parts(report: Report, sizes: Sizes, seed: int) -> Iterator[str]:
    """Do one part after the other; yield the name of the next before it begins."""
    first: dict[str, Replayed] = {}
    for queries in sizes.queries:
        days = Days.draw(queries, sizes, seed)
        plan = planned(days.pool, days.arrivals.placed.only(days.standing), sizes)
        start = balanced_start(days, sizes, plan)
        others = tuple(name for name in WAYS if name != "GR")
        replays = {"GR": replayed(Asked("GR", others), days, sizes, start)}
        for name in others:
            yield f"Figures 12 to 15: {queries:,} queries, {name}"
            replays[name] = replayed(Asked(name), days, sizes, start)
        report_replays(report, queries, sizes, replays)
        first = first or replays
        yield "Figures 12 to 16"
    switching = Switching.draw(sizes, seed)
    intervals: list[Interval] = []
    for interval in switching.intervals():
        intervals.append(interval)
        yield f"Figure 16: interval {interval.number} of {sizes.intervals} done"
    report_switching(report, sizes, intervals)
    summarise(report, first, intervals)
