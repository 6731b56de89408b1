"""Beyond the thesis: a fan-out that adapts, beside fixed ones, under the same churn.

Events are under way while peers come and go. In every minute each rule has its own copy of the same overlay: what
becomes of that does not depend on events. There is another weather besides, in which much is missed in every minute:
only there can one see what is learned.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np

from tidegate.bench.overlay.churned import PolderCast, missed_share
from tidegate.bench.overlay.sizes import Sizes
from tidegate.bench.overlay.weather import CYCLE_S, Weather, gusty, weather_of
from tidegate.bench.report import Report, Row
from tidegate.overlay.poldercast.ringcast import BY_BOTH, LEAST_FAN_OUT
from tidegate.overlay.swarm.churn import Churn
from tidegate.overlay.swarm.fan_out import AdaptiveFanOut
from tidegate.overlay.swarm.spreading import Spreading
from tidegate.overlay.swarm.swarm import Flags
from tidegate.overlay.swarm.timed import AS_PRINTED, Pace, Timed
from tidegate.workload.terms import Floats

_PACES: Final = {"haste": (Pace(), (0.002, 0.0005)), "no haste": (AS_PRINTED, (0.05, 0.01))}
"""Targets, too: without haste more is missed whatever the fan-out."""
GUSTS: Final = "gusts"
_GUSTY_TARGETS: Final = (0.01, 0.0025)
"""What some fixed rules hold, and what hardly any does."""
_FIXED: Final = (2, 3, 4, 5)
_AS_MANY: Final = 1.01
"""Times the copies: what has learned nothing sends as many as a fixed rule does, give or take what is drawn."""
_UNDER_WAY_S: Final = 15.0
"""An event has come by then, or comes no more: the slowest take two or three seconds."""


@dataclass
class Rule:
    """Says how many copies peers send, and what came of it."""

    name: str
    set: Callable[[Timed], None]
    adaptive: AdaptiveFanOut | None = None
    is_unlearned: bool = False
    """Whether it is what adapts, before it has learned anything."""
    learning: int = 0
    """Minutes at the beginning that do not count."""
    missed: list[float] = field(default_factory=list)
    """By minute, of the peers those that missed an event."""
    told: list[float] = field(default_factory=list)
    """The running share of these, as peers have found out by the end of the minute, in the mean of them."""
    given_up: list[float] = field(default_factory=list)
    """Of the peers, those that take the target to be one that no copies hold."""
    copies: int = 0
    reached: int = 0
    delays: list[float] = field(default_factory=list)
    _spreading: Spreading | None = None

    @property
    def duplication(self) -> float:
        """Copies over peers that have the event."""
        return self.copies / max(self.reached, 1)

    def publish(self, timed: Timed, churn: Churn, until: float) -> None:
        """Publish one event for every topic, see who has it, and let those that adapt learn until some time."""
        self._spreading = timed.spreading
        self.set(timed)
        timed.publish()
        timed.run(min(timed.now + _UNDER_WAY_S, until), churn)
        counts = self.learning == 0
        if counts:
            self._take_in(timed)
        else:
            self.learning -= 1
        if self.adaptive is not None:
            timed.run(until, churn)
            self._learn(self.adaptive, timed.spreading.misses.share, timed.swarm.up, counts=counts)

    def twin(self, timed: Timed) -> Timed:
        """Return the same overlay, with peers that know of events what they have learned by this rule."""
        return timed.twin(self._spreading)

    def _take_in(self, timed: Timed) -> None:
        outcome, up = timed.outcome(), timed.swarm.up
        self.missed.append(missed_share(outcome.missed, up & (outcome.missed + outcome.received > 0)))
        self.copies += int(outcome.copies.sum())
        self.reached += int(outcome.reached.sum())
        self.delays.append(timed.mean_delay_s())

    def _learn(self, adaptive: AdaptiveFanOut, shares: Floats, up: Flags, *, counts: bool) -> None:
        adaptive.learn(shares)
        if counts:
            known = shares[up & (shares >= 0)]
            self.told.append(float(known.mean()) if len(known) else 0.0)
            self.given_up.append(float(adaptive.given_up[up].mean()))


@dataclass(frozen=True)
class Held:
    """What became of a target."""

    pace: str
    target: float
    missed: float
    duplication: float
    fixed: float | None
    """The duplication of the fixed rule that holds the target with the fewest copies; nothing if none does."""
    unlearned: float | None = None
    """What was missed by the rule that adapts without learning."""

    @property
    def holds(self) -> bool | None:
        """Whether it is held, with no more copies than by a fixed rule; nothing where none of these holds it.

        As many are enough: where nothing is to be learned, it does what one of them does.
        """
        return None if self.fixed is None else self.is_met and self.duplication <= _AS_MANY * self.fixed

    @property
    def is_met(self) -> bool:
        """Whether no more was missed than the target allows."""
        return self.missed <= self.target


def copies_saved(targets: list[Held]) -> tuple[float | None, bool | None]:
    """Return the most copies that it took to hold a target, over those of the fixed rule that held it with the fewest;
    and whether all that a fixed one holds were held so. Nothing, if none was."""
    seen = [one for one in targets if one.fixed is not None]
    if not seen:
        return None, None
    return max(one.duplication / one.fixed for one in seen if one.fixed), all(one.holds for one in seen)


def less_missed(targets: list[Held]) -> float | None:
    """Return what was missed with the lowest target over what the same rule missed without learning; nothing where that
    missed nothing."""
    lowest = min(targets, key=lambda one: one.target, default=None)
    return lowest.missed / lowest.unlearned if lowest and lowest.unlearned else None


def rules(targets: tuple[float, ...], learning: int = 0) -> list[Rule]:
    """Fixed fan-outs, alike for all and not, and one that adapts for each target; of all of them the first minutes do
    not count."""
    unlearned = AdaptiveFanOut()
    named = f"publishers {unlearned.most}, others {LEAST_FAN_OUT}"
    adaptive = [(target, AdaptiveFanOut(target)) for target in targets]
    return [
        *(Rule(f"f = {fan_out}", _all(fan_out), learning=learning) for fan_out in _FIXED),
        # A rival like others: so much of the gain is the publishers'.
        Rule(named, unlearned.set, is_unlearned=True, learning=learning),
        *(Rule(f"adaptive, target {target:g}", one.set, one, learning=learning) for target, one in adaptive),
    ]


def report_adaptive(report: Report, sizes: Sizes, seed: int, churn: Path | None, latency: Path | None) -> list[Held]:
    """Compare missed events and copies; return what became of every target."""
    weather = weather_of(sizes, sizes.adaptive, seed, churn, latency, spread=False)
    rows, found = list[Row](), list[Held]()
    for pace, (kept, targets) in _PACES.items():
        tried = rules(targets)
        run_rules(tried, weather, kept)
        rows += [_row(pace, rule, weather.sharp | weather.crowded) for rule in tried]
        found += targets_held(pace, tried)
    gusts, tried = gusty(sizes, seed), rules(_GUSTY_TARGETS, sizes.gusts // 2)
    run_rules(tried, gusts, Pace())
    rows += [_row(GUSTS, rule, np.zeros(len(rule.missed), np.bool_)) for rule in tried]
    found += targets_held(GUSTS, tried)
    report.section(
        "Adaptive fan-out: events under way while peers come and go",
        rows,
        f"{weather.cycles} minutes; of the peers, those that missed an event. The target is of the mean. Told by "
        "peers: the same as they find out by gossip, a running share; the rule that adapts knows no more. Given up: of "
        f"the peers, those that take the target to be one that no fan-out holds. Gusts: of {sizes.gusty_peers:,} peers "
        f"in haste, a quarter go in every minute a tenth of a second after events are published, {sizes.gusts} minutes "
        "long; the second half counts.",
    )
    return found


def targets_held(pace: str, tried: list[Rule]) -> Iterator[Held]:
    """Return for every rule that adapts what it came to beside fixed ones."""
    for rule in tried:
        if rule.adaptive is not None:
            target = rule.adaptive.target
            # Where nobody was told anything nothing was held either.
            rivals = [one for one in tried if one.adaptive is None and one.copies > 0]
            fixed = [one.duplication for one in rivals if np.mean(one.missed) <= target]
            missed = float(np.mean(rule.missed))
            unlearned = next((float(np.mean(one.missed)) for one in tried if one.is_unlearned), None)
            yield Held(pace, target, missed, rule.duplication, min(fixed, default=None), unlearned)


def _row(pace: str, rule: Rule, sudden: Flags) -> Row:
    missed = np.array(rule.missed)
    return {
        "pace": f"{pace}, {'fixed' if rule.adaptive is None else 'adaptive'}",
        "rule": rule.name,
        "missed, mean": float(missed.mean()),
        "told by peers": float(np.mean(rule.told)) if rule.told else None,
        "calm, most": float(missed[~sudden].max(initial=0.0)),
        "drops and crowds, most": float(missed[sudden].max(initial=0.0)),
        "duplication": rule.duplication,
        "seconds, mean": float(np.mean(rule.delays)),
        "given up": float(np.mean(rule.given_up)) if rule.given_up else None,
    }


def run_rules(tried: list[Rule], weather: Weather, pace: Pace) -> None:
    """Let all rules go through the same minutes."""
    system = PolderCast(weather, pace)
    for cycle in range(weather.cycles):
        until = system.begin + (cycle + 1) * CYCLE_S
        for rule in tried[:-1]:
            rule.publish(rule.twin(system.timed), system.churn, until)
        # One needs no copy. It is one that adapts: those alone go on to the end of the minute.
        tried[-1].publish(system.timed, system.churn, until)


def _all(fan_out: int) -> Callable[[Timed], None]:
    def tell(timed: Timed) -> None:
        timed.spreading.fan_outs[:] = fan_out
        timed.shortcuts = BY_BOTH

    return tell
