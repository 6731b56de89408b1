"""How large a run is."""

from dataclasses import dataclass
from typing import Final

from tidegate.bench.report import Scale


@dataclass(frozen=True)
class Sizes:
    """Of all experiments."""

    subscribers: tuple[int, ...]
    posts: int
    """A multiple of the chunk's length."""
    late: tuple[int, ...]
    """Subscribers, where delays are simulated message by message."""
    late_posts: int
    publishers: tuple[int, ...]
    users: int
    social_subscribers: tuple[int, ...]
    social_posts: int
    periods: tuple[float, ...]
    """Of common stretches, in mean chunks: the posts in which a feed gets a chunk's worth, in the mean."""
    brokers: tuple[int, ...] = (24, 96, 960)
    period: float = 2.0
    """Of them, the one that is used elsewhere."""
    shuffled_feeds: int = 1_000
    """On Spark, where it is counted what is shuffled."""
    shuffled_batches: int = 2
    ranked_feeds: int = 100_000
    """On Spark, where matches are ranked as fast as may be."""
    ranked_batches: int = 8
    slice_rows: int = 1 << 18
    """Matches of a slice there, about; two are a batch."""
    rival_rounds: int = 3
    every_case: bool = True
    """On Spark: each kind of window alone, and scores that only rise, as well."""


SIZES: Final[dict[Scale, Sizes]] = {
    "small": Sizes(
        (50, 100, 200, 500, 1_000),
        posts=1_000,
        late=(50, 200),
        late_posts=200,
        publishers=(1, 2, 4, 8),
        users=1_000,
        social_subscribers=(100, 250, 500, 1_000),
        social_posts=40_000,
        periods=(0.5, 1.0, 2.0, 4.0),
        shuffled_feeds=100,
        shuffled_batches=1,
        ranked_feeds=20_000,
        ranked_batches=2,
        slice_rows=100_000,
        rival_rounds=1,
        every_case=False,
    ),
    "paper": Sizes(
        (50, 100, 200, 400, 600, 800, 1_000),
        posts=4_000,
        late=(50, 100, 250, 500, 750, 1_000),
        late_posts=1_000,
        publishers=(1, 2, 4, 8, 16),
        users=1_000,
        social_subscribers=(100, 200, 300, 400, 500, 600, 700, 800, 900, 1_000),
        social_posts=200_000,
        periods=(0.25, 0.5, 1.0, 2.0, 4.0),
    ),
    "max": Sizes(
        (50, 100, 200, 500, 1_000, 2_000, 5_000),
        posts=4_000,
        late=(50, 100, 250, 500, 750, 1_000),
        late_posts=2_000,
        publishers=(1, 2, 4, 8, 16),
        users=5_000,
        social_subscribers=(100, 250, 500, 1_000, 2_500, 5_000),
        social_posts=400_000,
        periods=(0.25, 0.5, 1.0, 2.0, 4.0),
    ),
}
