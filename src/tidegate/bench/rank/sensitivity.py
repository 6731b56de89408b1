"""Figures 5 to 8: what B-CHUNK is sensitive to."""

from typing import Any, Final, get_args

import numpy as np

from tidegate.bench.rank.scene import AN_EDGE, COUNT, OF_THE_PAPER, Scene, Scoring
from tidegate.bench.rank.sizes import Sizes
from tidegate.bench.report import Report, Row
from tidegate.overlay.borders import CommonStretches, EveryCount
from tidegate.overlay.setting import Setting
from tidegate.rank.windows import Windows

FILLED: Final = f"cores, {AN_EDGE} an edge"
_SHIFTS: Final = (1, 2, 4, 5, 10, 20)
_SUBSCRIBERS: Final = 100
"""Where their number does not matter."""
_READERS: Final = 4
"""Where delays are simulated message by message, and posts are many."""
_CHUNKS: Final = 3
"""That every source fills, where there are several."""
_PARAMETERS: Final = (
    *((k, 20, 100) for k in (1, 2, 5)),
    *((1, width, 100) for width in (10, 50)),
    *((1, 20, count) for count in (40, 200, 400)),
)
"""k, W and C."""
_PAPER_SHIFT: Final = {1: 1.0, 20: 0.43}
_PAPER_ZIPF: Final = {100: 0.83}


def fractions(scene: Scene, setting: Setting) -> dict[str, float]:
    """Return what the source and the cores send on, EDGE being 1."""
    ours, edge = scene.counted(setting), scene.counted(Setting("EDGE"))
    return {
        "source": ours.sent_by(scene.sources) / edge.sent_by(scene.sources),
        "all cores": ours.sent_by(scene.cores) / edge.sent_by(scene.cores),
    }


def _filled(n: int, posts: int, seed: int, setting: Setting, **drawn: Any) -> dict[str, float]:
    """The same, and what the cores send if edge brokers are filled one after the other."""
    spread, filled = (Scene.draw(n, posts, seed, each=each, **drawn) for each in (None, AN_EDGE))
    return fractions(spread, setting) | {FILLED: fractions(filled, setting)["all cores"]}


def report_shift(report: Report, sizes: Sizes, seed: int) -> None:
    """Report Figure 5."""
    rows: list[Row] = []
    for shift in _SHIFTS:
        windows = Windows(OF_THE_PAPER.k, OF_THE_PAPER.width, shift)
        scene = Scene.draw(_SUBSCRIBERS, sizes.posts, seed, windows=windows)
        few = Scene.draw(_READERS, sizes.late_posts, seed, windows=windows)
        late = few.simulated(Setting("B-CHUNK")).latencies(_READERS - 1, few.posts)
        rows.append(
            {
                "δ/W": shift / windows.width,
                **fractions(scene, Setting("B-CHUNK")),
                "paper, source": _PAPER_SHIFT.get(shift),
                "delivered, %": 100 * len(late) / sizes.late_posts,
                "mean, s": float(np.mean(late)),
            }
        )
    report.section(
        "Figure 5: δ/W, with falling scores, the worst case",
        rows,
        note="mean: seconds to delivery, at the farthest subscriber. The best of a window is its first, and waits for "
        "the others, 76 s, whatever the shift (the paper's is less for small ones); across chunks, for a guard as well",
    )


def report_parameters(report: Report, sizes: Sizes, seed: int) -> None:
    """Report k, W and C, beside what they come to by counting."""
    rows: list[Row] = []
    for k, width, count in _PARAMETERS:
        scene = Scene.draw(_SUBSCRIBERS, sizes.posts // count * count, seed, windows=Windows(k, width, width))
        rows.append(
            {
                "k": k,
                "W": width,
                "C": count,
                **fractions(scene, Setting("B-CHUNK", EveryCount(count))),
                "(2W + k(C/W − 2))/C": (2 * width + k * (count / width - 2)) / count,
            }
        )
    report.section("k, W and C: deterministic scores, tumbling windows", rows)


def report_delay(report: Report, sizes: Sizes, seed: int) -> None:
    """Report Figure 6, and whether synchronised chunks help."""
    rows: list[Row] = []
    ways = {
        "2-phase": (False, Setting("B-CHUNK")),
        "mixed": (True, Setting("B-CHUNK")),
        "mixed, synchronised": (True, Setting("B-CHUNK", CommonStretches(COUNT, COUNT))),
    }
    for n in sizes.subscribers:
        for name, (mixed, setting) in ways.items():
            paper = 0.43 if not mixed else 1.0 if n >= 100 and name == "mixed" else None
            core = {"2-phase": 0.43, "mixed": 0.8}.get(name)
            rows.append(
                {"subscribers": n, "setup": name, **_filled(n, sizes.posts, seed, setting, mixed=mixed)}
                | {"paper, source": paper, "paper, cores": core}
            )
    report.section(
        "Figure 6: publication delay",
        rows,
        note="mixed: a subscriber joins every second, and a post is published every 4; who joins together is read "
        "at the same edge. Paper: saturated from 100 subscribers on; at the cores a stable 20 % less, as an edge has "
        "50 subscribers: so it is if edges are filled in turn, but not if few are spread over all. "
        "Synchronised chunks do not help where all score by time: windows that begin apart have other winners",
    )


def report_scoring(report: Report, sizes: Sizes, seed: int) -> None:
    """Report Figure 7."""
    rows: list[Row] = []
    for n in sizes.subscribers:
        for scoring in get_args(Scoring):
            paper = {"deterministic": 0.43, "uniform": 1.0}.get(scoring, _PAPER_ZIPF.get(n, 1.0 if n > 400 else None))
            ours = _filled(n, sizes.posts, seed, Setting("B-CHUNK"), scoring=scoring)
            rows.append({"subscribers": n, "scoring": scoring, **ours, "paper, source": paper})
    report.section(
        "Figure 7: scoring",
        rows,
        note="Zipfian: a global score up to 100, and what a subscriber adds, by a Zipf law of exponent 2; the paper "
        "tells neither. At the cores, the paper's are constant, as an edge has 50 subscribers: so are ours, if edges "
        "are filled in turn",
    )


def report_publishers(report: Report, sizes: Sizes, seed: int) -> None:
    """Report Figure 8."""
    rows: list[Row] = []
    for publishers in sizes.publishers:
        for placement, sources in {"clustered": 1, "uniform": publishers}.items():
            posts = _CHUNKS * COUNT * sources
            scene = Scene.draw(_READERS, posts, seed, sources=sources)
            late = scene.simulated(Setting("B-CHUNK")).latencies(_READERS - 1, scene.posts)
            rows.append(
                {
                    "publishers": publishers,
                    "placement": placement,
                    "source": fractions(scene, Setting("B-CHUNK"))["source"],
                    "paper, source": 0.43,
                    "mean, s": float(np.mean(late)),
                    "longest, s": max(late),
                }
            )
    report.section(
        "Figure 8: publishers at one source broker, or each at its own",
        rows,
        note="15 posts a minute in all. At one broker they make one stream, whatever their number. At several, windows "
        "fill more slowly, and whole chunks wait for the one that is read: both in proportion to the sources. The "
        "paper calls its growth exponential, and gives no figures",
    )
