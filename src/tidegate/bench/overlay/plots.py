"""The figures of a run as one page."""

from pathlib import Path
from typing import Final

from tidegate.bench.report import Report
from tidegate.bench.route.plots import Panel, draw_panels

_MISSED: Final = ("PolderCast", "PolderCast, no haste", "Scribe, at once", "Scribe")
_PANELS: Final = (
    Panel("Figure 3.4:", "Figure 3.4: share that follow at least so many", "at least", "follow, share", "graph", "xy"),
    Panel("Figure 3.4:", "Figure 3.4: share followed by so many", "at least", "are followed, share", "graph", "xy"),
    *(
        Panel("Figure 3.5: convergence", f"Figure 3.5: {what}", "cycle", what, "way", "xy")
        for what in ("missing links, %", "incomplete rings, %", "miss ratio, %", "disconnected topics, %")
    ),
    Panel("Figure 3.6:", "Figure 3.6: cycles until links are right", "from", "cycles, mean", "what", "x"),
    Panel("Figure 3.7:", "Figure 3.7: ring neighbours", "from", "ring neighbours", "graph", "xy"),
    Panel("Figures 3.8a", "Figure 3.8a: hops", "f", "mean hops", "shortcuts"),
    Panel("Figures 3.8a", "Figure 3.8b: duplication", "f", "duplication", "shortcuts"),
    Panel("Figure 3.8c:", "Figure 3.8c: topics that take at least so many hops", "hops", "topics, share", "way"),
    Panel("Figure 3.8c, by size:", "Figure 3.8c: hops by peers of a topic", "from", "mean hops", "way", "x"),
    Panel("Figure 3.8d:", "Figure 3.8d: peers that get events so often", "times", "peers, share", "way"),
    Panel("Figure 3.9:", "Figure 3.9: messages in a cycle, PolderCast", "from", "PolderCast", log="xy"),
    Panel("Figure 3.9:", "Figure 3.9: messages in a cycle, Scribe", "from", "Scribe", log="xy"),
    Panel("Figure 3.10:", "Figure 3.10: peers with more unwanted traffic, Scribe", "unwanted, more than", "Scribe"),
    Panel("Figure 3.10:", "Figure 3.10: the same, PolderCast", "unwanted, more than", "PolderCast"),
    Panel("Figure 3.11: who", "Figure 3.11: peers", "hour", "peers", "times"),
    *(Panel("Figure 3.11: who", f"Figure 3.11: missed, {name}", "hour", f"{name}, most", "times") for name in _MISSED),
    Panel("Adaptive", "Adaptive fan-out: missed by duplication", "duplication", "missed, mean", "pace"),
)


def plot(report: Report, path: Path) -> None:
    """Draw the figures of a report."""
    draw_panels(report, _PANELS, path)
