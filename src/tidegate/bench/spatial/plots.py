"""Figures 6 to 11 as one picture: a row of panels for every world, kind of queries and index."""

from pathlib import Path
from typing import Any, Final

from tidegate.bench.report import Report, Section

_BARS: Final = (
    ("Figures 6 and 7: tuples/s", "tuples/s"),
    ("Figure 8: latency, ms", "latency, ms"),
    ("Figure 9: a router, MB", "router, MB"),
    ("Figure 10: a matcher, MB", "matcher, MB"),
)


def plot(report: Report, path: Path) -> None:
    """Draw the report's figures into one picture."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - drawing is optional

    titled = {section.title.split(":")[0]: section for section in report.sections}
    cases = [title.removeprefix("Figures 6 to 10, ") for title in titled if title.startswith("Figures 6 to 10, ")]
    across = len(_BARS) + 1
    figure = Figure(figsize=(5 * across, 3.2 * len(cases)), layout="constrained")
    panels = figure.subplots(len(cases), across, squeeze=False)
    for case, row in zip(cases, panels, strict=True):
        bars = titled[f"Figures 6 to 10, {case}"]
        for axes, (title, column) in zip(row, _BARS, strict=False):
            _draw_bars(axes, bars, f"{title}\n{case}", column)
        scaling = titled.get(f"Figure 11, {case}")
        if scaling is None:
            row[-1].axis("off")
        else:
            _draw_scaling(row[-1], scaling, f"Figure 11: tuples/s\n{case}")
    figure.savefig(path, dpi=90)


def _draw_bars(axes: Any, section: Section, title: str, column: str) -> None:
    axes.bar([row["partitioning"] for row in section.rows], [row[column] for row in section.rows])
    axes.tick_params(axis="x", labelrotation=30, labelsize=7)
    axes.set_title(title, fontsize=8)


def _draw_scaling(axes: Any, section: Section, title: str) -> None:
    for name in dict.fromkeys(row["partitioning"] for row in section.rows):
        rows = [row for row in section.rows if row["partitioning"] == name]
        axes.plot([row["matchers"] for row in rows], [row["tuples/s"] for row in rows], marker=".", label=name)
    axes.set_xscale("log", base=2)
    axes.set_xlabel("matchers", fontsize=7)
    axes.set_title(title, fontsize=8)
    axes.legend(fontsize=7)
