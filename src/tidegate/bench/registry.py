"""Every benchmark by name, and how one is run, shown and written."""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from rich.console import Console

from tidegate.bench import index, pipeline, text
from tidegate.bench.report import Report, Scale, scale_named
from tidegate.bench.stored import check_stored
from tidegate.errors import ConfigError

Run = Callable[[Scale, int, Path | None], Report]


@dataclass(frozen=True)
class Bench:
    """A benchmark, and how its figures are drawn if they can be."""

    run: Run
    plot: Callable[[Report, Path], None] | None = None
    shows_progress: bool = False
    needs: tuple[str, ...] = ()
    """Modules of the extra `bench` that it imports."""


BENCHES = {
    "text": Bench(text.run),
    "index": Bench(index.run, index.plot, shows_progress=True, needs=("duckdb", "perq")),
    "pipeline": Bench(pipeline.run, shows_progress=True, needs=("duckdb",)),
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
) -> Report:
    """Run the benchmark called `name`, print its tables, and write what was asked for."""
    if name not in BENCHES:
        raise ConfigError(f"no benchmark is called {name!r}: choose one of {', '.join(BENCHES)}")
    bench = BENCHES[name]
    size = scale_named(scale)
    _check_paths(name, bench, json_path, plot_path, posts)
    needed = (*bench.needs, *(("matplotlib",) if plot_path else ()))
    missing = [module for module in needed if find_spec(module) is None]
    if missing:
        raise ConfigError(f"benchmark {name!r} needs {', '.join(missing)}: pip install 'tidegate[bench]'")
    with nullcontext() if bench.shows_progress else Console(stderr=True).status(f"benchmark {name}, scale {scale}"):
        report = bench.run(size, seed, posts)
    report.show(console)
    if json_path is not None:
        report.write_json(json_path)
    if plot_path is not None and bench.plot is not None:
        bench.plot(report, plot_path)
    return report


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
