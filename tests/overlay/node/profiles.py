"""Profiles of peers that nobody has to be, and a clock that stands still."""

import numpy as np

from tidegate.deliver.ends import Address
from tidegate.overlay.node.profile import Profile, steps_of
from tidegate.overlay.poldercast.settings import Gossip, Settings

HERE = Address("127.0.0.1", 9)
SMALL = Settings(Gossip(4, 3), Gossip(4, 3), Gossip(4, 3))


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def profile(peer: int, topics: set[int], version: int = 1, held: int = 0) -> Profile:
    rising = np.array(sorted(topics), np.uint64)
    gaps = np.full((len(rising), 2), np.inf, np.float32)
    return Profile.of(peer, version, HERE, rising, np.full(len(rising), held, np.int8), steps_of(gaps))
