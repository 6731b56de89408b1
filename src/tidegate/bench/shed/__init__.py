"""Benchmark `shed`: what shedding costs in matches, and the controller at work (S³-TM, Figures 26 and 27)."""

from dataclasses import asdict
from pathlib import Path

from tidegate.bench.report import Report, Scale
from tidegate.bench.shed.accuracy import Way, report_accuracy, report_at_share
from tidegate.bench.shed.control import report_control
from tidegate.bench.shed.plots import plot
from tidegate.bench.shed.scene import SIZES, Scene, Sizes

__all__ = ["plot", "run"]


def run(scale: Scale, seed: int = 1, posts: Path | None = None, sizes: Sizes | None = None) -> Report:
    """Measure both figures at `scale` (or of these `sizes`), on generated posts or the `text` of a Parquet file.

    Raise `TidegateError` if the matchers miss a match while nothing is shed, or find one twice.
    """
    scene = Scene.draw(sizes or SIZES[scale], seed, posts)
    report = Report("shed", scale, {"seed": seed, "posts_file": posts.name if posts else None, **asdict(scene.sizes)})
    every_word = Way.of("every word", scene, scene.router_by_every_word())
    keys = Way.of("keys alone", scene, scene.router)
    report_accuracy(report, "Figure 26: a post visits the owners of all its subscribed words, as in S³-TM", every_word)
    report_accuracy(report, "Figure 26, keys: a post visits only the matchers that keys lead to", keys)
    report_at_share(report, every_word, keys)
    report_control(report, every_word)
    return report
