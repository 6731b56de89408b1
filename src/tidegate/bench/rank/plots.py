"""The figures of a run as one page."""

from pathlib import Path
from typing import Final

from tidegate.bench.rank.sensitivity import FILLED
from tidegate.bench.report import Report
from tidegate.bench.route.plots import Panel, draw_panels

_PANELS: Final = (
    Panel("Figure 3a", "Figure 3a: publications at the source, EDGE being 1", "subscribers", "source", "way", "y"),
    Panel("Figure 3b", "Figure 3b: seconds to delivery", "subscribers", "mean, s", "way", "y"),
    Panel("Figure 5:", "Figure 5a: publications at the source", "δ/W", "source"),
    Panel("Figure 5:", "Figure 5b: seconds to delivery", "δ/W", "mean, s"),
    Panel("Figure 6:", "Figure 6a: publications at the source", "subscribers", "source", "setup"),
    Panel("Figure 6:", "Figure 6b: publications at the cores", "subscribers", FILLED, "setup"),
    Panel("Figure 7:", "Figure 7a: publications at the source", "subscribers", "source", "scoring"),
    Panel("Figure 7:", "Figure 7b: publications at the cores", "subscribers", FILLED, "scoring"),
    Panel("Figure 8:", "Figure 8: seconds to delivery", "publishers", "mean, s", "placement", "y"),
    Panel("Figure 9:", "Figure 9: followers by rank, Facebook-like", "rank", "Facebook-like", log="xy"),
    Panel("Figure 9:", "Figure 9: followers by rank, Twitter-like", "rank", "Twitter-like", log="xy"),
    *(
        Panel(f"Figure 10, {graph}:", f"Figure 10, {graph}: {measure}", "subscribers", measure, "chunks")
        for graph in ("Facebook-like", "Twitter-like")
        for measure in ("source, % less", "cores, % less")
    ),
)


def plot(report: Report, path: Path) -> None:
    """Draw the figures of a report."""
    draw_panels(report, _PANELS, path)
