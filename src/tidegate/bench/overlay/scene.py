"""The follow graphs that a run is about, classes of sizes to report by, and a forest that has settled."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tidegate.bench.overlay.sizes import Sizes
from tidegate.csr import Csr, Int64
from tidegate.overlay.scribe.dissemination import disseminated as carried
from tidegate.overlay.scribe.forest import Forest
from tidegate.workload.breadth_first import STARTS, breadth_first
from tidegate.workload.follows import Follows, fans, friends, stored_follows


@dataclass(frozen=True)
class Graph:
    """A follow graph with a name: users are topics and subscribers (section 3.5.1)."""

    name: str
    follows: Follows
    whole: Follows | None = None
    """All of a real graph, where `follows` is a part of it."""

    @property
    def topics(self) -> Csr:
        """By peer, the topics it follows."""
        return self.follows.followed


def graphs_of(sizes: Sizes, seed: int, path: Path | None, *, mutual: bool = False) -> list[Graph]:
    """Return the generated graphs, Facebook-like first, and if there is a file, a part of the real one with all
    follows inside it (section 3.5.1), or all of it if it has no more users; if `mutual`, they go both ways."""
    graphs = [
        Graph("Facebook-like", friends(sizes.peers, sizes.facebook_follows, seed)),
        Graph("Twitter-like", fans(sizes.peers, sizes.twitter_follows, seed)),
    ]
    if path is not None:
        whole = stored_follows(path, mutual=mutual)
        peers = min(sizes.peers, whole.users)
        part = breadth_first(whole, peers, seed, min(STARTS, peers))
        graphs.append(Graph(path.stem, part, whole if peers < whole.users else None))
    return graphs


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
