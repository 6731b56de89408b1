"""Figure 3.11: who misses events while peers come and go, a cycle being a minute.

At the end of every cycle the overlay stands still, and one event is published for every topic, as in the thesis. A
trace tells half hours at which everybody was asked, and not when each one came or went: both are run, as it tells it
and spread over the time it cannot know.

Each system is run at two paces, and compared with the other at the like: those that notice at once who is gone, and
those that look once a minute, as in the thesis.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Final, Protocol

import numpy as np

from tidegate.bench.overlay.sizes import Sizes
from tidegate.bench.overlay.weather import CYCLE_S, Weather, weather_of
from tidegate.bench.report import Report, Row
from tidegate.csr import Int64
from tidegate.overlay.scribe.dissemination import disseminated as carried
from tidegate.overlay.scribe.forest import Forest
from tidegate.overlay.scribe.settings import Settings
from tidegate.overlay.swarm.dissemination import disseminated
from tidegate.overlay.swarm.spreading import WARM_UP_S
from tidegate.overlay.swarm.swarm import Flags, Swarm
from tidegate.overlay.swarm.timed import AS_PRINTED, Pace, Timed
from tidegate.workload.terms import Floats

PAIRS: Final = {"at once": ("PolderCast", "Scribe, at once"), "once a minute": ("PolderCast, no haste", "Scribe")}
"""How soon peers notice who is gone, and the systems that are alike in this.

