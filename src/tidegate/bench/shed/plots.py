"""Figures 26, for both ways to route, and 27 as one picture, drawn as the paper draws them."""

from pathlib import Path
from typing import Any

from tidegate.bench.report import Report, Section


def plot(report: Report, path: Path) -> None:
    """Draw the figures of a report."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - drawing is optional

    titled = {section.title.split(":")[0]: section for section in report.sections}
    figure = Figure(figsize=(18, 5), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    _draw_accuracy(left, titled["Figure 26"])
    _draw_accuracy(middle, titled["Figure 26, keys"])
    _draw_levels(right, titled["Figure 27"])
    figure.savefig(path, dpi=110)


def _draw_accuracy(axes: Any, section: Section) -> None:
    rows = [row for row in section.rows if row["matchers a post"] != "all"]
    most = [float(row["matchers a post"]) for row in rows]
    for name in rows[0]:
        if name.endswith("% found"):
            axes.plot(most, [row[name] for row in rows], marker=".", label=name.removesuffix(", % found"))
    axes.twinx().plot(most, [row["load shed, %"] for row in rows], "k--")
    axes.plot([], [], "k--", label="load shed, % (right)")
    _label(axes, section, x="most matchers a post visits", y="matches found, %")
    axes.invert_xaxis()


def _draw_levels(axes: Any, section: Section) -> None:
    seconds = [row["second"] for row in section.rows]
    axes.step(seconds, [row["posts/s"] for row in section.rows], where="post", linewidth=3, label="posts/s")
    axes.twinx().step(seconds, [row["level"] for row in section.rows], "k", where="post", linewidth=0.8)
    axes.plot([], [], "k", linewidth=0.8, label="level (right)")
    _label(axes, section, x="seconds", y="posts/s")


def _label(axes: Any, section: Section, x: str, y: str) -> None:
    axes.set_title(section.title, fontsize=8, wrap=True)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.legend(fontsize=7, loc="best")
