"""Who comes and goes in a run, how far peers are from each other, and what they follow: drawn, or out of files."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from tidegate.bench.overlay.sizes import Sizes
from tidegate.csr import Csr, Int64
from tidegate.errors import ConfigError
from tidegate.overlay.swarm.churn import Churn
from tidegate.overlay.swarm.latency import Latency, drawn_latency, read_latency
from tidegate.overlay.swarm.sessions import DAY_S, PING_S, Sessions, always, drawn_sessions, read_sessions
from tidegate.overlay.swarm.swarm import Flags
from tidegate.workload.follows import friends

CYCLE_S: Final = 60.0
_SHARP: Final = 0.1
_AFTER: Final = 10
_LATE_S: Final = 45.0
"""Of a minute, when the second of two drops is: a quarter is left to mend it before events are published."""
_GUST: Final = 0.25
_GUST_S, _BACK_S = 0.1, 20.0
"""When in a minute so many go, and after how long they are back: when events have made a hop, and are over."""


@dataclass(frozen=True)
class Weather:
    """Who comes and goes, how far peers are from each other, and what they follow."""

    churn: Churn
    cycles: int
    topics: Csr
    latency: Latency
    settling: int
    seed: int

    @property
    def sizes(self) -> Int64:
        """By cycle, how many peers are there at its beginning."""
        return self.churn.sizes(np.arange(0.0, self.cycles * CYCLE_S, CYCLE_S))

    @property
    def sharp(self) -> Flags:
        """By cycle, whether the network shrank by more than a tenth in it, or in one of the ten before."""
        return self.churn.sharp_drops(CYCLE_S, self.cycles * CYCLE_S, _SHARP, _AFTER)

    @property
    def crowded(self) -> Flags:
        """By cycle, whether it grew so much."""
        return self.churn.flash_crowds(CYCLE_S, self.cycles * CYCLE_S, _SHARP, _AFTER)


def check_length(churn: Path, sizes: Sizes) -> None:
    """Refuse a trace that ends before a run does: nobody would come or go any more, and the mean would be of calm."""
    told, needed = read_sessions(churn).seconds / 3600, max(sizes.hours[1], sizes.adaptive[1])
    if told < needed:
        raise ConfigError(
            f"{churn} tells of {told:.2f} hours, and {needed:g} are run: give a smaller --scale, or a longer trace"
        )


def weather_of(
    sizes: Sizes, hours: tuple[float, float], seed: int, churn: Path | None, latency: Path | None, *, spread: bool
) -> Weather:
    """Draw churn and latencies for so many hours, or read what there is of them then; `spread` is of a trace alone.

    A trace is tiled by copies of its peers that are each a week later.
    """
    peers, seconds = sizes.churned_peers, (hours[1] - hours[0]) * 3600
    if churn is None:
        sessions = _stormy(drawn_sessions(peers, seconds, seed), seconds, seed)
    else:
        sessions = read_sessions(churn).tiled(peers, 7 * DAY_S)
        sessions = (sessions.spread(PING_S, seed) if spread else sessions).between(hours[0] * 3600, hours[1] * 3600)
    return Weather(
        Churn.of(sessions, seconds),
        int(seconds // CYCLE_S),
        friends(peers, sizes.facebook_follows, seed).followed,
        drawn_latency(peers, seed) if latency is None else read_latency(latency, peers, seed),
        sizes.settling,
        seed,
    )


def gusty(sizes: Sizes, seed: int) -> Weather:
    """Let a quarter of all go in every minute, just after events are published when it begins, and come back before it
    ends: the same over and over, so that there is something to be learned from what was missed."""
    peers, seconds = sizes.gusty_peers, sizes.gusts * CYCLE_S
    sessions = always(peers, seconds)
    for minute in range(sizes.gusts):
        sessions = sessions.leaving(minute * CYCLE_S + _GUST_S, _GUST, seed + minute, _BACK_S)
    return Weather(
        Churn.of(sessions, seconds),
        sizes.gusts,
        friends(peers, sizes.facebook_follows, seed).followed,
        drawn_latency(peers, seed),
        sizes.settling,
        seed,
    )


def _stormy(sessions: Sessions, seconds: float, seed: int) -> Sessions:
    """Let a fifth of all come at once when a third of the time is over, and twice a fifth of those there go: when a
    minute begins, and late in another. Events are published when a minute ends, so there is a whole one to mend what
    the first tears, and a part of one for the second."""
    early, late = (CYCLE_S * (share * seconds // CYCLE_S) for share in (2 / 3, 5 / 6))
    crowded = sessions.crowding(seconds / 3, 0.2, seed)
    return crowded.leaving(early, 0.2, seed).leaving(late + _LATE_S, 0.2, seed + 1)
