"""Benchmark `delivery`: what the inbox takes, live feeds held, a post's way from end to end, and what kills leave.

What is in a database or came by a feed is compared with what plain Python says has to be: a wrong answer ends the run.
"""

import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from itertools import count
from pathlib import Path

from rich.progress import Progress

from tidegate.bench.delivery import feeds, inbox
from tidegate.bench.delivery.end_to_end import report_end_to_end
from tidegate.bench.delivery.feeds import report_feeds
from tidegate.bench.delivery.inbox import report_inbox
from tidegate.bench.delivery.kills import report_kills
from tidegate.bench.delivery.matches import Matches
from tidegate.bench.delivery.server import postgres_server
from tidegate.bench.delivery.site import running_site
from tidegate.bench.delivery.sizes import SIZES, Sizes
from tidegate.bench.parts import run_parts
from tidegate.bench.report import Report, Scale
from tidegate.errors import ConfigError

__all__ = ["run"]


def run(
    scale: Scale,
    seed: int = 1,
    posts: Path | None = None,
    progress: Progress | None = None,
    sizes: Sizes | None = None,
) -> Report:
    """Run everything at `scale` (or of these `sizes`); raise `TidegateError` at a wrong answer.

    Matches are drawn: a file of `posts` is refused. How far the run has come is shown by `progress`, or by a bar of its
    own on the standard error.
    """
    if posts is not None:
        raise ConfigError(f"benchmark 'delivery' takes no posts, and {posts.name} was given: its matches are drawn")
    sizes = sizes or SIZES[scale]
    report = Report("delivery", scale, {"seed": seed, **asdict(sizes)})
    with tempfile.TemporaryDirectory(prefix="tidegate-bench-") as folder:
        run_parts(_parts(report, sizes, seed, Path(folder)), "inbox: SQLite", 4 + len(sizes.feed_databases), progress)
    return report


def _parts(report: Report, sizes: Sizes, seed: int, folder: Path) -> Iterator[str]:
    """Do one part after the other; yield the name of the next before it begins."""
    matches, numbers = Matches(sizes, seed), count()
    rows = [report_inbox(report, "SQLite", lambda: f"sqlite:///{folder}/{next(numbers)}.db", matches)]
    yield "inbox: PostgreSQL"
    with postgres_server() as server:
        rows.append(report_inbox(report, "Postgres", server.database, matches))
        report.section(inbox.TITLE, rows, inbox.NOTE)
        rows = []
        for kind in sizes.feed_databases:
            yield f"live feeds: {kind}"
            place = _new(folder / f"feeds-{kind}")
            url = f"sqlite:///{place}/inbox.db" if kind == "SQLite" else server.database()
            rows += report_feeds(report, kind, place, url, sizes, seed)
        report.section(feeds.TITLE, rows, feeds.NOTE)
        yield "end to end"
        with running_site(_new(folder / "site"), server, sizes.trigger, sizes.listeners, seed) as site:
            report_end_to_end(report, site, sizes.timed_posts, seed)
            yield "kills"
            report_kills(report, site, sizes.kills, seed)


def _new(folder: Path) -> Path:
    folder.mkdir()
    return folder
