"""`tidegate demo`: the main job for a minute, with a synthetic microblog and subscribers who come and go.

One of them draws a rectangle on a map.
"""

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread

import pyarrow as pa
from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from tidegate.cli.explanation import marked
from tidegate.cli.interests import interests
from tidegate.cli.map_visitor import MapVisitor
from tidegate.errors import ConfigError
from tidegate.query.parse import parse
from tidegate.query.reason import explain
from tidegate.query.semantics import PostView
from tidegate.spark.job import Job, run_job
from tidegate.spark.metrics import Figures
from tidegate.spark.run import Settings
from tidegate.store.location import Location
from tidegate.store.match_table import MatchTable
from tidegate.store.store import Store
from tidegate.text.analyzer import Analyzer

_SHOWN = 8
_SIGNS = (" OR ", "-", '"', "*", "#", "@", "from:", "in:", "near:")  # by which forms of queries are told apart
_MARK = ".tidegate-demo"
_CHANGES_PER_S = 20
_EVERY_S = 5.0


@dataclass(frozen=True)
class Demo:
    """What is demonstrated."""

    folder: Path
    subscriptions: int
    posts_per_s: int
    seconds: float | None
    """How long the stream runs; None: until it is stopped."""
    seed: int

    @property
    def span(self) -> str:
        """How long that is, in words."""
        return "until it is stopped" if self.seconds is None else f"for {self.seconds:.0f} s"


def demonstrate(console: Console, demo: Demo) -> None:
    """Subscribe, stream, match, and show what matched, why, and how fast."""
    store, asked = stocked(console, demo)
    job = Job(
        posts=f"microblog:?seed={demo.seed}&rowsPerSecond={demo.posts_per_s}",
        matches=f"delta:{demo.folder / 'matches'}",
        store=store,
        settings=Settings(checkpoint=str(demo.folder / "checkpoint")),
        seconds=demo.seconds,
        from_first_posts=True,
    )
    console.print(f"starting Spark; the stream runs {demo.span}")
    visitors, on_map = _Visitors(store, asked), MapVisitor(store)

    def show(figures: Figures) -> None:
        board(figures)
        if figures.total.posts:  # they are flowing: what is drawn now is matched from the next batch on
            on_map.draw()

    with _board(console, visitors) as board, visitors:
        figures = run_job(job, show, lambda _: None)
    matches = MatchTable(Location.of(demo.folder / "matches"))
    _show_matches(console, store, matches)
    on_map.show(console, matches)
    _show_summary(console, demo, figures, visitors, store.subscriptions().num_rows)


def stocked(console: Console, demo: Demo) -> tuple[Store, pa.Table]:
    """A store in an empty folder, with generated subscriptions; and these."""
    _make_room(demo.folder)
    with console.status("making up subscriptions (a first run compiles for some seconds)"):
        asked = interests(demo.subscriptions, demo.seed)
    store = Store.open(demo.folder / "subscriptions")
    with console.status("storing and indexing them"):
        begun = time.perf_counter()
        store.apply(asked)
        store.opener.cover(store.version, store.plans.newest())
    console.print(f"{asked.num_rows:,} subscriptions stored and indexed in {time.perf_counter() - begun:.1f} s")
    return store, asked


class _Visitors:
    """People who subscribe and leave again while the stream runs. One change is one call, durable when it returns."""

    def __init__(self, store: Store, asked: pa.Table) -> None:
        self._store = store
        self._queries = asked.column("query").slice(0, 1_000).to_pylist()
        self._there: list[str] = []
        self._stop = Event()
        self._thread = Thread(target=self._come_and_go, name="visitors", daemon=True)
        self.came = self.left = 0

    def __enter__(self) -> "_Visitors":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _come_and_go(self) -> None:
        while not self._stop.wait(1 / _CHANGES_PER_S):
            query = self._queries[self.came % len(self._queries)]
            self._there.append(self._store.subscribe(f"visitor{self.came}", query))
            self.came += 1
            if self.came % 2 == 0:
                self._store.unsubscribe(self._there.pop(0))
                self.left += 1


