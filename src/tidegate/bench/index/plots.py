"""The figures of a run as one page of small multiples."""

from math import ceil
from pathlib import Path
from typing import Any, Final, NamedTuple

from tidegate.bench.report import Report, Section

_ACROSS: Final = 3


class _Panel(NamedTuple):
    """How a section is drawn: `x` along, the columns `ys` (default: every other column of numbers) upwards."""

    section: str
    x: str
    ys: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    log: str = ""
    """Which axes are logarithmic."""
    is_bars: bool = False


_MORE: Final = ("ROT, % more", "POT, % more", "paper, % more")
_PANELS: Final = (
    _Panel("Matching", "index", ys=("µs an item", "median", "paper, µs"), log="y", is_bars=True),
    _Panel("Table 3", "terms", ys=("visited", "Theorem 2")),
    _Panel("Figure 2", "from rank", ys=("occurrences (CIL)", "ROT nodes"), log="xy"),
    _Panel("Figure 3", "terms", without=("subscriptions", "ROT nodes")),
    _Panel("Figure 4", "order", ys=_MORE, is_bars=True),
    _Panel("Figure 5", "order", ys=_MORE, is_bars=True),
    _Panel("Figure 6", "distribution", is_bars=True),
    _Panel("Figure 7", "distribution", log="y", is_bars=True),
    _Panel("Figure 8", "subscribed terms", without=("subscriptions",), log="y"),
    _Panel("Figure 9", "subscriptions", without=("subscribed terms",), log="xy"),
    _Panel("Figure 10", "subscribed terms", without=("subscriptions",), log="y"),
    _Panel("Figure 11", "subscriptions", without=("subscribed terms",), log="xy"),
    _Panel("Rivals", "engine", ys=("posts/s",), log="y", is_bars=True),
)


def plot(report: Report, path: Path) -> None:
    """Draw the report's figures into one picture; what was not run is left out."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - drawing is optional

    drawn = [
        (panel, section)
        for panel in _PANELS
        for section in report.sections
        if section.title.startswith(f"{panel.section}:")
    ]
    figure = Figure(figsize=(6 * _ACROSS, 4 * ceil(len(drawn) / _ACROSS)), layout="constrained")
    for place, (panel, section) in enumerate(drawn, 1):
        _draw(figure.add_subplot(ceil(len(drawn) / _ACROSS), _ACROSS, place), panel, section)
    figure.savefig(path, dpi=110)


def _draw(axes: Any, panel: _Panel, section: Section) -> None:
    along = [row[panel.x] for row in section.rows]
    series = panel.ys or tuple(name for name in section.rows[0] if name not in (panel.x, *panel.without))
    series = tuple(name for name in series if any(row[name] is not None for row in section.rows))
    for i, name in enumerate(series):
        heights = [float("nan") if row[name] is None else row[name] for row in section.rows]
        if panel.is_bars:
            width = 0.8 / len(series)
            axes.bar([place + (i + 0.5) * width - 0.4 for place in range(len(along))], heights, width, label=name)
        else:
            # The paper prints single points of most curves.
            style = {"linestyle": "none", "marker": "x"} if name.startswith("paper") else {"marker": "."}
            axes.plot(along, heights, label=name, **style)
    if panel.is_bars:
        axes.set_xticks(range(len(along)), along)
    else:
        axes.set_xlabel(panel.x)
    if "x" in panel.log:
        axes.set_xscale("log")
    if "y" in panel.log:
        axes.set_yscale("log")
    axes.set_title(section.title, fontsize=8, wrap=True)
    axes.tick_params(labelsize=7)
    axes.legend(fontsize=6)
