"""Every benchmark by name, and how one is run, shown and written."""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from rich.console import Console

from tidegate.bench import (
    adjust,
    delivery,
    drift,
    index,
    overlay,
    pipeline,
    provision,
    rank,
    route,
    satisfaction,
    shed,
    spatial,
    text,
    workload,
)
from tidegate.bench.report import Report, scale_named
from tidegate.bench.stored import check_stored
from tidegate.errors import ConfigError
from tidegate.overlay.swarm.latency import check_latency
from tidegate.overlay.swarm.sessions import check_sessions
from tidegate.workload.follows import check_graph

Run = Callable[..., Report]
"""Called with a scale, a seed, and a file of posts or None; and with `plans`, `mutual`, or files by name, if it takes
them."""


@dataclass(frozen=True)
class Bench:
    """A benchmark, and how its figures are drawn if they can be."""

    run: Run
    plot: Callable[[Report, Path], None] | None = None
    shows_progress: bool = False
    needs: tuple[str, ...] = ()
    """Modules of the extra `bench` that it imports."""
    takes_plans: bool = False
    takes_graph: bool = False
    takes_mutual: bool = False
    """Whether it can be told that a graph has each friendship once."""
    takes_churn: bool = False
    """And latencies."""


BENCHES = {
    "text": Bench(text.run),
    "index": Bench(index.run, index.plot, shows_progress=True, needs=("duckdb", "perq")),
    "pipeline": Bench(pipeline.run, shows_progress=True, needs=("duckdb",), takes_plans=True),
    "route": Bench(route.run, route.plot, shows_progress=True),
    "drift": Bench(drift.run, drift.plot, shows_progress=True),
    "shed": Bench(shed.run, shed.plot),
    "spatial": Bench(spatial.run, spatial.plot, shows_progress=True),
    "adjust": Bench(adjust.run, adjust.plot, shows_progress=True),
    "rank": Bench(rank.run, rank.plot, shows_progress=True, takes_graph=True),
    "workload": Bench(workload.run, workload.plot, shows_progress=True),
    "satisfaction": Bench(satisfaction.run, satisfaction.plot),
    "provision": Bench(provision.run, provision.plot),
    "overlay": Bench(
        overlay.run, overlay.plot, shows_progress=True, takes_graph=True, takes_mutual=True, takes_churn=True
    ),
    "delivery": Bench(delivery.run, shows_progress=True, needs=("pgserver",)),
}
_PICTURES = (".png", ".svg", ".pdf")


def run_bench(
    console: Console,
    name: str,
    scale: str,
    seed: int,
    *,
    json_path: Path | None = None,
    plot_path: Path | None = None,
    posts: Path | None = None,
    plans: tuple[str, ...] = (),
    graph: Path | None = None,
    churn: Path | None = None,
    latency: Path | None = None,
    mutual: bool = False,
) -> Report:
    """Run the benchmark called `name`, print its tables, and write what was asked for."""
    if name not in BENCHES:
        raise ConfigError(f"no benchmark is called {name!r}: choose one of {', '.join(BENCHES)}")
    bench = BENCHES[name]
    size = scale_named(scale)
    _check_paths(name, bench, json_path, plot_path, posts)
    if plans and not bench.takes_plans:
        raise ConfigError(f"benchmark {name!r} does not choose between plans: leave --plan out")
    _check_files(name, bench, graph, churn, latency)
    _check_mutual(name, bench, graph, mutual=mutual)
    needed = (*bench.needs, *(("matplotlib",) if plot_path else ()))
    missing = [module for module in needed if find_spec(module) is None]
    if missing:
        raise ConfigError(f"benchmark {name!r} needs {', '.join(missing)}: pip install 'tidegate[bench]'")
    with nullcontext() if bench.shows_progress else Console(stderr=True).status(f"benchmark {name}, scale {scale}"):
        given = {"plans": plans, "graph": graph, "churn": churn, "latency": latency, "mutual": mutual}
        report = bench.run(size, seed, posts, **{what: value for what, value in given.items() if value})
    report.show(console)
    if json_path is not None:
        report.write_json(json_path)
    if plot_path is not None and bench.plot is not None:
        bench.plot(report, plot_path)
    return report


def _check_files(name: str, bench: Bench, graph: Path | None, churn: Path | None, latency: Path | None) -> None:
    """Refuse files that it has no use for, or could not read."""
    if graph is not None:
        if not bench.takes_graph:
            raise ConfigError(f"benchmark {name!r} has no use for who follows whom: leave --graph out")
        check_graph(graph)
    if not bench.takes_churn and (churn is not None or latency is not None):
        raise ConfigError(f"benchmark {name!r} has no peers that come and go: leave --churn and --latency out")
    if churn is not None:
        check_sessions(churn)
    if latency is not None:
        check_latency(latency)


def _check_mutual(name: str, bench: Bench, graph: Path | None, *, mutual: bool) -> None:
    if mutual and not bench.takes_mutual:
        raise ConfigError(f"benchmark {name!r} reads no friendships: leave --mutual out")
    if mutual and graph is None:
        raise ConfigError("--mutual: it is for a graph in a file, so leave it out or give one to --graph")


def _check_paths(name: str, bench: Bench, json_path: Path | None, plot_path: Path | None, posts: Path | None) -> None:
    """Refuse now what would fail when the run is over."""
    for path in (json_path, plot_path):
        if path is not None and not path.absolute().parent.is_dir():
            raise ConfigError(f"{path}: there is no folder {path.absolute().parent} to write to")
        if path is not None and path.is_dir():
            raise ConfigError(f"{path}: this is a folder; name a file in it")
    if plot_path is not None and bench.plot is None:
        raise ConfigError(f"benchmark {name!r} has no figures to draw: leave --plot out")
    if plot_path is not None and plot_path.suffix not in _PICTURES:
        raise ConfigError(f"{plot_path}: a picture's name ends in one of {', '.join(_PICTURES)}")
    if posts is not None:
        check_stored(posts)
