"""Events under way in a simulation, and what peers know of those that were missed: arrays that kernels change."""

from typing import Final, NamedTuple

import numpy as np

from tidegate.csr import Int64
from tidegate.overlay.poldercast.ringcast import LEAST_FAN_OUT
from tidegate.workload.alias import State, random_state
from tidegate.workload.terms import Floats

WARM_UP_S: Final = 10.0
"""Who came so shortly before an event was published is not expected to get it (section 3.5.6)."""
UNHEARD: Final = -1


class Misses(NamedTuple):
    """What peers have found out about events that were missed."""

    known: Int64
    """By place of a topic among those of a peer: the highest number of an event that it heard of; `UNHEARD` if there
    was none since it came."""
    found: Int64
    """By peer, how many events it found that it has missed, since it last took account."""
    account: Floats
    """By peer, when it takes account next."""
    share: Floats
    """By peer, of all peers those that miss an event in a cycle, as far as it knows; `UNHEARD` if it does not."""


class Spreading(NamedTuple):
    """Of every topic one event at most."""

    event: Int64
    """By topic, the number of the last one; 0 before the first."""
    published: Floats
    """By topic, when, and by whom."""
    publisher: Int64
    seen: Int64
    """By place of a topic among those of a peer: the last event that it got, after how many hops, and how late."""
    hops: Int64
    late: Floats
    fan_outs: Int64
    """By peer: of an event that it publishes, and of others."""
    copies: Int64
    """By topic, those that arrived of the last event."""
    lost: Int64
    received: Int64
    """By peer, copies of these events."""
    misses: Misses
    random: State
    """Not the one of the overlay: what becomes of that does not depend on events."""


def spreading_of(peers: int, topics: int, pairs: int, seed: int) -> Spreading:
    """Nothing was published yet, and everybody passes events on along its rings."""
    return Spreading(
        event=np.zeros(topics, np.int64),
        published=np.zeros(topics),
        publisher=np.full(topics, -1, np.int64),
        seen=np.zeros(pairs, np.int64),
        hops=np.zeros(pairs, np.int64),
        late=np.zeros(pairs),
        fan_outs=np.full((2, peers), LEAST_FAN_OUT, np.int64),
        copies=np.zeros(topics, np.int64),
        lost=np.zeros(topics, np.int64),
        received=np.zeros(peers, np.int64),
        misses=Misses(
            known=np.full(pairs, UNHEARD, np.int64),
            found=np.zeros(peers, np.int64),
            account=np.zeros(peers),
            share=np.full(peers, float(UNHEARD)),
        ),
        random=random_state([seed, 13]),
    )
