"""Figures 12 to 16 as one picture."""

from pathlib import Path
from typing import Any, Final

from tidegate.bench.report import Report, Section

_DELAYS: Final = ("< 100 ms, %", "100 ms to 1 s, %", "> 1 s, %")


def plot(report: Report, path: Path) -> None:
    """Draw the figures of a report: a row for every number of queries, and one for the switching regions."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - drawing is optional

    choosing, migrations, delays, switching = (
        [section for section in report.sections if section.title.startswith(title)]
        for title in ("Figures 12a", "Figures 12b", "Figures 12c", "Figure 16")
    )
    figure = Figure(figsize=(18, 4.5 * (len(choosing) + 1)), layout="constrained")
    rows = figure.subplots(len(choosing) + 1, 3)
    for axes, first, second, third in zip(rows, choosing, migrations, delays, strict=False):
        _draw_bars(axes[0], first, "ms", log=True)
        _draw_costs(axes[1], second)
        _draw_delays(axes[2], third)
    for axes, names in zip(
        rows[-1], (("off, tuples/s", "on, tuples/s"), ("off, imbalance", "on, imbalance"), ("gain",)), strict=True
    ):
        _draw_lines(axes, switching[0], names)
    figure.savefig(path, dpi=110)


def _draw_bars(axes: Any, section: Section, measure: str, *, log: bool = False) -> None:
    rows = [row for row in section.rows if row[measure] is not None]
    axes.bar([row["way"] for row in rows], [row[measure] for row in rows])
    if log:
        axes.set_yscale("log")
    _label(axes, section, measure)


def _draw_costs(axes: Any, section: Section) -> None:
    _draw_bars(axes, section, "cost, bytes")
    axes.twinx().plot([row["way"] for row in section.rows], [row["ms"] for row in section.rows], "k.--")
    axes.plot([], [], "k.--", label="ms (right)")
    axes.legend(fontsize=7)


def _draw_delays(axes: Any, section: Section) -> None:
    ways, below = [row["way"] for row in section.rows], [0.0] * len(section.rows)
    for name in _DELAYS:
        shares = [row[name] for row in section.rows]
        axes.bar(ways, shares, bottom=below, label=name)
        below = [low + share for low, share in zip(below, shares, strict=True)]
    axes.legend(fontsize=7)
    _label(axes, section, "tuples, %")


def _draw_lines(axes: Any, section: Section, names: tuple[str, ...]) -> None:
    for name in names:
        axes.plot(
            [row["interval"] for row in section.rows], [row[name] for row in section.rows], marker=".", label=name
        )
    axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
    axes.set_xlabel("interval")
    axes.legend(fontsize=7)
    _label(axes, section, names[0] if len(names) == 1 else "")


def _label(axes: Any, section: Section, y: str) -> None:
    axes.set_title(section.title, fontsize=8, wrap=True)
    axes.set_ylabel(y)
