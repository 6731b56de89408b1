"""A fan-out that adapts: as many copies as it takes to hold a target, and where they are needed.

The thesis has one fan-out for all. But what is missed is missed where rings are broken, and while they are: peers that
have just found others silent, or have just come, pass an event on to more; the others along their rings alone. How many
more follows from what was missed: peers might find that out from each other, by the numbers of the last events of their
topics; no protocol for that is here, and a simulation tells it. A target that copies cannot hold, because somebody is
known to nobody, costs those that are restless alone.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from tidegate.errors import ConfigError
from tidegate.overlay.poldercast.entries import heard
from tidegate.overlay.poldercast.ringcast import LEAST_FAN_OUT
from tidegate.overlay.swarm.flying import TICK_S
from tidegate.overlay.swarm.swarm import Flags
from tidegate.overlay.swarm.timed import Timed

_GAIN: Final = 0.1
_MOST_AT_ONCE: Final = 2.0


@dataclass
class AdaptiveFanOut:
    """Holds a share of peers that miss an event at most, in the mean, with the fewest copies it can."""

    target: float = 0.001
    most: int = 8
    """Copies that a peer sends of an event."""
    patience: int = 3
    """So many cycles after somebody was found silent, or after coming, a peer is restless."""
    seed: int = 0
    extra: float = 2.0
    """To how many more those that are restless pass an event on than along the ring."""

    def __post_init__(self) -> None:
        """Refuse what cannot be held."""
        if not 0 < self.target < 1 or self.most < LEAST_FAN_OUT:
            raise ConfigError(
                f"a share of {self.target:g} that may miss an event, and {self.most} copies at most: give 0 to 1, and 2"
            )
        self._generator = np.random.default_rng([self.seed, 14])

    def learn(self, missed: float) -> None:
        """Take in what share of peers have missed an event: more than the target raises the fan-out, less lowers it.

        Simulations tell the true share at once, as an oracle would: peers can but estimate it, and later. By so much
        that it stays if the mean is the target; one bad round does not raise it by more than two.
        """
        change = min(_GAIN * (missed / self.target - 1), _MOST_AT_ONCE)
        self.extra = min(max(self.extra + change, 0.0), float(self.most - LEAST_FAN_OUT))

    def set(self, timed: Timed) -> None:
        """Tell all peers how many copies they send."""
        wanted = np.where(restless(timed, self.patience), self.extra, 0.0)
        drawn = np.floor(wanted + self._generator.random(len(wanted))).astype(np.int64)
        timed.spreading.fan_outs[:] = LEAST_FAN_OUT + drawn


def restless(timed: Timed, cycles: int) -> Flags:
    """By peer, whether it found somebody silent, or came, within its last few cycles; all it takes is its own row."""
    nodes, ticks = timed.swarm.nodes, int(cycles * timed.pace.cycle_s / TICK_S)
    lately = (nodes.gone >= 0) & (heard(nodes.gone) >= (nodes.clock - ticks)[:, None])
    return np.asarray(lately.any(axis=1) | (timed.world.came > timed.now - cycles * timed.pace.cycle_s))
