"""How much of everything a run of the benchmark does, by scale."""

from dataclasses import dataclass
from typing import Final

from tidegate.bench.report import Scale


@dataclass(frozen=True)
class Sizes:
    """Numbers of things drawn, stored, matched and streamed; the last number of subscriptions is the headline's."""

    subscriptions: tuple[int, ...]
    partitioned: int
    """The number of subscriptions that are also spread over matchers; 0: none are."""
    plans: tuple[str, ...] = ("hash",)
    matchers: tuple[int, ...] = (2, 4, 16, 64)
    plan_posts: int = 200_000
    posts: int = 2_000_000
    rounds: int = 5
    plan_rounds: int = 3
    rival_posts: int = 20_000
    rival_rounds: int = 2
    one_word_subscriptions: int = 1_000_000
    one_word_posts: int = 20_000
    probes: int = 100
    """Subscriptions made while a stream runs."""
    latency_seconds: float = 30.0
    change_batches: int = 10
    acknowledged: int = 20_000
    """Single calls of subscribing, by many threads."""
    foretold: tuple[int, ...] = ()
    """Other numbers of subscriptions, at which the capacity model is compared with what is measured."""

    @property
    def headline(self) -> int:
        """The number of subscriptions that the summary is about."""
        return self.subscriptions[-1]


SIZES: Final[dict[Scale, Sizes]] = {
    "small": Sizes(
        (10_000, 100_000),
        partitioned=10_000,
        matchers=(2, 16),
        plan_posts=20_000,
        posts=150_000,
        rounds=2,
        plan_rounds=1,
        rival_posts=1_000,
        rival_rounds=1,
        one_word_subscriptions=20_000,
        one_word_posts=5_000,
        probes=6,
        latency_seconds=3.0,
        change_batches=2,
        acknowledged=2_000,
        foretold=(30_000, 200_000),
    ),
    "paper": Sizes((10_000, 100_000, 1_000_000), partitioned=1_000_000, foretold=(300_000, 2_000_000)),
    "max": Sizes((10_000_000,), partitioned=0, rival_posts=5_000, rival_rounds=1),
}
