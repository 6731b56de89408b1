"""How much of everything a run of the benchmark does, by scale."""

from dataclasses import dataclass
from typing import Final

from tidegate.bench.report import Scale


@dataclass(frozen=True)
class Sizes:
    """Numbers of batches, and of what is in them."""

    subscribers: int = 100_000
    batches: int = 40
    matches: int = 50_000
    """Of a batch."""
    matches_per_post: int = 10
    rival_batches: int = 4
    """How many of them a rival writes as well."""
    checked: int = 500
    """Subscribers whose whole inbox is compared with what plain Python says."""
    feeds: int = 5_000
    """Live feeds that are open at once."""
    feed_s: float = 30.0
    """How long notifications come at the first rate."""
    doubled_s: float = 10.0
    """How long at each rate after that, each twice the one before."""
    doublings: int = 8
    feed_databases: tuple[str, ...] = ("SQLite",)
    """Where the inbox is that feeds are told from."""
    listeners: int = 20
    """Subscribers of a whole site, from posts to live feeds."""
    trigger: str = "200ms"
    """How often its job begins a batch."""
    timed_posts: int = 400
    kills: int = 5
    """Of the service, of the database and of the pipeline, each."""


SIZES: Final[dict[Scale, Sizes]] = {
    "small": Sizes(
        subscribers=20_000,
        batches=4,
        matches=20_000,
        rival_batches=1,
        checked=200,
        feeds=1_000,
        feed_s=3.0,
        doubled_s=1.5,
        listeners=5,
        timed_posts=40,
        kills=1,
    ),
    "paper": Sizes(feed_databases=("Postgres", "SQLite")),
    "max": Sizes(
        subscribers=1_000_000, batches=100, matches=100_000, feeds=10_000, feed_databases=("Postgres", "SQLite")
    ),
}
