"""Figure 3: EDGE, CHUNK and B-CHUNK beside each other, as subscribers grow in number."""

from typing import Final, get_args

import numpy as np

from tidegate.bench.rank.scene import COUNT, HOP, OF_THE_PAPER, SECONDS_A_POST, Scene
from tidegate.bench.rank.sizes import Sizes
from tidegate.bench.report import Report, Row
from tidegate.overlay.setting import Setting, Way
from tidegate.overlay.traffic import Traffic

PAPER_ONCE: Final = 0.43
LINK_RATE: Final = 50.0
"""Publications a second that a link carries: what CHUNK needs at about 470 subscribers, where the paper's saturates."""
_COVERED: Final = "CHUNK, covered"


def report_traffic(report: Report, sizes: Sizes, seed: int) -> None:
    """Report Figure 3a, at all measuring points; and what covering and rechunking change."""
    rows: list[Row] = []
    for n in sizes.subscribers:
        scene = Scene.draw(n, sizes.posts, seed)
        settings = {way: Setting(way) for way in get_args(Way)}
        settings |= {_COVERED: Setting("CHUNK", cover=True), "B-CHUNK, covered": Setting("B-CHUNK", cover=True)}
        settings["B-CHUNK, 5 rechunked"] = Setting("B-CHUNK", together=5)
        edge = scene.counted(settings["EDGE"])
        for name, setting in settings.items():
            paper = {"EDGE": 1.0, "CHUNK": PAPER_ONCE * n, "B-CHUNK": PAPER_ONCE}.get(name)
            rows.append(_row(scene, n, name, scene.counted(setting), edge) | {"paper, source": paper})
    report.section(
        "Figure 3a: publications sent on, EDGE being 1; k = 1, W = δ = 20, C = 100, deterministic scores",
        rows,
        note="ids: bytes by which chunks are told, apart, for each post at the source. Delivered: of the matches, what "
        "leaves the subscribers' edges. Paper: B-CHUNK 57 % less; CHUNK as it follows (0.43 a subscriber)",
    )


def _row(scene: Scene, n: int, name: str, traffic: Traffic, edge: Traffic) -> Row:
    first = [scene.chain.core_of(scene.sources[0])]
    return {
        "subscribers": n,
        "way": name,
        "source": traffic.sent_by(scene.sources) / edge.sent_by(scene.sources),
        "first core": traffic.sent_by(first) / edge.sent_by(first),
        "all cores": traffic.sent_by(scene.cores) / edge.sent_by(scene.cores),
        "delivered, %": 100 * traffic.delivered / traffic.matched,
        "ids, B/post": traffic.told_by(scene.sources) / len(scene.posts.times),
    }


def report_latency(report: Report, sizes: Sizes, seed: int) -> None:
    """Report Figure 3b."""
    rows: list[Row] = []
    for n in sizes.late:
        scene = Scene.draw(n, sizes.late_posts, seed)
        for way in get_args(Way):
            run = scene.simulated(Setting(way), LINK_RATE)
            late = run.latencies(n - 1, scene.posts)
            rows.append(
                {
                    "subscribers": n,
                    "way": way,
                    "mean, s": float(np.mean(late)),
                    "longest, s": max(late),
                    "link load": _load(n, way),
                }
            )
    report.section(
        "Figure 3b: seconds from publication to delivery, at the farthest subscriber",
        rows,
        note=f"message by message, {sizes.late_posts:,} posts, one in {SECONDS_A_POST:g} s; a hop takes {HOP:g} s, and "
        f"a link carries {LINK_RATE:g} publications a second, both assumed: link load is what the source's link is "
        "asked for, of that. A window takes 76 s to fill. Paper: B-CHUNK and EDGE alike, CHUNK saturated near 500",
    )


def _load(n: int, way: Way) -> float:
    """The share of its rate that the link of a source is asked for."""
    windows = COUNT / OF_THE_PAPER.width
    sent = (2 * OF_THE_PAPER.width + OF_THE_PAPER.k * (windows - 2)) / COUNT
    publications = {"EDGE": 1.0, "CHUNK": n * sent, "B-CHUNK": sent}[way]
    return publications / SECONDS_A_POST / LINK_RATE
