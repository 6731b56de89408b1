"""Figure 27: the controller before a queue whose rate doubles, falls to a sixteenth, and returns."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import ceil
from typing import Final, NamedTuple

from tidegate.bench.report import Report, Row
from tidegate.bench.shed.accuracy import Shed, Way
from tidegate.route.shed_control import Controller, segments
from tidegate.route.shedding import Levels

_LEVELS: Final = Levels()
_RATES: Final = ((0, 16_000), (500, 32_000), (1_000, 2_000), (1_500, 16_000))
"""From a second on: posts a second."""
_END: Final = 2_000
_PAPER_LEVELS: Final = {500: 7}
_UNSHED: Final = 12_000
"""Posts a second that the matchers can take while nothing is shed: less than usual, so that each rate has its level."""
_BUFFER: Final = 160_000
"""Posts: ten seconds of the usual rate."""
_SETTLING: Final = 60
"""Seconds after a change of the rate; what comes later is told of it."""


class Second(NamedTuple):
    """The queue at the beginning of a second, the level set there, and the posts that leave it in that second."""

    rate: int
    waiting: int
    level: int
    served: float


def simulated(loads: Sequence[float]) -> Iterator[Second]:
    """Let posts queue for matchers that can take a fixed number of visits a second; `loads` are visits by level."""
    controller = Controller(_LEVELS, segments(_BUFFER, loads))
    waiting = 0.0
    for (start, rate), (end, _) in pairwise([*_RATES, (_END, 0)]):
        for now in range(start, end):
            level = controller.observe(ceil(waiting), now)
            served = min(waiting + rate, _UNSHED * loads[0] / loads[level])
            yield Second(rate, ceil(waiting), level, served)
            waiting += rate - served


def report_control(report: Report, way: Way) -> None:
    """Measure the load of every level, and let the controller run on that."""
    levels = [way.at(_LEVELS.most(level)) for level in range(_LEVELS.count + 1)]
    loads = [at.load for at in levels]
    parts = segments(_BUFFER, loads)
    report.section(
        "Levels of subscription shedding",
        [
            {
                "level": level,
                "matchers a post": "all" if level == 0 else f"{at.most:.3g}",
                "visits a post": at.load,
                "load shed, %": 100 * at.shed,
                "matches found, %": 100 * at.subscriptions,
            }
            for level, at in enumerate(levels)
        ],
        note=f"equation 9: of a buffer of {_BUFFER:,} posts, {parts.ideal:,} are ideal and {parts.stable:,} stable",
    )
    seconds = list(simulated(loads))
    report.section(
        "Rates: what the controller makes of them",
        list(_by_rate(seconds, levels)),
        note=f"the matchers are assumed to take {_UNSHED:,} posts/s unshed; the paper does not say what its own took, "
        "so that its level shows the shape, not a value to be met",
    )
    report.section("Figure 27: the level over time", list(_changes(seconds)))


def _by_rate(seconds: list[Second], levels: list[Shed]) -> Iterator[Row]:
    for start, end in pairwise([*(start for start, _ in _RATES), _END]):
        settled = seconds[start + _SETTLING : end]
        served = sum(second.served for second in settled)
        yield {
            "from second": start,
            "posts/s": settled[0].rate,
            "levels": ", ".join(str(level) for level in sorted({second.level for second in settled})),
            "paper": _PAPER_LEVELS.get(start),
            "changes": sum(before.level != after.level for before, after in pairwise(settled)),
            "most waiting": max(second.waiting for second in seconds[start:end]),
            "matches found, %": 100 * sum(one.served * levels[one.level].subscriptions for one in settled) / served,
        }


def _changes(seconds: list[Second]) -> Iterator[Row]:
    """Yield the seconds at which the level or the rate changed, and the last."""
    for now, (before, second) in enumerate(pairwise([seconds[0]._replace(rate=0), *seconds])):
        if (before.level, before.rate) != (second.level, second.rate) or now == len(seconds) - 1:
            yield {"second": now, "posts/s": second.rate, "waiting": second.waiting, "level": second.level}
