"""Benchmark `overlay`: PolderCast beside Scribe (Figures 3.4 to 3.11 and Table 3.1 of the thesis).

How soon rings are complete, how far and how often events go, what keeping the overlay takes, and who misses events
while peers come and go; and what a fan-out that adapts saves.
"""

import resource
from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path

from rich.progress import Progress

from tidegate.bench.overlay.adaptive import report_adaptive
from tidegate.bench.overlay.churned import report_churn
from tidegate.bench.overlay.comparison import Found, report_table, summarise
from tidegate.bench.overlay.convergence import report_by_follows, report_by_size, report_convergence, report_degrees
from tidegate.bench.overlay.most import report_most
from tidegate.bench.overlay.plots import plot
from tidegate.bench.overlay.scene import Graph, graphs_of, settled_forest
from tidegate.bench.overlay.sizes import SIZES, Sizes
from tidegate.bench.overlay.spread import events_of, report_events, report_neighbours
from tidegate.bench.overlay.upkeep import report_relays, report_upkeep
from tidegate.bench.overlay.weather import check_length
from tidegate.bench.parts import run_parts
from tidegate.bench.report import Report, Scale
from tidegate.errors import ConfigError
from tidegate.overlay.poldercast.ringcast import BY_BOTH

__all__ = ["plot", "run"]
_PARTS = 6


def run(
    scale: Scale,
    seed: int = 1,
    posts: Path | None = None,
    progress: Progress | None = None,
    sizes: Sizes | None = None,
    graph: Path | None = None,
    churn: Path | None = None,
    latency: Path | None = None,
    mutual: bool = False,
) -> Report:
    """Run everything at `scale` (or of these `sizes`).

    Graphs, churn and latencies are generated. A real `graph` (Parquet: `src` follows `dst`, and if `mutual` the other
    way around, too) is run besides; `churn` (`node`, `start_s`, `end_s`), tiled to as many peers as there are, and
    `latency` (`src`, `dst`, `rtt_ms`) instead.
    """
    if posts is not None:
        raise ConfigError(f"benchmark 'overlay' takes no posts, and {posts.name} was given: leave --posts out")
    sizes = sizes or SIZES[scale]
    if churn is not None:
        check_length(churn, sizes)
    files = {"graph_file": graph, "churn_file": churn, "latency_file": latency}
    names = {name: path.name if path else None for name, path in files.items()}
    report = Report("overlay", scale, {"seed": seed, **names, "mutual": mutual, **asdict(sizes)})
    graphs = partial(graphs_of, sizes, seed, graph, mutual=mutual)
    run_parts(_parts(report, sizes, seed, graphs, churn, latency), "follow graphs", _PARTS, progress)
    return report


def _parts(
    report: Report,
    sizes: Sizes,
    seed: int,
    drawn: Callable[[], list[Graph]],
    churn: Path | None,
    latency: Path | None,
) -> Iterator[str]:
    """Do one part after the other; yield the name of the next before it begins."""
    graphs = drawn()
    report_degrees(report, graphs)
    if sizes.most_peers:
        # First: the memory that a process has taken at most is told once for all of it.
        report_most(report, sizes, seed)
    yield "rings become complete"
    swarms, slower = report_convergence(report, graphs, sizes, seed)
    report_by_follows(report, sizes, seed)
    report_by_size(report, graphs, swarms)
    yield "events"
    forest = settled_forest(graphs[0].topics, seed)
    swarm = swarms[0].swarm
    report_neighbours(report, graphs, swarms, forest)
    ways, scribe, direct = report_events(report, swarm, forest, sizes)
    hits = [events_of(one.swarm, 2, BY_BOTH, sizes.rounds).hit_ratio for one in swarms]
    yield "upkeep"
    upkeep = report_upkeep(report, swarm, forest, sizes)
    report_relays(report, sizes, seed)
    yield "churn"
    churned = report_churn(report, sizes, seed, churn, latency)
    yield "fan-outs"
    targets = report_adaptive(report, sizes, seed, churn, latency)
    found = Found(
        swarm,
        forest,
        ways,
        scribe,
        direct,
        hits,
        [one.to_99 for one in swarms[:2]],
        slower,
        upkeep,
        churned,
        targets,
        min(one.node_cycles_per_s for one in swarms),
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9,
    )
    report_table(report, found)
    summarise(report, found)
    yield "done"
