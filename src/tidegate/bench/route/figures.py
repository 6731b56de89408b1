"""Figures 5 to 12 and 14 to 21: spread, imbalance and throughput over matchers and over subscriptions."""

from collections.abc import Iterable, Iterator
from typing import Final

from tidegate.bench.report import Report, Row
from tidegate.bench.route.sizes import Sizes
from tidegate.bench.route.trials import CONTENDERS, Case, Trials

_TITLES: Final = {
    "tweet-based": ("Figures 5 to 8", "Figures 14 to 17"),
    "topic-based": ("Figures 9 to 12", "Figures 18 to 21"),
}
_PAPER: Final = {
    (256, "topic-based", "hash"): 1 / 2.56,
    (256, "topic-based", "gfcl"): 1 / 2.2,
    (256, "topic-based", "gnfcl"): 1 / 2.2,
}
"""The relative throughput that §6.2 states; other points are in its figures alone."""


def report_figures(report: Report, trials: Trials, sizes: Sizes) -> None:
    """Report all figures of both kinds of subscriptions."""
    for kind, (scaled, grown) in _TITLES.items():
        report.section(
            f"{scaled}: {sizes.subscriptions:,} {kind} subscriptions, by matchers",
            list(_rows(trials, "matchers", _over_matchers(kind, sizes))),
            note=_folds_note(sizes),
        )
        report.section(
            f"{grown}: {sizes.grown_matchers} matchers, by {kind} subscriptions",
            list(_rows(trials, "subscriptions", _over_subscriptions(kind, sizes))),
            note="throughput by equation 6, in which matching costs the same however many subscriptions there are",
        )


def _folds_note(sizes: Sizes) -> str:
    slow = ", ".join(contender.label for contender in CONTENDERS if contender.is_slow)
    return (
        f"posts that maps were not learned from; ± is the standard deviation over {sizes.folds} folds "
        f"({sizes.slow_folds} of them for {slow}, but for refined at {sizes.refined_whole} matchers)"
    )


def _over_matchers(kind: str, sizes: Sizes) -> Iterator[Case]:
    for matchers in sizes.matchers:
        for contender in CONTENDERS:
            yield Case(contender, matchers, kind, sizes.subscriptions)


def _over_subscriptions(kind: str, sizes: Sizes) -> Iterator[Case]:
    for count in sizes.grown:
        for contender in CONTENDERS:
            yield Case(contender, sizes.grown_matchers, kind, count)


def _rows(trials: Trials, by: str, cases: Iterable[Case]) -> Iterator[Row]:
    for case in cases:
        row: Row = {
            by: getattr(case, by),
            "map": case.contender.label,
            "posts learned from": trials.maps[case.contender, case.matchers].posts,
        }
        for name, figure in (
            ("spread", trials.spread(case)),
            ("imbalance", trials.imbalance(case)),
            ("throughput", trials.throughput(case)),
            ("× SALB", trials.relative(case)),
        ):
            row |= {name: figure.mean, f"{name} ±": figure.deviation}
        yield row | {"paper, × SALB": _PAPER.get((case.matchers, case.kind, case.contender.label))}
