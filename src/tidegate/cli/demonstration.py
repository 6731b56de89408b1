"""`tidegate demo`: a stream of generated posts against generated subscriptions, in this process."""

import time
from collections import Counter

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from rich.text import Text

from tidegate.cli.explanation import marked
from tidegate.index.found import Found
from tidegate.index.matcher import Matcher
from tidegate.workload.posts import posts as generated_posts
from tidegate.workload.searches import saved_searches

_BATCH = 10_000
_SHOWN = 8
_SIGNS = (" OR ", "-", '"', "*", "#", "@", "from:", "in:", "near:")  # by which forms of queries are told apart


def demonstrate(console: Console, n_subscriptions: int, n_posts: int, seed: int) -> None:
    """Register, match, and show what matched, why, and how fast."""
    with console.status("getting ready (a first run compiles for some seconds)"):
        matcher = Matcher()
        matcher.match(generated_posts(1, seed))
    _register(console, matcher, saved_searches(n_subscriptions, seed))
    stream = generated_posts(n_posts, seed + 1)
    with console.status("compiling what phrases and places need"):
        matcher.match(stream.slice(0, 1))
    popular: Counter[int] = Counter()
    n_matches, n_queries, seconds = 0, 0, 0.0
    with Progress(console=console, transient=True) as progress:
        task = progress.add_task("matching posts", total=n_posts)
        for start in range(0, n_posts, _BATCH):
            batch = stream.slice(start, _BATCH)
            begun = time.perf_counter()
            found = matcher.match(batch)
            n_matches += len(found.subscriptions.values)
            seconds += time.perf_counter() - begun
            n_queries += len(found.queries.values)
            numbers, counts = np.unique(found.queries.values, return_counts=True)
            popular.update(dict(zip(numbers.tolist(), counts.tolist(), strict=True)))
            if start == 0:
                _show_matches(progress.console, matcher, found)
            progress.advance(task, batch.num_rows)
    _show_popular(console, matcher, popular)
    console.print(
        f"[bold]{n_posts:,}[/] posts against [bold]{len(matcher):,}[/] subscriptions ({matcher.n_queries:,} distinct"
        f" queries): [bold]{n_matches:,}[/] matches of {n_queries:,} distinct queries in {seconds:.1f} s,"
        f" [bold]{n_posts / seconds:,.0f}[/] posts a second on one core"
    )
    matcher.close()


def _register(console: Console, matcher: Matcher, searches: pa.Table) -> None:
    begun = time.perf_counter()
    refused = 0
    with Progress(console=console, transient=True) as progress:
        task = progress.add_task("registering subscriptions", total=searches.num_rows)
        for start in range(0, searches.num_rows, _BATCH):
            batch = searches.slice(start, _BATCH)
            ids = [str(number) for number in batch["id"].to_pylist()]
            refusals = matcher.subscribe_many(ids, batch["query"].to_pylist())
            for refusal in refusals[: max(0, 3 - refused)]:
                progress.console.print(Text(f"refused: {refusal.error}", "yellow"))
            refused += len(refusals)
            progress.advance(task, batch.num_rows)
    matcher.merge()
    seconds = time.perf_counter() - begun
    console.print(
        f"registered [bold]{len(matcher):,}[/] subscriptions in {seconds:.1f} s, {refused:,} refused;"
        f" they ask {matcher.n_queries:,} distinct queries"
    )


def _show_matches(console: Console, matcher: Matcher, found: Found) -> None:
    """Print the first match of each form of query that the batch has."""
    table = Table("post", "query", title="Some matches, and why", title_justify="left", show_lines=True)
    shown: set[tuple[str, ...]] = set()
    for row in range(found.queries.rows):
        if len(shown) == _SHOWN:
            break
        for query in found.queries.row(row).tolist():
            canonical = matcher.canonical(query)
            form = tuple(sign for sign in _SIGNS if sign in canonical)
            if form not in shown:
                shown.add(form)
                post = found.post(row)
                reason = matcher.why(query, post)
                table.add_row(marked(post.text, reason) if reason else post.text, Text(canonical))
                break
    console.print(table)


def _show_popular(console: Console, matcher: Matcher, popular: Counter[int]) -> None:
    table = Table("query", "posts", title="Queries that matched most", title_justify="left")
    for query, n_posts in popular.most_common(5):
        table.add_row(Text(matcher.canonical(query)), f"{n_posts:,}")
    console.print(table)
