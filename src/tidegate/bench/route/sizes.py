"""How much of everything a run of the benchmark does, by scale."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from tidegate.bench.report import Scale


@dataclass(frozen=True)
class Sizes:
    """Numbers of things learned from, subscribed to, routed and matched."""

    posts: int = 1_120_000
    """The corpus; a file may have fewer. Nine folds of ten are a million, as the paper's maps are learned from."""
    folds: int = 10
    slow_folds: int = 1
    """Of these folds, those for maps that take long to learn."""
    most_learned: Mapping[str, int] = field(
        default_factory=lambda: {"gc": 100_000, "gfc": 100_000, "refined": 100_000, "hypergraph": 10_000}
    )
    """By map: how many posts are as much as can be waited for."""
    refined_whole: int = 64
    """The number of matchers for which the refined map, without splitting, has all folds and posts nevertheless."""
    matchers: tuple[int, ...] = (2, 4, 8, 16, 32, 64, 128, 256)
    """Of Figures 5 to 12."""
    subscriptions: int = 100_000
    """Of Figures 3 and 5 to 12."""
    topics: int = 100
    topic_posts: int = 100_000
    look_up_posts: int = 5_000
    grown: tuple[int, ...] = (100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000)
    """Numbers of subscriptions, of Figures 14 to 21."""
    grown_matchers: int = 16
    learned: tuple[int, ...] = (10_000, 30_000, 100_000, 300_000, 1_000_000)
    """Sizes of the learning corpus, of Figures 13 and 28; posts are repeated where there are fewer."""
    slowly_learned: int = 1_000_000
    """The most that maps which take long are given there."""
    learning_matchers: int = 64
    split_matchers: tuple[int, ...] = (64, 256)
    """Beside the others, for maps whose hot words are split."""
    clocked_matchers: tuple[int, ...] = (64, 256)
    """Of the maps that are also measured by matcher clocks."""
    clocked_posts: int = 100_000
    short_posts: int = 300_000
    """For the plans that meet on matcher clocks; repeated if the fold has fewer."""
    short_subscriptions: int = 1_000_000
    short_matchers: tuple[int, ...] = (64, 256)
    short_grown: tuple[int, ...] = (10_000, 100_000, 1_000_000)
    """Numbers of short subscriptions, for head and tail against replicate at the first number of matchers."""

    def every_matchers(self, *, splitting: bool) -> list[int]:
        """Return all numbers of matchers that maps are learned for."""
        split = (*self.split_matchers, *self.short_matchers) if splitting else ()
        return sorted({*self.matchers, self.grown_matchers, *self.clocked_matchers, *split})


SIZES: Final[dict[Scale, Sizes]] = {
    "small": Sizes(
        posts=40_000,
        folds=2,
        most_learned={"refined": 5_000, "hypergraph": 500},
        matchers=(8, 64),
        subscriptions=10_000,
        topics=10,
        topic_posts=1_000,
        look_up_posts=500,
        grown=(100, 1_000, 10_000),
        learned=(500, 5_000, 1_000_000),
        slowly_learned=5_000,
        clocked_matchers=(16,),
        clocked_posts=5_000,
        short_posts=20_000,
        short_subscriptions=30_000,
        short_matchers=(64,),
        short_grown=(10_000, 50_000),
    ),
    "paper": Sizes(),
    "max": Sizes(
        slow_folds=2,
        most_learned={"refined": 300_000, "hypergraph": 100_000},
        learned=(10_000, 30_000, 100_000, 300_000, 1_000_000, 10_000_000),
        clocked_matchers=(2, 4, 8, 16, 32, 64, 128, 256),
        short_grown=(10_000, 100_000, 1_000_000, 10_000_000),
    ),
}
