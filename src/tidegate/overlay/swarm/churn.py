"""Who comes and goes, in the order of time: what sessions come to for a simulator."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from tidegate.csr import Int64
from tidegate.overlay.swarm.sessions import Sessions
from tidegate.overlay.swarm.swarm import Flags
from tidegate.workload.terms import Floats


@dataclass(frozen=True)
class Churn:
    """Changes, rising in time: peers that come, and peers that go. A peer that is there does not come, and vice
    versa."""

    peers: int
    first: Flags
    """Who is there at the beginning."""
    times: Floats
    who: Int64
    comes: Flags

    @classmethod
    def of(cls, sessions: Sessions, end_s: float = np.inf) -> Self:
        """Return the changes that sessions come to, those before the end; of a peer's sessions that overlap, one
        counts. Who is there at 0 is there from the beginning on, and does not come."""
        who, begin, end = _merged(sessions)
        peers = sessions.peers
        first = np.zeros(peers, np.bool_)
        first[who[begin <= 0]] = True
        comes, goes = begin > 0, end < min(end_s, sessions.seconds)
        times = np.concatenate((begin[comes], end[goes]))
        peer = np.concatenate((who[comes], who[goes]))
        kind = np.repeat((True, False), (comes.sum(), goes.sum()))
        order = np.lexsort((peer, kind, times))
        order = order[times[order] < end_s]
        return cls(peers, first, times[order], peer[order], kind[order])

    def between(self, begin_s: float, end_s: float) -> tuple[Floats, Int64, Flags]:
        """Return the changes from one time on, before another: times, peers, and whether they come."""
        inside = slice(*np.searchsorted(self.times, (begin_s, end_s)))
        return self.times[inside], self.who[inside], self.comes[inside]

    def present(self, at_s: float) -> Flags:
        """Return by peer whether it is there once all changes before some time are done."""
        _, who, comes = self.between(-np.inf, at_s)
        present = self.first.copy()
        # In the order of time: the last change of a peer stays.
        present[who] = comes
        return present

    def sizes(self, times: Floats) -> Int64:
        """Return how many are there at these times."""
        change = np.cumsum(np.where(self.comes, 1, -1))
        before = np.searchsorted(self.times, times)
        return int(self.first.sum()) + np.concatenate(([0], change))[before]

    def later(self, by_s: float) -> Self:
        """Return the same changes, all of them later."""
        return replace(self, times=self.times + by_s)

    def sharp_drops(self, cycle_s: float, end_s: float, share: float = 0.1, after: int = 10) -> Flags:
        """Return by cycle whether there are fewer peers at its end than at its beginning, by more than such a share, or
        were in one of so many before. Who comes makes up for who goes: it is the network that shrinks."""
        return self._sudden(-1, cycle_s, end_s, share, after)

    def flash_crowds(self, cycle_s: float, end_s: float, share: float = 0.1, after: int = 10) -> Flags:
        """Return by cycle whether there are more peers at its end than at its beginning, by more than such a share, or
        were in one of so many before."""
        return self._sudden(1, cycle_s, end_s, share, after)

    def _sudden(self, sign: int, cycle_s: float, end_s: float, share: float, after: int) -> Flags:
        sizes = self.sizes(np.arange(0.0, end_s + cycle_s / 2, cycle_s))
        sudden = np.zeros(len(sizes) - 1, np.bool_)
        for cycle in np.flatnonzero(sign * np.diff(sizes) > share * sizes[:-1]):
            sudden[cycle : cycle + after + 1] = True
        return sudden


def _merged(sessions: Sessions) -> tuple[Int64, Floats, Floats]:
    """Return sessions by peer and time, those that overlap or touch as one."""
    order = np.lexsort((sessions.begin, sessions.who))
    who, begin, end = sessions.who[order], sessions.begin[order], sessions.end[order]
    if not len(who):
        return who, begin, end
    # Ends of one peer are kept clear of those of the next, so that one running maximum serves all.
    gap = float(end.max()) + 1.0
    latest = np.maximum.accumulate(end + who * gap)
    fresh = np.ones(len(who), np.bool_)
    fresh[1:] = (begin + who * gap)[1:] > latest[:-1]
    starts = np.flatnonzero(fresh)
    return who[starts], begin[starts], np.maximum.reduceat(end, starts)
