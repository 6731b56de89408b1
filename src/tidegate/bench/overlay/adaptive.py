"""Beyond the thesis: a fan-out that adapts, beside fixed ones, under the same churn.

Events are under way while peers come and go. In every minute each rule has its own copy of the same overlay: what
becomes of that does not depend on events.
"""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np

from tidegate.bench.overlay.churned import CYCLE_S, PolderCast, Weather, missed_share, weather_of
from tidegate.bench.overlay.sizes import Sizes
from tidegate.bench.report import Report, Row
from tidegate.overlay.swarm.churn import Churn
from tidegate.overlay.swarm.fan_out import AdaptiveFanOut
from tidegate.overlay.swarm.swarm import Flags
from tidegate.overlay.swarm.timed import AS_PRINTED, Pace, Timed

_PACES: Final = {"haste": (Pace(), 0.001), "no haste": (AS_PRINTED, 0.01)}
"""Targets, too: without haste more is missed whatever the fan-out."""
_FIXED: Final = (2, 3, 4, 5)


@dataclass
class Rule:
    """Says how many copies peers send, and what came of it."""

    name: str
    set: Callable[[Timed], None]
    learn: Callable[[float], None]
    missed: list[float] = field(default_factory=list)
    copies: int = 0
    reached: int = 0
    delays: list[float] = field(default_factory=list)

    def publish(self, timed: Timed, churn: Churn, until: float) -> None:
        """Publish one event for every topic, and see later who has it."""
        self.set(timed)
        timed.publish()
        timed.run(until, churn)
        outcome = timed.outcome()
        share = missed_share(outcome.missed, timed.swarm.up & (outcome.missed + outcome.received > 0))
        self.missed.append(share)
        self.copies += int(outcome.copies.sum())
        self.reached += int(outcome.reached.sum())
        self.delays.append(timed.mean_delay_s())
        self.learn(share)


def rules(target: float) -> list[Rule]:
    """Fixed fan-outs, and the one that adapts."""
    adaptive = AdaptiveFanOut(target)
    fixed = [Rule(f"f = {fan_out}", _all(fan_out), lambda _: None) for fan_out in _FIXED]
    return [*fixed, Rule(f"adaptive, target {target}", adaptive.set, adaptive.learn)]


def report_adaptive(report: Report, sizes: Sizes, seed: int, churn: Path | None, latency: Path | None) -> None:
    """Compare missed events and copies."""
    weather = weather_of(sizes, sizes.adaptive, seed, churn, latency, spread=False)
    rows: list[Row] = []
    for pace, (kept, target) in _PACES.items():
        tried = rules(target)
        run_rules(tried, weather, kept)
        rows += [_row(pace, rule, weather.sharp | weather.crowded) for rule in tried]
    report.section(
        "Adaptive fan-out: events under way while peers come and go",
        rows,
        f"{weather.cycles} minutes; of the peers, those that missed an event. The target is of the mean. "
        "The rule that adapts is told the share that missed an event, which peers can but estimate.",
    )


def _row(pace: str, rule: Rule, sudden: Flags) -> Row:
    missed = np.array(rule.missed)
    return {
        "pace": f"{pace}, {'fixed' if rule.name.startswith('f') else 'adaptive'}",
        "rule": rule.name,
        "missed, mean": float(missed.mean()),
        "calm, most": float(missed[~sudden].max(initial=0.0)),
        "drops and crowds, most": float(missed[sudden].max(initial=0.0)),
        "duplication": rule.copies / max(rule.reached, 1),
        "seconds, mean": float(np.mean(rule.delays)),
    }


def run_rules(tried: list[Rule], weather: Weather, pace: Pace) -> None:
    """Let all rules go through the same minutes."""
    system = PolderCast(weather, pace)
    for cycle in range(weather.cycles):
        until = system.begin + (cycle + 1) * CYCLE_S
        for rule in tried[:-1]:
            rule.publish(deepcopy(system.timed), system.churn, until)
        tried[-1].publish(system.timed, system.churn, until)


def _all(fan_out: int) -> Callable[[Timed], None]:
    def tell(timed: Timed) -> None:
        timed.spreading.fan_outs[:] = fan_out

    return tell
