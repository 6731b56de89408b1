"""Benchmark `satisfaction`: whom a budget satisfies, how near the bound that is, and how fast (Figures 6.2 to 6.7)."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np

from tidegate.bench.report import Report, Row, Scale
from tidegate.bench.traces import demand_like
from tidegate.capacity.bounds import b3m_bound, fb3m_bound
from tidegate.capacity.demand import Demand
from tidegate.capacity.satisfaction import By, b3m, fb3m, fb3m_by
from tidegate.capacity.selection import Selection, course
from tidegate.csr import Int64
from tidegate.errors import ConfigError, TidegateError
from tidegate.workload.social import SPOTIFY

_SCALES: Final = {"small": 0.02, "paper": 1.0, "max": 1.0}
_SHARES: Final = {0.01: (0.87, None), 0.1: (0.75, None), 1.0: (0.82, 0.9)}
"""Thresholds as shares of the mean rate, and the thesis's ratios of B3M and F-B3M where it tells them."""
_HOURS: Final = 240
_TITLES: Final = {
    "6.2": "B3M as capacity is used",
    "6.3": "ratios to the bounds with 10 % of the capacity",
    "6.4": "F-B3M as capacity is used",
    "6.5": "seconds",
    "6.6": "hourly windows, seconds",
    "6.7": "hourly windows, ratios to the bounds",
}


def run(scale: Scale, seed: int = 1, posts: Path | None = None) -> Report:
    """Measure at `scale`; raise `TidegateError` if lazy and eager choices differ, or a choice exceeds its bound."""
    if posts is not None:
        raise ConfigError(f"benchmark 'satisfaction' takes no posts, and {posts.name} was given: leave --posts out")
    demand = demand_like(SPOTIFY, _SCALES[scale], seed)
    _compile()
    report = Report(
        "satisfaction",
        scale,
        {
            "seed": seed,
            "topics": demand.n_topics,
            "subscribers": demand.n_subscribers,
            "pairs": demand.pairs,
            "capacity_pct": 10,
        },
    )
    capacity = int(demand.costs.sum()) // 10
    mean = float(demand.events.mean())
    ratios, times, courses = list[Row](), list[Row](), list[Row]()
    for share, (b3m_told, fb3m_told) in _SHARES.items():
        threshold = max(1, round(share * mean))
        counted, counted_s = _timed(lambda: b3m(demand, threshold, capacity))  # noqa: B023 - called at once
        shared, shared_s = _timed(lambda: fb3m(demand, threshold, capacity))  # noqa: B023
        slow, slow_s = _timed(lambda: fb3m(demand, threshold, capacity, lazy=False))  # noqa: B023
        if slow.topics.tolist() != shared.topics.tolist():
            raise TidegateError(f"lazy and eager choices differ at a threshold of {threshold:,}")
        bounds = b3m_bound(demand, threshold, capacity), fb3m_bound(demand, threshold, capacity)
        if counted.satisfied > bounds[0] or shared.satisfaction > bounds[1] + 1e-6:
            raise TidegateError(f"a choice exceeds its bound at a threshold of {threshold:,}")
        ratios.append(
            {
                "τ": threshold,
                "satisfied": counted.satisfied,
                "at most": bounds[0],
                "B3M ratio": counted.satisfied / bounds[0],
                "thesis, B3M": b3m_told,
                "F-B3M ratio": shared.satisfaction / bounds[1],
                "thesis, F-B3M": fb3m_told,
            }
        )
        times.append({"τ": threshold, "B3M s": counted_s, "F-B3M s": shared_s, "eager F-B3M s": slow_s})
        courses += _course(demand, threshold, capacity, counted, shared)
    report.section("Figures 6.2 and 6.4: satisfaction as capacity is used", courses)
    report.section("Figure 6.3: ratios to the bounds with 10 % of the capacity", ratios)
    report.section("Figure 6.5: seconds", times, "Thesis: F-B3M below 20 s at every τ, the slow form up to 33 s.")
    report.section(
        "Figures 6.6 and 6.7: hourly windows, τ = 20",
        _windows(demand, seed),
        "Thesis: a few hundred milliseconds, F-B3M in half the time of B3M and slightly better; ratios rise with C.",
    )
    report.summary = {
        "b3m_s": max(row["B3M s"] for row in times),
        "fb3m_s": max(row["F-B3M s"] for row in times),
        "b3m_ratio": min(row["B3M ratio"] for row in ratios),
        "fb3m_ratio": min(row["F-B3M ratio"] for row in ratios),
    }
    return report


def plot(report: Report, path: Path) -> None:
    """Draw the figures of a report."""
    drawn(report).savefig(path, dpi=110)


