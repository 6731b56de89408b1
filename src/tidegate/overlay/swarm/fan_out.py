"""A fan-out that adapts: no more copies than it takes to hold a target, and where they cost least.

The thesis has one fan-out for all. But what is lost near its publisher is lost for most of a topic, and copies sent
there are next to free: each names the others, so that nobody sends to those again. So whoever publishes sends many. The
others send along their rings, and more while they are in debt: each keeps account of what was missed, as far as it has
found out by gossip (`swarm.misses`), and of what the target allows. A debt that only grows, however many copies are
sent, is given up: they are in vain.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from tidegate.errors import ConfigError
from tidegate.overlay.poldercast.ringcast import BY_ALL, LEAST_FAN_OUT
from tidegate.overlay.swarm.swarm import Flags
from tidegate.overlay.swarm.timed import Timed
from tidegate.workload.terms import Floats

_HORIZON: Final = 60.0
"""Cycles: what was allowed and not used is kept for so many; a debt of as many is given up."""
_A_COPY: Final = 10.0
"""The debt, in cycles, for which a peer sends one more copy."""


@dataclass
class AdaptiveFanOut:
    """Holds a share of peers that miss an event in a cycle, in the mean of hours, with as few copies as it can."""

    target: float = 0.001
    most: int = 8
    """Copies that a peer sends of an event."""
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse what cannot be held."""
        if not 0 < self.target < 1 or self.most < LEAST_FAN_OUT:
            raise ConfigError(
                f"a share of {self.target:g} that may miss an event, and {self.most} copies at most: give 0 to 1, and 2"
            )
        self._generator = np.random.default_rng([self.seed, 14])
        self.debt: Floats = np.zeros(0)
        """By peer, in cycles: how many times the target was missed by, more than once a cycle."""
        self.given_up: Flags = np.zeros(0, np.bool_)
        """By peer, whether it sends no more copies until it is out of debt."""

    def learn(self, shares: Floats) -> None:
        """Let every peer take account of a cycle, by the share of peers that it has found to miss an event."""
        if len(self.debt) == 0:
            self.debt, self.given_up = np.zeros(len(shares)), np.zeros(len(shares), np.bool_)
        self.debt = np.clip(self.debt + np.maximum(shares, 0.0) / self.target - 1, -_HORIZON, _HORIZON)
        self.given_up = (self.given_up & (self.debt > 0)) | (self.debt >= _HORIZON)

    def set(self, timed: Timed) -> None:
        """Tell all peers how many copies they send, and that they may go to whoever is behind the next ones."""
        fan_outs = timed.spreading.fan_outs
        owing = np.where(self.given_up, 0.0, np.maximum(self.debt, 0.0)) if len(self.debt) else 0.0
        more = np.minimum(owing / _A_COPY, self.most - LEAST_FAN_OUT)
        fan_outs[0] = self.most
        fan_outs[1] = LEAST_FAN_OUT + np.floor(more + self._generator.random(fan_outs.shape[1]))
        timed.shortcuts = BY_ALL
