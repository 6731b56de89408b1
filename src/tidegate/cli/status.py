"""`tidegate status`: a store, its jobs, and what was set aside, as a person reads it."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tidegate.spark.sources.feed_state import FeedStatus, feed_status
from tidegate.store.status import describe, store_status
from tidegate.store.store import Store


def status_of(store: Store, letters: int, feeds: Path | None) -> dict[str, Any]:
    """All that is known, as plain values."""
    about = describe(store_status(store, letters))
    if feeds is not None:
        about["feeds"] = [_feed(feed) for feed in feed_status(feeds)]
    return about


def show_status(console: Console, about: dict[str, Any]) -> None:
    """Print what `status_of` has found."""
    plan, count = about["plan"], about["subscriptions"]
    matchers = f" over {plan['matchers']} matchers" if plan["kind"] != "replicate" else ""
    console.print(Text.assemble(("store          ", "bold"), f"{about['store']}, version {about['version']}"))
    console.print(
        Text.assemble(("subscriptions  ", "bold"), f"{count['count']:,}", _as_of(count["version"], about["version"]))
    )
    console.print(Text.assemble(("plan           ", "bold"), f"{plan['kind']}{matchers}, version {plan['version']}"))
    if about["segments"]:
        table = Table("segments", "of versions", "subscriptions", "size")
        for number, level in enumerate(about["segments"]):
            name = "main" if number == 0 else f"tail {number}"
            table.add_row(
                name, f"{level['since']} to {level['until']}", f"{level['subscriptions']:,}", _bytes(level["bytes"])
            )
        console.print(table)
    _show_jobs(console, about["jobs"])
    _show_letters(console, about["dead_letters"])
    for feed in about.get("feeds", ()):
        health = "well" if not feed["failures"] else f"{feed['failures']} failures, the last: {feed['error']}"
        console.print(Text.assemble(("feed           ", "bold"), f"{feed['url']}: {health}"))


def _show_jobs(console: Console, jobs: list[dict[str, Any]]) -> None:
    if not jobs:
        console.print(Text.assemble(("jobs           ", "bold"), "none has run"))
        return
    table = Table("job", "state", "batch", "posts", "matches", "dead", "lag", "latency")
    for job in jobs:
        figures, total = job["figures"], job["figures"]["total"]
        lag = figures.get("lag")
        table.add_row(
            Text(f"{job['run'][:8]} {job['posts']} → {job['matches']}"),
            _state(job),
            str(job["batch"]),
            f"{total['posts']:,}",
            f"{total['matches']:,}",
            f"{total['dead']:,}",
            f"{lag['waiting']:,} {lag['unit']}" if lag else "",
            f"{figures['latency_s']:.2f} s" if "latency_s" in figures else "",
        )
    console.print(table)
    for job in jobs:
        console.print(Text.assemble((f"{job['run'][:8]:15}", "bold"), _work(job["figures"])), soft_wrap=True)


def of_ranks(ranked: Mapping[str, int]) -> list[str]:
    """What became of matches that were to be ranked; what did not happen is left out."""
    told = [("sent", "shuffled"), ("delivered", "delivered"), ("late", "too late"), ("aside", "set aside")]
    return [f"{ranked.get(name, 0):,} {about}" for name, about in told if name == "delivered" or ranked.get(name)]


def of_offloading(told: Mapping[str, int]) -> str:
    """What is told in real time, and what waits in the inbox or goes to peers."""
    peers = f" ({told['handed_over']:,} taken by peers)" if told.get("handed_over") else ""
    return (
        f"{told['live']:,} told live, {told['later']:,} offloaded{peers}; "
        f"of topics {told['served_topics']:,} are served, {told['offloaded_topics']:,} offloaded, "
        f"after {told['windows']:,} windows"
    )


def _work(figures: dict[str, Any]) -> str:
    """What matching costs a job: candidates, what was shed, and the loads where there are several matchers."""
    parts = [f"{figures['candidates_per_post']:,.1f} candidates a post"] if "candidates_per_post" in figures else []
    parts.append(f"{figures['total']['shed']:,} shed")
    ranked = figures.get("ranked_total")
    if ranked:
        parts.append(", ".join(of_ranks(ranked)))
    if offloading := figures.get("offloading"):
        parts.append(of_offloading(offloading))
    loads = figures["last"]["loads"]
    if len(loads) > 1:
        parts.append("loads by matcher " + ", ".join(f"{matcher}: {load:,}" for matcher, load in loads.items()))
    return " · ".join(parts)


def _show_letters(console: Console, letters: dict[str, Any]) -> None:
    console.print(Text.assemble(("dead letters   ", "bold"), f"{letters['count']:,}"))
    for letter in letters["last"]:
        console.print(Text(f"  {letter['received'][:19]}  {letter['id'] or '(no id)'}: {letter['reason']}"))


def _state(job: dict[str, Any]) -> str:
    if job["running"]:
        return "running"
    ago = _ago(time.time() - job["seen"])
    return f"not seen for {ago}" if job["state"] == "running" else f"{job['state']} {ago} ago"


def _ago(seconds: float) -> str:
    for unit, length in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"


def _as_of(counted: int, version: int) -> str:
    return "" if counted == version else f" at version {counted}"


def _bytes(size: int | None) -> str:
    return "" if size is None else f"{size / 1_000_000:,.1f} MB"


def _feed(feed: FeedStatus) -> dict[str, Any]:
    moments = {name: getattr(feed, name) for name in ("last_ok", "last_error", "next_poll")}
    return {**feed._asdict(), **{name: at and at.isoformat() for name, at in moments.items()}}