At once: peers of PolderCast look after a second whether all have answered, and write on in haste if not; those of
Scribe give a parent up that a heartbeat does not find, and a rendezvous gives way when a nearer one comes. Once a
minute: one gossip, or one heartbeat, and a parent is given up at the second.
"""
Missed = dict[str, float | None]
"""Of a system, the most that was missed by weather, or nothing where there was no such weather; the mean; and letters
or messages that a peer sends in a minute."""
_SHOWN: Final = 10
"""Cycles that a row of the figure is about."""


class Trial(Protocol):
    """A system that goes through it, cycle by cycle."""

    def cycle(self, number: int) -> float:
        """Let a cycle pass; return who missed an event then, of those that should get one."""

    def letters(self) -> int:
        """How many letters, or messages, were sent so far to keep the overlay."""


class PolderCast:
    """With clocks of their own and latencies, from rings that have settled."""

    def __init__(self, weather: Weather, pace: Pace) -> None:
        """Let those that are there at the beginning settle."""
        swarm = Swarm(weather.topics, seed=weather.seed)
        swarm.leave(np.flatnonzero(~weather.churn.first))
        swarm.warm()
        self.timed = Timed(swarm, weather.latency, pace)
        self.begin = weather.settling * CYCLE_S
        self.churn = weather.churn.later(self.begin)
        self.timed.run(self.begin)

    def cycle(self, number: int) -> float:
        """Go on for a minute, and freeze."""
        now = self.begin + (number + 1) * CYCLE_S
        self.timed.run(now, self.churn)
        settled = self.timed.swarm.up & (self.timed.world.came <= now - WARM_UP_S)
        spread = disseminated(self.timed.swarm, publishers=settled, seed=number)
        return missed_share(spread.missed, settled & (spread.missed + spread.received > 0))

    def letters(self) -> int:
        """By all."""
        return int(self.timed.posted.sent.sum())


class Scribe:
    """With phases of their own, at which peers have a turn every minute; who comes has one at once, and the next a
    minute later. Messages take no time."""

    def __init__(self, weather: Weather, patience: int) -> None:
        """Let those that are there at the beginning build their trees."""
        self.forest = Forest(weather.topics, Settings(patience=patience), weather.seed)
        self.forest.leave(np.flatnonzero(~weather.churn.first))
        self.forest.warm()
        self.forest.run(weather.settling)
        self.churn = weather.churn
        self.came = np.full(weather.topics.rows, -np.inf)
        self.due: Floats = np.random.default_rng([weather.seed, 16]).random(weather.topics.rows) * CYCLE_S
        """By peer, when it has its next turn."""

    def cycle(self, number: int) -> float:
        """Let peers come and go, and the others tend their trees once, all in the order of time."""
        begin, end = number * CYCLE_S, (number + 1) * CYCLE_S
        for time, peer, comes in zip(*(column.tolist() for column in self.churn.between(begin, end)), strict=True):
            self._go_on(time)
            if comes:
                self.forest.join([peer])
                self.came[peer] = self.due[peer] = time
            else:
                self.forest.leave([peer])
        self._go_on(end)
        settled = self.forest.up & (self.came <= end - WARM_UP_S)
        spread = carried(self.forest, publishers=settled, seed=number)
        return missed_share(spread.missed, settled & (spread.due > 0))

    def letters(self) -> int:
        """By all: each is counted by who sends it and by who gets it."""
        return int(self.forest.control.sum()) // 2

    def _go_on(self, until: float) -> None:
        """Let those have their turns that are due before some time, no more than a minute later than the last."""
        turns = np.flatnonzero(self.forest.up & (self.due < until))
        self.forest.take_turns(turns[np.argsort(self.due[turns], kind="stable")])
        self.due[turns] += CYCLE_S


def missed_share(missed: Int64, asked: Flags) -> float:
    """Of those that were asked for, who missed at least one event."""
    return float(np.count_nonzero(missed[asked]) / max(int(np.count_nonzero(asked)), 1))


def report_churn(
    report: Report, sizes: Sizes, seed: int, churn: Path | None, latency: Path | None
) -> dict[str, Missed]:
    """Run all systems through the same churn; return by system what was missed in which weather."""
    found: dict[str, Missed] = {}
    rows: list[Row] = []
    kinds = {"as asked every half hour": False, "spread": True} if churn else {"drawn": True}
    for kind, spread in kinds.items():
        weather = weather_of(sizes, sizes.hours, seed, churn, latency, spread=spread)
        trials: dict[str, Callable[[], Trial]] = {
            "PolderCast": lambda weather=weather: PolderCast(weather, Pace()),  # type: ignore[misc]
            "PolderCast, no haste": lambda weather=weather: PolderCast(weather, AS_PRINTED),  # type: ignore[misc]
            "Scribe, at once": lambda weather=weather: Scribe(weather, 0),  # type: ignore[misc]
            "Scribe": lambda weather=weather: Scribe(weather, 1),  # type: ignore[misc]
        }
        course: dict[str, Floats] = {}
        for name, start in trials.items():
            trial = start()
            before = trial.letters()
            course[name] = np.array([trial.cycle(number) for number in range(weather.cycles)])
            letters = (trial.letters() - before) / max(int(weather.sizes.sum()), 1)
            found[f"{name}, {kind}"] = {**by_weather(weather, course[name]), "letters": letters}
        rows += _rows(kind, weather, course)
    report.section(
        "Figure 3.11: who missed an event, minute by minute",
        rows,
        "Thesis: PolderCast at most 0.01, 0.04 where the network shrinks sharply; Scribe about ten times as much.",
    )
    _summary(report, found)
    return found


def by_weather(weather: Weather, missed: Floats) -> Missed:
    """Return the most that was missed in calm, crowds, sharp drops and all but these; and means."""
    sharp, crowded = weather.sharp, weather.crowded & ~weather.sharp
    calm = ~sharp & ~crowded
    places = {"calm": calm, "crowds": crowded, "drops": sharp, "not sharp": ~sharp}
    most = {name: float(missed[where].max()) if where.any() else None for name, where in places.items()}
    return {**most, "mean": float(missed.mean()), "calm, mean": float(missed[calm].mean()) if calm.any() else None}


def _rows(kind: str, weather: Weather, course: dict[str, Floats]) -> list[Row]:
    sizes = weather.sizes
    rows: list[Row] = []
    for first in range(0, weather.cycles, _SHOWN):
        cycles = slice(first, first + _SHOWN)
        _, _, comes = weather.churn.between(first * CYCLE_S, (first + _SHOWN) * CYCLE_S)
        rows.append(
            {
                "times": kind,
                "hour": first / 60,
                "peers": int(sizes[first]),
                "come": int(comes.sum()),
                "go": int((~comes).sum()),
                **{f"{name}, most": float(missed[cycles].max()) for name, missed in course.items()},
            }
        )
    return rows


def _summary(report: Report, found: dict[str, Missed]) -> None:
    report.section(
        "Figure 3.11, in which weather",
        [
            {
                "way": name,
                "calm, mean": one["calm, mean"],
                "calm, most": one["calm"],
                "crowds, most": one["crowds"],
                "drops, most": one["drops"],
                "mean": one["mean"],
                "letters a peer": one["letters"],
            }
            for name, one in found.items()
        ],
        "Drops and crowds: over a tenth fewer, or more, peers after a minute; and the ten minutes after. Who came less "
        "than ten seconds ago is left out, and does not publish. At once: parents are given up that a heartbeat does "
        "not find, as PolderCast's peers look again at once after a silence; else at the second heartbeat, a minute "
        "later, as without haste. Who sends an event along a ring or a route finds out who is gone, and takes the "
        "next one. Letters: sent in a minute to keep the overlay; one of PolderCast's names up to ten peers.",
    )
