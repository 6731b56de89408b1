"""How much of everything a run of the benchmark does, by scale."""

from dataclasses import dataclass
from typing import Final

from tidegate.bench.report import Scale
from tidegate.bench.spatial.rivals import FLAT_GRID, GI2

KINDS: Final = ("q1", "q2", "q3")


@dataclass(frozen=True)
class Sizes:
    """Numbers of queries, tuples (posts, insertions and deletions) and matchers."""

    countries: tuple[str, ...] = ("us", "uk")
    """Of generated posts; the first is that of the summary."""
    queries: int = 1_000_000
    """In the memory of one core."""
    tuples: int = 13_000_000
    """One core's; so many that ours sweeps once, which it does when as many were added as there were."""
    core_rounds: int = 1
    held: tuple[int, ...] = (10_000_000,)
    """Numbers of Q1 queries whose memory is measured."""
    shared_queries: int = 1_000_000
    """Of all matchers together."""
    shared_tuples: int = 480_000
    learned_posts: int = 50_000
    learned_queries: int = 50_000
    rounds: int = 3
    matchers: int = 8
    routers: int = 4
    scaled: tuple[int, ...] = (2, 4, 16, 32)
    """Further numbers of matchers, of Figure 11: of the first world and the first index."""
    indexes: tuple[str, ...] = (GI2, FLAT_GRID)
    """Of the matchers; the first, the paper's, is that of the summary."""


SIZES: Final[dict[Scale, Sizes]] = {
    "small": Sizes(
        countries=("us",),
        queries=50_000,
        tuples=60_000,
        held=(),
        shared_queries=50_000,
        shared_tuples=120_000,
        learned_posts=10_000,
        learned_queries=10_000,
        scaled=(2,),
        indexes=(GI2,),
    ),
    "paper": Sizes(),
    "max": Sizes(
        queries=5_000_000,
        tuples=65_000_000,
        shared_queries=2_000_000,
        learned_posts=100_000,
        learned_queries=100_000,
    ),
}
