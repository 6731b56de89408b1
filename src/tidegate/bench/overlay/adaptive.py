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
from tidegate.bench.report import Report
from tidegate.overlay.swarm.churn import Churn
from tidegate.overlay.swarm.fan_out import AdaptiveFanOut
from tidegate.overlay.swarm.timed import Pace, Timed

TARGET: Final = 0.002
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


def rules() -> list[Rule]:
    """Fixed fan-outs, and the one that adapts."""
    adaptive = AdaptiveFanOut(TARGET)
    fixed = [Rule(f"f = {fan_out}", _all(fan_out), lambda _: None) for fan_out in _FIXED]
    return [*fixed, Rule(f"adaptive, target {TARGET}", adaptive.set, adaptive.learn)]


def report_adaptive(report: Report, sizes: Sizes, seed: int, churn: Path | None, latency: Path | None) -> None:
    """Compare missed events and copies."""
    weather = weather_of(sizes, sizes.adaptive, seed, churn, latency, spread=False)
    tried = rules()
    run_rules(tried, weather)
    sudden = weather.sharp | weather.crowded
    report.section(
        "Adaptive fan-out: events under way while peers come and go",
        [
            {
                "rule": rule.name,
                "missed, mean": float(np.mean(rule.missed)),
                "calm, most": float(np.max(np.array(rule.missed)[~sudden], initial=0.0)),
                "drops and crowds, most": float(np.max(np.array(rule.missed)[sudden], initial=0.0)),
                "duplication": rule.copies / max(rule.reached, 1),
                "seconds, mean": float(np.mean(rule.delays)),
            }
            for rule in tried
        ],
        f"{weather.cycles} minutes; of the peers, those that missed an event. The target is of the mean.",
    )


def run_rules(tried: list[Rule], weather: Weather) -> None:
    """Let all rules go through the same minutes."""
    system = PolderCast(weather, Pace())
    for cycle in range(weather.cycles):
        until = system.begin + (cycle + 1) * CYCLE_S
        for rule in tried[:-1]:
            rule.publish(deepcopy(system.timed), system.churn, until)
        tried[-1].publish(system.timed, system.churn, until)


def _all(fan_out: int) -> Callable[[Timed], None]:
    def tell(timed: Timed) -> None:
        timed.spreading.fan_outs[:] = fan_out

    return tell