def drawn(report: Report) -> Any:
    """Return all figures of a report as one, the thesis's ratios beside ours."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - drawing is optional

    growth, ratios, times, windows = report.sections
    figure = Figure(figsize=(18, 9), layout="constrained")
    axes = dict(zip(_TITLES, figure.subplots(2, 3).flat, strict=True))
    for number, reached, bound in (
        ("6.2", "B3M satisfied", "B3M bound"),
        ("6.4", "F-B3M satisfaction", "F-B3M bound"),
    ):
        for threshold in sorted({row["τ"] for row in growth.rows}):
            rows = [row for row in growth.rows if row["τ"] == threshold]
            _lines(axes[number], rows, "capacity, %", (reached, bound), f", τ = {threshold:,}")
    _lines(axes["6.3"], ratios.rows, "τ", ("B3M ratio", "F-B3M ratio", "thesis, B3M", "thesis, F-B3M"))
    _lines(axes["6.5"], times.rows, "τ", ("B3M s", "F-B3M s", "eager F-B3M s"))
    _lines(axes["6.6"], windows.rows, "capacity, %", ("B3M s", "F-B3M s"))
    _lines(axes["6.7"], windows.rows, "capacity, %", ("B3M ratio", "F-B3M ratio"))
    for number, one in axes.items():
        one.set_title(f"Figure {number}: {_TITLES[number]}", fontsize=9)
        one.legend(fontsize=7)
        if number in ("6.3", "6.5"):
            one.set_xscale("log")
    return figure


def _lines(axes: Any, rows: list[Row], x: str, names: tuple[str, ...], what: str = "") -> None:
    for name in names:
        known = [row for row in rows if row[name] is not None]
        style = "--" if "bound" in name else ":" if "thesis" in name else "-"
        axes.plot([row[x] for row in known], [row[name] for row in known], style, marker=".", label=name + what)
    axes.set_xlabel(x)


def _course(demand: Demand, threshold: int, capacity: int, counted: Selection, shared: Selection) -> list[Row]:
    """What was reached on the way, at every tenth of the capacity."""
    ways = course(demand, threshold, counted), course(demand, threshold, shared)
    rows = []
    for tenth in range(1, 11):
        room = capacity * tenth // 10
        at = [int(np.searchsorted(way.cost, room, side="right")) - 1 for way in ways]
        rows.append(
            {
                "τ": threshold,
                "capacity, %": tenth,
                "B3M satisfied": int(ways[0].satisfied[at[0]]) if at[0] >= 0 else 0,
                "B3M bound": b3m_bound(demand, threshold, room),
                "F-B3M satisfaction": float(ways[1].satisfaction[at[1]]) if at[1] >= 0 else 0.0,
                "F-B3M bound": fb3m_bound(demand, threshold, room),
            }
        )
    return rows


def _windows(demand: Demand, seed: int) -> list[Row]:
    """Events of an hour are drawn; topics without any are no part of the window."""
    random = np.random.default_rng([seed, 9])
    windows = [_window(demand, random.poisson(demand.events / _HOURS)) for _ in range(3)]
    rows = []
    for percent in (1, 5, 10, 20, 30, 40, 50):
        sums = np.zeros(4)
        for window in windows:
            room = int(window.costs.sum()) * percent // 100
            counted, counted_s = _timed(lambda: b3m(window, 20, room))  # noqa: B023 - called at once
            shared, shared_s = _timed(lambda: fb3m(window, 20, room))  # noqa: B023
            ratios = (
                counted.satisfied / max(b3m_bound(window, 20, room), 1),
                shared.satisfaction / max(fb3m_bound(window, 20, room), 1e-9),
            )
            sums += (*ratios, counted_s, shared_s)
        means = (sums / len(windows)).tolist()
        names = ("B3M ratio", "F-B3M ratio", "B3M s", "F-B3M s")
        rows.append({"capacity, %": percent, **dict(zip(names, means, strict=True))})
    return rows


def _window(demand: Demand, events: Int64) -> Demand:
    who = np.repeat(np.arange(demand.n_subscribers), np.diff(demand.topics.offsets))
    window, _ = Demand.of(events, who, demand.topics.values)
    window.followers  # noqa: B018 - part of the statistics, not of the choice
    return window


def _timed(work: Callable[[], Selection]) -> tuple[Selection, float]:
    begun = time.perf_counter()
    return work(), time.perf_counter() - begun


def _compile() -> None:
    tiny, _ = Demand.of([3, 4, 5], [0, 0, 1], [0, 1, 2])
    b3m(tiny, 3, 5)
    for by in By:
        for lazy in (True, False):
            fb3m_by(by, tiny, 3, 5, lazy=lazy)
