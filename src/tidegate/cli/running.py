"""`tidegate run`: the main job, and how it fares on one line."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import inf
from pathlib import Path
from typing import get_args

from rich.console import Console
from rich.markup import escape
from rich.status import Status

from tidegate.cli.options import seconds
from tidegate.cli.status import of_offloading, of_ranks
from tidegate.deliver.ends import Address
from tidegate.errors import ConfigError
from tidegate.route.costs import Cluster
from tidegate.route.shedding import By
from tidegate.spark.job import Job, run_job
from tidegate.spark.metrics import Figures
from tidegate.spark.offload import OVERLAY, OffloadSettings
from tidegate.spark.peers import PeerSettings

# Where nobody watches, a log is written, and that need not be longer than it is useful.
_EVERY_S = 5.0


def run(console: Console, job: Job) -> None:
    """Run a job, show how it fares, and say at the end what it has done."""
    with _line(console) as line:
        figures = run_job(job, line.show, line.say)
    total = figures.total
    matches = f"{total.matches:,} matches"
    if job.ranking is not None:
        matches = ", ".join([f"{matches} to rank", *of_ranks(figures.ranked_total)])
    console.print(
        f"stopped after {figures.batches:,} batches: {total.posts:,} posts, {matches}, {total.dead:,} dead letters; "
        f"the {'matches' if job.ranking is None else 'windows'} are in {escape(job.matches)}",
        soft_wrap=True,
    )


def names(text: str | None) -> tuple[str, ...] | None:
    """Read names of columns, separated by commas; None is all of them."""
    return None if text is None else tuple(name.strip() for name in text.split(","))


def cluster(matchers: int, per_host: int, host_memory: float | None) -> Cluster:
    """Read what a plan is for; memory in GB, and None for as much as it takes."""
    return Cluster(matchers, per_host, inf if host_memory is None else host_memory * 1e9)


def shedding(text: str) -> By:
    """Read by what visits are judged when some are given up."""
    for by in get_args(By):
        if text == by:
            return by  # type: ignore[no-any-return]
    raise ConfigError(f"no shedding goes by {text!r}: choose one of {', '.join(get_args(By))}")


def offloading(
    to: str | None,
    capacity: int | None,
    window: str,
    satisfied_by: int,
    goal: str,
    by: str | None,
    peers: PeerSettings | None = None,
) -> OffloadSettings | None:
    """Read what is told in real time; None: everything."""
    if to is None and capacity is not None:
        raise ConfigError(f"a live capacity of {capacity:,} limits nothing yet: say by --offload where the rest goes")
    if to is None:
        return None
    if capacity is None:
        raise ConfigError("to offload, say by --live-capacity how many notifications can be told live in a window")
    if peers is not None and to != OVERLAY:
        raise ConfigError(f"peers are named, and what is offloaded goes to the {to}: write --offload {OVERLAY}")
    return OffloadSettings(to, capacity, seconds(window), satisfied_by, goal, by, peers)


def peers(
    join: Sequence[str] | None, key_file: Path | None, listen: str, advertise: str | None, *, only: bool
) -> PeerSettings | None:
    """Read by whom a job joins the overlay; None: it does not. A key that is not there is refused now."""
    if not join:
        return None
    what = "place of a peer"
    read = PeerSettings(
        tuple(Address.parse(one, what=what) for one in join),
        key_file,
        Address.parse(listen, what=what, least=0),
        None if advertise is None else Address.parse(advertise, what=what, least=0),
        only,
    )
    read.node()
    return read


def settings(pairs: Sequence[str]) -> dict[str, str]:
    """Read settings of Spark, each as `name=value`."""
    read = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.startswith("spark."):
            raise ConfigError(f"{pair!r} is no setting of Spark: write spark.name=value")
        read[name] = value
    return read


def told(figures: Figures) -> str:
    """How a job fares, on one line; what is not known is left out."""
    progress, total = figures.progress, figures.total
    rate = "" if progress is None or progress.processed_per_s is None else f" ({progress.processed_per_s:,.0f}/s)"
    parts = [f"batch {figures.batch:,}", f"{total.posts:,} posts{rate}", f"{total.matches:,} matches"]
    if figures.candidates_per_post is not None:
        parts.append(f"{figures.candidates_per_post:,.1f} candidates a post")
    parts += of_ranks(figures.ranked_total) if figures.ranked else []
    parts += [of_offloading(figures.offloading)] if figures.offloading else []
    parts += [f"{count:,} {name}" for count, name in ((total.dead, "dead letters"), (total.shed, "shed")) if count]
    if progress is not None:
        if progress.lag is not None:
            parts.append(f"lag {progress.lag.waiting:,} {progress.lag.unit}")
        parts.append(f"{progress.seconds:.2f} s a batch")
    if figures.latency_s is not None:
        parts.append(f"latency up to {figures.latency_s:.2f} s")
    return " · ".join(parts)


class _Line:
    """A line that is written over and over on a terminal, and now and then elsewhere."""

    def __init__(self, console: Console, status: Status | None) -> None:
        self._console, self._status = console, status
        self._shown, self._batch = time.monotonic(), -1

    def show(self, figures: Figures) -> None:
        if self._status is not None:
            self._status.update(told(figures) if figures.batch >= 0 else "waiting for the first batch")
        elif figures.batch != self._batch and time.monotonic() - self._shown >= _EVERY_S:
            self._shown, self._batch = time.monotonic(), figures.batch
            self.say(told(figures))

    def say(self, text: str) -> None:
        self._console.print(escape(text), soft_wrap=True, highlight=False)


@contextmanager
def _line(console: Console) -> Iterator[_Line]:
    if console.is_terminal:
        with console.status("starting Spark") as status:
            yield _Line(console, status)
    else:
        yield _Line(console, None)
