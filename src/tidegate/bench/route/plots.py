"""The figures of a run as one page of small multiples."""

from collections.abc import Sequence
from math import ceil
from pathlib import Path
from typing import Any, Final, NamedTuple

from tidegate.bench.report import Report, Row, Section

_ACROSS: Final = 4


class Panel(NamedTuple):
    """A figure of a section: `y` over `x`, a line for every value of `by`; bars where nothing but names is along."""

    section: str
    title: str
    x: str
    y: str
    by: str = ""
    log: str = ""
    """Which axes are logarithmic."""


def quartet(section: str, kind: str, x: str, first: int) -> tuple[Panel, ...]:
    """Return the four figures that the paper has of an experiment, the first of them with this number."""
    measures = (("× SALB", "x"), ("throughput", "xy"), ("spread", "x"), ("imbalance", "xy"))
    return tuple(
        Panel(section, f"Figure {first + i}: {measure}, {kind}", x, measure, "map", log)
        for i, (measure, log) in enumerate(measures)
    )


_PANELS: Final = (
    Panel("Figure 3:", "Figure 3: look-ups", "unique words", "look-ups", "index"),
    Panel("Figure 4:", "Figure 4: word frequencies", "rank", "posts with the word", log="xy"),
    Panel("Figures 13 and 28:", "Figure 13: throughput by posts learned from", "posts", "throughput", "map", "x"),
    Panel("Figures 13 and 28:", "Figure 28: learning time", "posts", "seconds", "map", "xy"),
    *quartet("Figures 5 to 8:", "tweet-based", "matchers", 5),
    *quartet("Figures 9 to 12:", "topic-based", "matchers", 9),
    *quartet("Figures 14 to 17:", "tweet-based", "subscriptions", 14),
    *quartet("Figures 18 to 21:", "topic-based", "subscriptions", 18),
    Panel("Clocked maps, tweet-based:", "Figure 5 by matcher clocks", "matchers", "× SALB", "map", "x"),
    Panel("Clocked maps, topic-based:", "Figure 9 by matcher clocks", "matchers", "× SALB", "map", "x"),
    Panel("Clocked plans, ", "Plans by matcher clocks", "plan", "posts/s"),
    Panel("Growth:", "Plans by matcher clocks", "subscriptions", "posts/s", "plan", "xy"),
)


def plot(report: Report, path: Path) -> None:
    """Draw the report's figures into one picture; what was not run is left out."""
    draw_panels(report, _PANELS, path)


def draw_panels(report: Report, panels: Sequence[Panel], path: Path) -> None:
    """Draw these figures, as far as the report has them, into one picture."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - drawing is optional

    drawn = [
        (panel, section) for panel in panels for section in report.sections if section.title.startswith(panel.section)
    ]
    figure = Figure(figsize=(6 * _ACROSS, 4.5 * ceil(len(drawn) / _ACROSS)), layout="constrained")
    for place, (panel, section) in enumerate(drawn, 1):
        _draw(figure.add_subplot(ceil(len(drawn) / _ACROSS), _ACROSS, place), panel, section)
    figure.savefig(path, dpi=110)


def _draw(axes: Any, panel: Panel, section: Section) -> None:
    if isinstance(section.rows[0][panel.x], str):
        axes.barh([row[panel.x] for row in section.rows], [row[panel.y] for row in section.rows])
        axes.set_title(section.title, fontsize=8, wrap=True)
        return
    for name, rows in _lines(section, panel).items():
        heights = [row[panel.y] for row in rows]
        errors = [row.get(f"{panel.y} ±") or 0.0 for row in rows]
        axes.errorbar([row[panel.x] for row in rows], heights, errors, marker=".", capsize=2, label=name or panel.y)
    axes.set_xlabel(panel.x)
    axes.set_title(panel.title, fontsize=9)
    if "x" in panel.log:
        axes.set_xscale("log")
    if "y" in panel.log:
        axes.set_yscale("log")
    axes.tick_params(labelsize=7)
    axes.legend(fontsize=6)


def _lines(section: Section, panel: Panel) -> dict[str, list[Row]]:
    lines: dict[str, list[Row]] = {}
    for row in section.rows:
        if row[panel.y] is not None:
            lines.setdefault(str(row.get(panel.by, "")), []).append(row)
    return lines
