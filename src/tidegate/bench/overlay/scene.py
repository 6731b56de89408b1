"""The follow graphs that a run is about, classes of sizes to report by, and swarms that have settled."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tidegate.bench.overlay.sizes import Sizes
from tidegate.csr import Csr, Int64
from tidegate.overlay.scribe.dissemination import disseminated as carried
from tidegate.overlay.scribe.forest import Forest
from tidegate.overlay.swarm.completeness import completeness
from tidegate.overlay.swarm.swarm import Swarm
from tidegate.workload.breadth_first import breadth_first
from tidegate.workload.follows import Follows, fans, friends, stored_follows


@dataclass(frozen=True)
class Graph:
    """A follow graph with a name: users are topics and subscribers (section 3.5.1)."""

    name: str
    follows: Follows

    @property
    def topics(self) -> Csr:
        """By peer, the topics it follows."""
        return self.follows.followed


def graphs_of(sizes: Sizes, seed: int, path: Path | None) -> list[Graph]:
    """Return the generated graphs, Facebook-like first, and if there is a file, a part of the real one with all
    follows inside it (section 3.5.1)."""
    graphs = [
        Graph("Facebook-like", friends(sizes.peers, sizes.facebook_follows, seed)),
        Graph("Twitter-like", fans(sizes.peers, sizes.twitter_follows, seed)),
    ]
    if path is not None:
        graphs.append(Graph(path.stem, breadth_first(stored_follows(path), sizes.peers, seed)))
    return graphs


def settled_swarm(topics: Csr, seed: int, cycles: int) -> Swarm:
    """Return a swarm in which rings are complete, or that has run for so many cycles."""
    swarm = Swarm(topics, seed=seed)
    swarm.warm()
    for _ in range(cycles):
        swarm.run()
        if completeness(swarm).incomplete == 0:
            break
    return swarm


def settled_forest(topics: Csr, seed: int, cycles: int = 20) -> Forest:
    """Return a forest whose trees reach everybody, or that has run for so many cycles."""
    forest = Forest(topics, seed=seed)
    forest.warm()
    for _ in range(cycles):
        forest.run()
        if carried(forest).hit_ratio == 1:
            break
    return forest


def classes(sizes: Int64) -> Iterator[tuple[str, Int64]]:
    """Yield classes of sizes, each twice as wide as the one before, with the places of those that are in it."""
    low = 1
    while low <= sizes.max(initial=0):
        inside = np.flatnonzero((sizes >= low) & (sizes < 2 * low))
        if len(inside):
            yield f"{low}" if low == 1 else f"{low} to {2 * low - 1}", inside
        low *= 2
