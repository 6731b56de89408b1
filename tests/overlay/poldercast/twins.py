"""The modules of PolderCast once more, in plain Python: what kernels are compared with.

Where the protocol leaves a choice to chance, a twin says what may be chosen.
"""

from dataclasses import dataclass, field

import numpy as np

from tidegate.csr import from_rows
from tidegate.overlay.poldercast.entries import EMPTY, heard, peer_in
from tidegate.overlay.poldercast.settings import Gossip, Settings
from tidegate.overlay.poldercast.state import BEGINNING, Nodes, Scratch, nodes_of, scratch_of

CIRCLE = 1 << 64


@dataclass
class Town:
    """A few peers with ids and topics, for all of which there are rows."""

    ids: list[int]
    topics: list[set[int]]
    settings: Settings = field(default_factory=lambda: Settings(Gossip(6, 4), Gossip(6, 4), Gossip(4, 4)))

    def nodes(self) -> Nodes:
        return nodes_of(
            np.array(self.ids, np.uint64), from_rows([sorted(row) for row in self.topics]), len(self.ids), self.settings
        )

    def scratch(self) -> Scratch:
        return scratch_of(len(self.ids), 1 + max((topic for row in self.topics for topic in row), default=0))

    def ring_view(self, me: int, peers: set[int], half: int) -> tuple[list[int], list[int]]:
        """Return the successors and the predecessors of a peer among others, nearest first."""
        after = sorted(peers - {me}, key=lambda peer: (self.ids[peer] - self.ids[me]) % CIRCLE)
        before = sorted(peers - {me}, key=lambda peer: (self.ids[me] - self.ids[peer]) % CIRCLE)
        return after[:half], before[:half]

    def nearness(self, peer: int, target: int, held: dict[int, int]) -> tuple[int, int, int]:
        """Return by what peers are ranked for a target, which holds so many ring neighbours by topic."""
        shared = [held[topic] for topic in self.topics[peer] & self.topics[target]]
        fewest = min(shared, default=126)
        return -fewest, shared.count(fewest), len(shared)


def town(seed: int, peers: int = 30, topics: int = 12) -> Town:
    """Draw peers with up to eight topics each; some have none, and ids lie all around the circle."""
    generator = np.random.default_rng(seed)
    ids = generator.choice(1 << 62, peers, replace=False).astype(object) * 4
    rows = [set(generator.choice(topics, generator.integers(0, 9), replace=False).tolist()) for _ in range(peers)]
    return Town(ids.tolist(), rows)


def entries(peers: list[int], room: int, ages: list[int] | None = None) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return a letter that names peers, with these ages or none."""
    row = np.full(room, EMPTY, np.int64)
    for k, peer in enumerate(peers):
        row[k] = (ages[k] if ages else 0) << 32 | peer
    return row


def fill(row: np.ndarray[tuple[int], np.dtype[np.int64]], peers: list[int], seen: list[int] | None = None) -> None:
    """Let a view be these peers, heard of at these times after the beginning, or just then."""
    row[:] = EMPTY
    for k, peer in enumerate(peers):
        row[k] = BEGINNING + (seen[k] if seen else 0) << 32 | peer


def listed(row: np.ndarray[tuple[int], np.dtype[np.int64]]) -> list[int]:
    """Return the peers of a row."""
    return [int(peer_in(entry)) for entry in row if entry >= 0]


def timed(row: np.ndarray[tuple[int], np.dtype[np.int64]]) -> dict[int, int]:
    """Return the peers of a row with their times or ages."""
    return {int(peer_in(entry)): int(heard(entry)) for entry in row if entry >= 0}
