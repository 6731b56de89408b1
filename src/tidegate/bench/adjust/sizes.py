"""How large a run is."""

from dataclasses import dataclass
from typing import Final

from tidegate.bench.report import Scale

HOURS_A_STEP: Final = 4
POSTS_PER_QUERY: Final = 10
"""Five an update, and a query comes and goes."""
SECONDS_A_STEP: Final = 10.0
"""In which the paper replays the posts of four hours."""


@dataclass(frozen=True)
class Sizes:
    """Of both experiments."""

    queries: tuple[int, ...]
    """That stand while days are replayed, a replay each."""
    days: int
    step_posts: int
    """Of four hours; with them come a fifth as many updates."""
    switching: int
    """Queries of an interval after which regions switch, and that stand meanwhile."""
    intervals: int
    one_in: int
    """Of the posts that are due between updates, so many are one that is run; its clocks count for all of them."""
    checks: int = 5
    """In an interval: so often is the balance looked at."""
    planned_on: int = 20_000
    """Posts and conjunctions from which the hybrid plans, at most of both."""
    matchers: int = 8
    sigma: float = 1.5
    """The balance constraint of the replay."""

    @property
    def period_posts(self) -> int:
        """Posts that are run between two looks at the balance."""
        return POSTS_PER_QUERY * self.switching // (self.checks * self.one_in)

    @property
    def steps(self) -> int:
        """Of the replay."""
        return self.days * 24 // HOURS_A_STEP


SIZES: Final[dict[Scale, Sizes]] = {
    "small": Sizes((30_000,), days=6, step_posts=5_000, switching=20_000, intervals=10, one_in=2, planned_on=5_000),
    "paper": Sizes((1_000_000,), days=60, step_posts=20_000, switching=500_000, intervals=16, one_in=5, checks=10),
    "max": Sizes(
        (1_000_000, 5_000_000, 10_000_000),
        days=60,
        step_posts=20_000,
        switching=1_000_000,
        intervals=20,
        one_in=5,
        checks=10,
    ),
}
