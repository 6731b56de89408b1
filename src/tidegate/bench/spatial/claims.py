"""What must hold, beside what does: shown either way."""

from collections.abc import Iterator
from typing import Final

from tidegate.bench.report import Report, Row
from tidegate.bench.spatial.contest import BEST, HYBRID, SPACE, TEXT, Trials
from tidegate.bench.spatial.sizes import KINDS, Sizes

_NEAR: Final = 0.97
"""Within 3 % of the first."""
_AHEAD: Final = 1.3
"""Of the better baseline, on Q3."""
_CORE: Final = 100_000
"""Tuples a second, with a million queries."""
_OVER_GI2: Final = {"q1": 2.0, "q2": 1.0, "q3": 1.0}
_MOST_GB: Final = 6.0
_MEANT: Final = (
    "The bounds are meant for a million queries on one core, and for generated posts. Throughput is that of matcher "
    "clocks; the summary's is of the first world, with the paper's index."
)


def report_claims(report: Report, trials: Trials, worlds: list[str], sizes: Sizes) -> None:
    """Report every statement that this run can be held against, and sum up."""
    rows = [*_of_one_core(report, sizes)]
    for world in worlds:
        for index in sizes.indexes:
            rows += _of_partitionings(trials, world, index, sizes.matchers)
    report.section("What must hold", rows, _MEANT)
    world, index = worlds[0], sizes.indexes[0]
    report.summary["hybrid_over_best_baseline_q3"] = _ratio(trials, world, "q3", index, sizes.matchers, BEST)


def _of_one_core(report: Report, sizes: Sizes) -> Iterator[Row]:
    summary, where = report.summary, f"one core, {sizes.queries:,} queries"
    yield _row(where, "tuples/s on q1", _CORE, summary["tuples_per_s_core"])
    for kind, bound in _OVER_GI2.items():
        yield _row(where, f"throughput over GI² on {kind}", bound, summary[f"flatgrid_over_gi2_{kind}"])
    for section in report.sections:
        if section.title.startswith("Memory"):
            for held in section.rows:
                yield _row("one core", f"GB of {held['queries']:,} queries", _MOST_GB, held["GB"], at_most=True)


def _of_partitionings(trials: Trials, world: str, index: str, matchers: int) -> Iterator[Row]:
    where = f"{world}, {matchers} matchers with {index}"

    def best(kind: str, names: tuple[str, ...]) -> float:
        return trials.throughput(world, kind, index, matchers, names)

    yield _row(where, "best by space over best by text, q1", 1.0, best("q1", SPACE) / best("q1", TEXT))
    yield _row(where, "best by text over best by space, q2", 1.0, best("q2", TEXT) / best("q2", SPACE))
    for kind in KINDS:
        ratio = _ratio(trials, world, kind, index, matchers, (*TEXT, *SPACE, HYBRID))
        yield _row(where, f"hybrid over the first, {kind}", _NEAR, ratio)
    ahead = _ratio(trials, world, "q3", index, matchers, BEST)
    yield _row(where, "hybrid over the better of metric and kd_tree, q3", _AHEAD, ahead)


def _ratio(trials: Trials, world: str, kind: str, index: str, matchers: int, names: tuple[str, ...]) -> float:
    """The hybrid's throughput over the best of these."""
    own = trials.throughput(world, kind, index, matchers, (HYBRID,))
    return own / trials.throughput(world, kind, index, matchers, names)


def _row(where: str, statement: str, bound: float, ours: float, *, at_most: bool = False) -> Row:
    holds = ours <= bound if at_most else ours >= bound
    sign = "≤" if at_most else "≥"
    return {
        "where": where,
        "statement": statement,
        "bound": f"{sign} {bound:,}",
        "ours": ours,
        "holds": "yes" if holds else "no",
    }
