"""The sections of a report: choosing cells, migrations, delays, and what adjustment gains."""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from tidegate.bench.adjust.replay import BANDWIDTH, UTILISATION, WAYS, Replayed
from tidegate.bench.adjust.sizes import HOURS_A_STEP, SECONDS_A_STEP, Sizes
from tidegate.bench.adjust.switching import SWITCHING, Interval
from tidegate.bench.report import Report, Row

_MS: Final = 1e3
_NOTICED, _LONG = 0.1, 1.0  # seconds: from when on a delay is one, and is a long one
_PAPER_NOT_DELAYED: Final = {"DP": 72, "GR": 80, "SI": 70, "RA": 60}
_PAPER_LONG: Final = {"GR": 4}


def report_replays(report: Report, queries: int, sizes: Sizes, replays: Mapping[str, Replayed]) -> None:
    """Report Figures 12 to 15 for so many queries; the replay by GR has asked all ways."""
    _report_choosing(report, queries, replays["GR"])
    _report_migrations(report, queries, sizes, replays)
    _report_delays(report, queries, replays)


def _report_choosing(report: Report, queries: int, asked: Replayed) -> None:
    rows: list[Row] = []
    for name in WAYS:
        made = [choices[name] for choices in asked.choices if name in choices]
        rows.append(
            {
                "way": name,
                "instances": len(made),
                "ms": _MS * float(np.mean([one.seconds for one in made])) if made else None,
                "cells": float(np.mean([one.cells for one in made])) if made else None,
                "bytes": float(np.mean([one.cost for one in made])) if made else None,
            }
        )
    report.section(
        f"Figures 12a and 13: choosing cells of the same overloaded matchers, {queries:,} Q1 queries",
        rows,
        note="all ways are asked wherever the replay by GR breaks the constraint; DP where its table fits",
    )


def _report_migrations(report: Report, queries: int, sizes: Sizes, replays: Mapping[str, Replayed]) -> None:
    greedy = replays["GR"]
    rows: list[Row] = [
        {
            "way": name,
            "migrations": len(replay.migrations),
            "broken steps": replay.broken,
            "cost, bytes": replay.mean("cost"),
            "× GR": replay.mean("cost") / greedy.mean("cost") if greedy.migrations else None,
            "sent, bytes": replay.mean("nbytes"),
            "entries": replay.mean("entries"),
            "ms": _MS * replay.mean("seconds"),
            "of it choosing": _MS * replay.mean("choosing"),
            "of it moving": _MS * replay.mean("moving"),
            "cost in all": sum(one.cost for one in replay.migrations),
        }
        for name, replay in _in_order(replays)
    ]
    report.section(
        f"Figures 12b and 14: means of a migration, {queries:,} Q1 queries",
        rows,
        note=f"{sizes.days} days in steps of {HOURS_A_STEP} hours, {sizes.step_posts:,} posts each; {sizes.matchers} "
        f"matchers, sigma {sizes.sigma}; each way replays the same days by its own choices. The cost is that of "
        "Definition 4; less is sent, as an entry of several cells may be at the target already. Moving is adding to "
        f"one flat grid and removing from another, measured; bytes travel at {BANDWIDTH / 1e6:.0f} MB/s, assumed",
    )


def _report_delays(report: Report, queries: int, replays: Mapping[str, Replayed]) -> None:
    rows: list[Row] = []
    for name, replay in _in_order(replays):
        noticed, long = (
            100 * float(np.mean([one.delayed(by) for one in replay.migrations] or [0.0])) for by in (_NOTICED, _LONG)
        )
        rows.append(
            {
                "way": name,
                "< 100 ms, %": 100 - noticed,
                "100 ms to 1 s, %": noticed - long,
                "> 1 s, %": long,
                "longest, ms": _MS * max((one.seconds for one in replay.migrations), default=0.0),
                "paper, < 100 ms": _PAPER_NOT_DELAYED[name],
                "paper, > 1 s": _PAPER_LONG.get(name),
            }
        )
    report.section(
        f"Figures 12c and 15: tuples by their delay, {queries:,} Q1 queries",
        rows,
        note=f"of the steps with a migration, {SECONDS_A_STEP:.0f} s each. Computed: while entries are chosen, moved "
        "and travel, all tuples of both matchers wait, and then for those before them, of matchers that are "
        f"{100 * UTILISATION:.0f} % busy. The paper's are of its own machines, SI and RA as told of in words",
    )


def _in_order(replays: Mapping[str, Replayed]) -> list[tuple[str, Replayed]]:
    return [(name, replays[name]) for name in WAYS]


def report_switching(report: Report, sizes: Sizes, intervals: Sequence[Interval]) -> None:
    """Report Figure 16."""
    rows: list[Row] = [
        {
            "interval": one.number,
            "tuples": one.tuples,
            "off, tuples/s": one.tuples / float(one.off.max()),
            "on, tuples/s": one.tuples / float(one.on.max()),
            "gain": one.gain,
            "off, imbalance": float(one.off.max() / one.off.mean()),
            "on, imbalance": float(one.on.max() / one.on.mean()),
            "on, total": float(one.on.sum() / one.off.sum()),
            "entries moved": one.moved,
            "new plan": "yes" if one.repartitioned else "no",
        }
        for one in intervals
    ]
    report.section(
        f"Figure 16: {100 * SWITCHING:.0f} % of the regions switch, Q3, every {sizes.switching:,} queries",
        rows,
        note=f"by the clocks of {sizes.matchers} matchers with the paper's index (GI²), all answers checked against "
        f"one index; one post in {sizes.one_in} is run, twice, and its quicker time counts for all. On: balance is "
        f"looked at {sizes.checks} times an interval, by costs that follow the clocks, and what moves is on them; a "
        "new plan after an interval if it lowers the total load by a tenth. Total: seconds of all matchers, on over "
        "off. No adjustment gains much more than the imbalance without it, for whichever matcher has them, the checks "
        "and what is stored are as many",
    )
