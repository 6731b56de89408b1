"""A live index under change: subscriptions added and removed per second, in bulk and one by one."""

from typing import Any, Final

import numpy as np

from tidegate.bench.index.measure import require_same, timed
from tidegate.bench.index.sizes import Sizes
from tidegate.bench.report import Report
from tidegate.csr import Csr
from tidegate.index.live import Live
from tidegate.workload.lengths import web_queries
from tidegate.workload.subscriptions import items, term_sets
from tidegate.workload.terms import real

_BATCH: Final = 10_000


def report_upkeep(report: Report, sizes: Sizes, seed: int) -> None:
    """Add the rates; what was added and removed again must match as if it had never been there."""
    law = real(sizes.vocabulary)
    sets = term_sets(sizes.live_sets + sizes.live_single, law, web_queries(), seed)
    kept, passing = sets.slice(0, sizes.live_sets), sets.slice(sizes.live_sets, sets.rows)
    posts = items(sizes.checked_items, law, seed + 1)
    undisturbed = Live()
    undisturbed.add(kept.slice(0, 1))
    undisturbed.remove([0])
    undisturbed.add(kept)
    undisturbed.merge()
    expected = undisturbed.match(posts).sets  # everything is compiled by now
    undisturbed.close()

    live = Live()
    rows: list[dict[str, Any]] = []

    def clock(change: str, rows_changed: int, seconds: float) -> float:
        rate = rows_changed / seconds
        rows.append({"change": change, "subscriptions": rows_changed, "s": seconds, "per second": rate})
        return rate

    batches = [kept.slice(start, min(start + _BATCH, kept.rows)) for start in range(0, kept.rows, _BATCH)]
    singles = [passing.slice(row, row + 1) for row in range(passing.rows)]
    adding, _ = timed(lambda: _add(live, batches))
    merging, _ = timed(live.merge)
    clock(f"added in batches of {_BATCH:,}", kept.rows, adding)
    bulk = clock("the same until all is merged", kept.rows, adding + merging)
    single = clock("added one by one", passing.rows, timed(lambda: _add(live, singles))[0])
    one_by_one, at_once = np.array_split(np.arange(kept.rows, sets.rows), 2)
    removal = clock("removed one by one", len(one_by_one), timed(lambda: _remove_singly(live, one_by_one))[0])
    clock("removed at once", len(at_once), timed(lambda: live.remove(at_once))[0])
    # The undisturbed index gave its first number to what it removed.
    found = live.match(posts).sets
    require_same("added, then removed", Csr(found.offsets, found.values + 1), "never added", expected)
    live.close()
    report.section(
        "Live: subscriptions changed per second",
        rows,
        note=f"target: 100,000 added per second; {sizes.checked_items:,} items match as if never disturbed",
    )
    report.summary |= {
        "live_adds_per_s": bulk,
        "live_single_adds_per_s": single,
        "live_removals_per_s": removal,
    }


def _add(live: Live, batches: list[Csr]) -> None:
    for batch in batches:
        live.add(batch)


def _remove_singly(live: Live, entries: np.ndarray[Any, Any]) -> None:
    for entry in entries:
        live.remove([entry])
