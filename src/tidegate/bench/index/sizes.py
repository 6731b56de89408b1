"""How much of everything a run of the benchmark does, by scale."""

from dataclasses import dataclass, replace
from typing import Final

from tidegate.bench.report import Scale
from tidegate.workload.terms import VOCABULARY


@dataclass(frozen=True)
class Sizes:
    """Numbers of things drawn, built and matched."""

    subscriptions: int
    vocabulary: int = VOCABULARY
    items: int = 5_000
    counting_items: int = 200
    """Counting lists take milliseconds where the others take microseconds: they get the first few items."""
    checked_items: int = 100
    """So many answers of every index are compared with brute force, which takes longer still."""
    fan_out_items: int = 200
    rounds: int = 5
    is_headline_only: bool = False
    small_vocabulary: int = 87_839
    """The paper's smallest (§4.4.1), where tries shine."""
    vocabularies: tuple[int, ...] = (630_000,)
    """More for Figures 8 and 10; at 10 M subscriptions, 630,000 terms make the paper's 378 K subscribed ones."""
    scaled_subscriptions: tuple[int, ...] = (250_000, 500_000)
    """More for Figures 9 and 11."""
    model_subscriptions: int = 1_000_000
    """For Table 3, as in the paper."""
    model_items: int = 400
    occurrences: int = 1_500_000
    """Terms of all subscriptions in Figure 3, as in the paper."""
    rules: int = 100_000
    rival_posts: int = 10_000
    perq_posts: int = 500
    live_sets: int = 1_000_000
    live_single: int = 20_000

    @property
    def further(self) -> "Sizes":
        """What the workloads beside the headline get: less of what is repeated for precision."""
        return replace(self, items=self.items // 2, rounds=min(self.rounds, 2))

    @property
    def further_workloads(self) -> list[tuple[int, int]]:
        """Subscriptions and vocabulary of every workload of Figures 8 to 11 but the headline's."""
        by_vocabulary = [(self.subscriptions, terms) for terms in (self.small_vocabulary, *self.vocabularies)]
        return by_vocabulary + [(count, self.vocabulary) for count in self.scaled_subscriptions]


SIZES: Final[dict[Scale, Sizes]] = {
    "small": Sizes(1_000_000, items=3_000, rounds=3, live_sets=500_000, model_items=400),
    "paper": Sizes(
        10_000_000,
        items=10_000,
        vocabularies=(250_000, 630_000, 1_000_000),
        scaled_subscriptions=(1_000_000, 2_000_000, 5_000_000),
        model_items=5_000,
        rules=1_000_000,
        rival_posts=50_000,
        perq_posts=1_000,
        live_sets=5_000_000,
    ),
    "max": Sizes(100_000_000, counting_items=100, rounds=3, fan_out_items=50, is_headline_only=True),
}
