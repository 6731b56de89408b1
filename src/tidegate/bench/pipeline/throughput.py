"""Posts per second: the ceiling, and Tidegate under every plan, in turns and with the same answers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final

from tidegate.bench.pipeline.sizes import Sizes
from tidegate.bench.pipeline.subscribed import Subscribed
from tidegate.bench.report import Report, Row
from tidegate.errors import TidegateError
from tidegate.route.plan import Plan
from tidegate.spark.trials.batch import Fingerprint, ceiling_seconds, fingerprint, matching_seconds

# Shares of the ceiling that plan *replicate* is to reach, by subscriptions.
STAGES: Final = {"match": "tidegate, replicate", "post": "tidegate, replicate, a row per post"}
"""What rows are written per, and how tables call that."""
_TARGETS: Final = {1_000_000: 0.35, 10_000_000: 0.20}


@dataclass(frozen=True)
class Pace:
    """What the rounds of one configuration took, and what it found."""

    posts: int
    seconds: list[float]
    found: Fingerprint | None = None

    @property
    def best(self) -> float:
        """Posts a second in the best round."""
        return self.posts / min(self.seconds)

    @property
    def median(self) -> float:
        """Posts a second in the median round."""
        return self.posts / median(self.seconds)

    @property
    def matches_per_post(self) -> float:
        """Matches of one post, on average."""
        return self.found.matches / self.posts if self.found else 0.0


@dataclass(frozen=True)
class Throughput:
    """The paces of one set of subscriptions; the ceiling ran between the others."""

    ceiling: Pace
    replicate: Pace
    """With one row per match."""
    per_post: Pace
    """With one row per post."""

    @property
    def fraction(self) -> float:
        """The share of the ceiling that plan *replicate* reaches."""
        return self.replicate.best / self.ceiling.best


def report_throughput(
    report: Report, spark: Any, posts: Path, n_posts: int, subscribed: Subscribed, rounds: int
) -> Throughput:
    """Add the table of plan *replicate* beside the ceiling; return the paces."""
    found = fingerprint(spark, posts, subscribed.store, subscribed.at)  # warms up, too
    ceiling, replicate, per_post = _in_turns(
        rounds,
        lambda: ceiling_seconds(spark, posts),
        lambda: matching_seconds(spark, posts, subscribed.store, subscribed.at),
        lambda: matching_seconds(spark, posts, subscribed.store, subscribed.at, "post"),
    )
    paces = Throughput(Pace(n_posts, ceiling), Pace(n_posts, replicate, found), Pace(n_posts, per_post, found))
    report.section(
        f"Throughput: {len(subscribed):,} subscriptions, {n_posts:,} posts, Parquet text to rows of matches",
        [
            _row("ceiling: identity mapInArrow", paces.ceiling, paces.ceiling, None, None),
            _row(
                STAGES["match"],
                paces.replicate,
                paces.ceiling,
                subscribed.compile_seconds,
                _TARGETS.get(len(subscribed)),
            ),
            _row(STAGES["post"], paces.per_post, paces.ceiling, None, None),
        ],
        note=(
            f"in turns, best of {rounds} rounds, posts in random order; a word's weight is its use in posts to the "
            f"power of {subscribed.searches.power:.2f}; the store took {subscribed.apply_seconds:.1f} s to fill"
        ),
    )
    return paces


def report_plans(
    report: Report, spark: Any, posts: Path, subscribed: Subscribed, ceiling: Pace, plans: Sequence[Plan], sizes: Sizes
) -> None:
    """Add the table of plans that partition, on some of the posts; each must find what *replicate* finds in them."""
    expected = fingerprint(spark, posts, subscribed.store, subscribed.at)
    seconds = [matching_seconds(spark, posts, subscribed.store, subscribed.at) for _ in range(sizes.plan_rounds)]
    pace = Pace(sizes.plan_posts, seconds, expected)
    rows = [_row(STAGES["match"], pace, ceiling, subscribed.compile_seconds, None)]
    for plan in plans:
        at, compile_seconds = subscribed.spread(plan)
        found = fingerprint(spark, posts, subscribed.store, at)
        if found != expected:
            raise TidegateError(f"wrong answers: plan {plan} finds {found}, replicate {expected}")
        seconds = [matching_seconds(spark, posts, subscribed.store, at) for _ in range(sizes.plan_rounds)]
        rows.append(_row(f"tidegate, {plan}", Pace(sizes.plan_posts, seconds, found), ceiling, compile_seconds, None))
    report.section(
        f"Plans: {len(subscribed):,} subscriptions spread over matchers, {sizes.plan_posts:,} posts, on two cores",
        rows,
        note="the same matches as replicate; a post travels to every matcher that its words lead to",
    )


def _in_turns(rounds: int, *runs: Callable[[], float]) -> list[list[float]]:
    """Run all of them, `rounds` times over, so that a noisy minute of the machine falls on all."""
    laps = [[run() for run in runs] for _ in range(rounds)]
    return [list(seconds) for seconds in zip(*laps, strict=True)]


def _row(name: str, pace: Pace, ceiling: Pace, compile_seconds: float | None, target: float | None) -> Row:
    return {
        "stage": name,
        "posts/s": pace.best,
        "median": pace.median,
        "of the ceiling": pace.best / ceiling.best,
        "target": target,
        "matches a post": pace.matches_per_post if pace.found else None,
        "matches/s": pace.matches_per_post * pace.best if pace.found else None,
        "compile, s": compile_seconds,
    }
