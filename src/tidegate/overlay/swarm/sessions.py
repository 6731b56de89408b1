"""When peers are there: sessions from a trace, tiled to as many peers as are wanted, or drawn like Skype's super-peers.

The trace of Guha and Daswani (2005), which the thesis uses, tells of super-peers for four weeks. What is drawn instead
has its session lengths and absences (log-normal, the parameters fitted by eye), and its rhythm of days.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Self

import numpy as np

from tidegate.csr import Int64
from tidegate.errors import ConfigError
from tidegate.workload.columns import Columns
from tidegate.workload.terms import Floats

DAY_S: Final = 86_400.0
PING_S: Final = 1_850.0
"""The trace was taken by asking everybody every half hour or so: it knows no time more exactly."""
_SESSION: Final = (9.79, 1.57)
_ABSENCE: Final = (9.58, 1.73)
"""Mean and deviation of the logarithm of seconds: half of the sessions are longer than five hours."""
_RHYTHM: Final = 0.5
_COMING_H, _GOING_H = 7.0, 16.0
"""At which hours of the trace's day most come and most go, and how much more than in the mean."""
_SETTLING_S: Final = 5 * DAY_S
_TRACE: Final = Columns("sessions", ("node",), ("start_s", "end_s"))


@dataclass(frozen=True)
class Sessions:
    """Who is there, from when, until when, in seconds from 0 on; a peer may have any number of sessions."""

    peers: int
    who: Int64
    begin: Floats
    end: Floats

    @property
    def seconds(self) -> float:
        """When the last session ends."""
        return float(self.end.max(initial=0.0))

    def tiled(self, peers: int, shift_s: float = 7 * DAY_S) -> Self:
        """Return sessions of as many peers as are asked for: copies, each of them later than the one before.

        What a shift moves beyond the end comes back at the beginning, so that every hour has its share; a shift of
        whole weeks keeps hours and weekdays. A session that is cut by it is two. Too many peers of the last copy are
        left out.
        """
        length = self.seconds
        parts = []
        for copy in range(-(-peers // max(self.peers, 1))):
            begin = (self.begin + copy * shift_s) % max(length, 1.0)
            end = begin + (self.end - self.begin)
            over = end > length
            who = self.who + copy * self.peers
            parts.append((who, begin, np.minimum(end, length)))
            parts.append((who[over], np.zeros(int(over.sum())), end[over] - length))
        who, begin, end = (np.concatenate(column) for column in zip(*parts, strict=True))
        kept = who < peers
        return replace(self, peers=peers, who=who[kept], begin=begin[kept], end=end[kept])

    def spread(self, over_s: float, seed: int) -> Self:
        """Return the same with every beginning and end earlier by up to so much.

        A trace that was taken by asking from time to time has everybody come and go at once, whenever it was asked.
        """
        generator = np.random.default_rng([seed, 5])
        begin = np.maximum(self.begin - over_s * generator.random(len(self.begin)), 0.0)
        end = self.end - over_s * generator.random(len(self.end))
        # Those that are there at the first or last time of asking stay.
        begin = np.where(self.begin <= 0, 0.0, begin)
        end = np.where(self.end >= self.seconds, self.end, end)
        return replace(self, begin=begin, end=np.maximum(end, begin + 1.0))

    def between(self, begin_s: float, end_s: float) -> Self:
        """Return what is there from one time to another, which are 0 and the end then."""
        inside = (self.end > begin_s) & (self.begin < end_s)
        begin, end = (np.clip(times[inside], begin_s, end_s) - begin_s for times in (self.begin, self.end))
        return replace(self, who=self.who[inside], begin=begin, end=end)

    def leaving(self, at_s: float, share: float, seed: int, back_s: float = np.inf) -> Self:
        """Let a share of those that are there at some time go at once; they come back later, if ever, to stay as long
        as they would have."""
        there = np.flatnonzero((self.begin < at_s) & (self.end > at_s))
        gone = np.random.default_rng([seed, 6]).permutation(there)[: round(share * len(there))]
        end = self.end.copy()
        end[gone] = at_s
        back = gone[self.end[gone] > at_s + back_s]
        return replace(
            self,
            who=np.concatenate((self.who, self.who[back])),
            begin=np.concatenate((self.begin, np.full(len(back), at_s + back_s))),
            end=np.concatenate((end, self.end[back])),
        )

    def crowding(self, at_s: float, share: float, seed: int, within_s: float = 60.0) -> Self:
        """Let a share of all peers, which are not there before, come at about the same time: a flash crowd."""
        chosen = np.zeros(self.peers, np.bool_)
        chosen[np.random.default_rng([seed, 7]).permutation(self.peers)[: round(share * self.peers)]] = True
        crowd = np.flatnonzero(chosen)
        late = at_s + within_s * np.random.default_rng([seed, 8]).random(len(crowd))
        others = ~chosen[self.who]
        return replace(
            self,
            who=np.concatenate((self.who[others], crowd)),
            begin=np.concatenate((self.begin[others], late)),
            end=np.concatenate((self.end[others], np.full(len(crowd), self.seconds))),
        )


def always(peers: int, seconds: float) -> Sessions:
    """Everybody is there all the time."""
    return Sessions(peers, np.arange(peers), np.zeros(peers), np.full(peers, seconds))


def read_sessions(path: Path) -> Sessions:
    """Read a trace: Parquet with columns `node`, `start_s` and `end_s`."""
    (node,), (begin, end) = _TRACE.read(path)
    names, who = np.unique(node, return_inverse=True)
    real = end > begin
    if not real.any():
        raise ConfigError(f"{path}: no session of it ends after it begins")
    start = begin[real].min()
    return Sessions(len(names), who[real].astype(np.int64), begin[real] - start, end[real] - start)


def check_sessions(path: Path) -> None:
    """Refuse a file that is no trace of sessions, without reading it all."""
    _TRACE.check(path)


def drawn_sessions(peers: int, seconds: float, seed: int) -> Sessions:
    """Draw sessions like those of Skype's super-peers: half of all peers are there at a time, more of them by day.

    Unlike in the trace nobody comes for the first time or leaves for good. A seed determines them.
    """
    generator = np.random.default_rng([seed, 9])
    end = seconds + _SETTLING_S
    coming, going = (_warp(end, hour) for hour in (_COMING_H, _GOING_H))
    now = np.zeros(peers)
    here = generator.random(peers) < 0.5
    parts = []
    while (now < end).any():
        stay, away = (generator.lognormal(*law, peers) for law in (_SESSION, _ABSENCE))
        begin = np.where(here, now, _later(coming, now, away))
        now = _later(going, begin, stay)
        parts.append((np.arange(peers), begin, now))
        here[:] = False
    who, begin, until = (np.concatenate(column) for column in zip(*parts, strict=True))
    return Sessions(peers, who, begin, until).between(_SETTLING_S, end)


def _warp(end: float, hour: float) -> tuple[Floats, Floats]:
    """Return times, and how far a clock has come by then that runs faster around some hour of each day."""
    times = np.arange(0.0, end + 100 * DAY_S, 600.0)
    turn = 2 * np.pi / DAY_S
    return times, times + _RHYTHM / turn * (np.sin(turn * (times - hour * 3600)) + np.sin(turn * hour * 3600))


def _later(warp: tuple[Floats, Floats], times: Floats, lengths: Floats) -> Floats:
    """Return when such a clock will have run for so long."""
    real, warped = warp
    found: Floats = np.interp(np.interp(times, real, warped) + lengths, warped, real)
    return found