@contextmanager
def _board(console: Console, visitors: _Visitors) -> Iterator["_Board"]:
    with Live(console=console, refresh_per_second=4, transient=False) as live:
        yield _Board(console, live if console.is_terminal else None, visitors)


class _Board:
    """The live table: on a terminal it is written over, elsewhere a line is added now and then."""

    def __init__(self, console: Console, live: Live | None, visitors: _Visitors) -> None:
        self._console, self._live, self._visitors = console, live, visitors
        self._told = time.monotonic()

    def __call__(self, figures: Figures) -> None:
        rows = list(self._rows(figures))
        if self._live is not None:
            table = Table(title="Tidegate", title_justify="left", show_header=False)
            for name, value in rows:
                table.add_row(name, value)
            self._live.update(table)
        elif figures.batches and time.monotonic() - self._told >= _EVERY_S:
            self._told = time.monotonic()
            self._console.print(" · ".join(f"{name} {value}" for name, value in rows), soft_wrap=True)

    def _rows(self, figures: Figures) -> Iterator[tuple[str, str]]:
        progress = figures.progress
        # A rate is over the time from one batch to the next, which is what a trigger leaves of it.
        seconds = max(progress.seconds, 1.0) if progress else None
        yield "batch", f"{figures.batch:,}"
        yield "posts", f"{figures.total.posts:,}"
        yield "posts/s", "–" if seconds is None else f"{figures.last.posts / seconds:,.0f}"
        yield "matches", f"{figures.total.matches:,}"
        yield "matches/s", "–" if seconds is None else f"{figures.last.matches / seconds:,.0f}"
        yield "lag", "–" if progress is None or progress.lag is None else f"{progress.lag.waiting:,} posts"
        yield "latency", "–" if figures.latency_s is None else f"{figures.latency_s:.2f} s"
        yield "came and left", f"{self._visitors.came:,} and {self._visitors.left:,}"


def _show_matches(console: Console, store: Store, matches: MatchTable) -> None:
    """Print a match of each form of query that there is among some."""
    analyzer = Analyzer()
    rows = matches.sample(5_000)
    ids = rows.column("subscription").combine_chunks().unique()
    queries = store.table.newest(ids, store.version, ["id", "query"])
    query_of = dict(zip(queries.column("id").to_pylist(), queries.column("query").to_pylist(), strict=True))
    table = Table("post", "subscriber", "query", title="Some matches, and why", title_justify="left", show_lines=True)
    shown: set[tuple[str, ...]] = set()
    for row in rows.to_pylist():
        query = query_of.get(row["subscription"])
        if query is None:
            continue  # a visitor who has left
        form = tuple(sign for sign in _SIGNS if sign in query)
        if form in shown or len(shown) == _SHOWN:
            continue
        shown.add(form)
        post = PostView(row["text"], row["author"], row["lang"], row["lat"], row["lon"])
        reason = explain(parse(query, analyzer), post, analyzer)
        table.add_row(marked(post.text, reason) if reason else post.text, row["subscriber"], Text(query))
    console.print(table)


def _show_summary(console: Console, demo: Demo, figures: Figures, visitors: _Visitors, living: int) -> None:
    total = figures.total
    console.print(
        f"[bold]{total.posts:,}[/] posts against [bold]{living:,}[/] subscriptions in {figures.batches:,} batches:"
        f" [bold]{total.matches:,}[/] matches; {visitors.came:,} subscriptions were made and {visitors.left:,} removed"
        " meanwhile",
        soft_wrap=True,
    )
    console.print(
        f"matches: {demo.folder / 'matches'} (a Delta table)\nsubscriptions: {demo.folder / 'subscriptions'}"
        f"\nlook around: tidegate status --store {demo.folder / 'subscriptions'}",
        soft_wrap=True,
        highlight=False,
    )


def _make_room(folder: Path) -> None:
    """Start from nothing, but never remove what is not a demonstration's."""
    if folder.exists() and any(folder.iterdir()):
        if not (folder / _MARK).exists():
            raise ConfigError(f"{folder} is not empty: name another folder by --into")
        shutil.rmtree(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / _MARK).touch()
