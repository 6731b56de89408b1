"""Benchmark `spatial`: words and places, on one core and shared out over matchers (PS²Stream, Figures 6 to 11).

Whatever is timed has to find the same matches: a wrong answer ends the run.
"""

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from rich.progress import Progress

from tidegate.bench.parts import run_parts
from tidegate.bench.report import Report, Scale
from tidegate.bench.spatial.claims import report_claims
from tidegate.bench.spatial.contest import Trials, report_contest
from tidegate.bench.spatial.memory import report_memory
from tidegate.bench.spatial.one_core import report_one_core
from tidegate.bench.spatial.plots import plot
from tidegate.bench.spatial.sizes import KINDS, SIZES, Sizes
from tidegate.bench.spatial.world import Generated, Stored, World

__all__ = ["plot", "run"]


def run(
    scale: Scale,
    seed: int = 1,
    objects: Path | None = None,
    progress: Progress | None = None,
    sizes: Sizes | None = None,
) -> Report:
    """Run everything at `scale` (or of these `sizes`); raise `TidegateError` at a wrong answer.

    `objects`, a Parquet file with columns `text`, `lat` and `lon`, gives real posts instead of generated ones. How far
    the run has come is shown by `progress`, or by a bar of its own on the standard error.
    """
    sizes = sizes or SIZES[scale]
    report = Report(
        "spatial", scale, {"seed": seed, "objects_file": objects.name if objects else None, **asdict(sizes)}
    )
    worlds = 1 if objects else len(sizes.countries)
    parts = 1 + len(KINDS) * (1 + worlds + bool(sizes.scaled)) + len(sizes.held)
    run_parts(_parts(report, sizes, seed, objects), "posts", parts, progress)
    return report


def _parts(report: Report, sizes: Sizes, seed: int, objects: Path | None) -> Iterator[str]:
    """Do one part after the other; yield the name of the next before it begins."""
    worlds: list[World]
    if objects is not None:
        worlds = [Stored.read(objects, seed)]
    else:
        worlds = [Generated.of(country, seed) for country in sizes.countries]
    yield from report_one_core(report, worlds[0], sizes, seed)
    yield from report_memory(report, worlds[0], sizes.held, seed)
    trials = Trials()
    for world in worlds:
        scaled = sizes.scaled if world is worlds[0] else ()
        yield from report_contest(report, world, trials, sizes, seed, scaled)
    report_claims(report, trials, [world.name for world in worlds], sizes)
