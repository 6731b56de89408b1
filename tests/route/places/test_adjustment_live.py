"""Live adjustment: no match lost or left behind by any change, whatever comes after what."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.route.places.adjustable import matched, rows_of, seeds, some_grid, some_placed, some_posts, subset
from tidegate.csr import Csr
from tidegate.index.placed import Placed, PlacedPosts
from tidegate.route.places.adjustment import adjusted_locally
from tidegate.route.places.counts import Weights, counted
from tidegate.route.places.grid_t import GridT
from tidegate.route.places.rebalancing import Stored, rebalanced
from tidegate.route.places.transition import Relocation, Transition, relocated


class Cluster:
    """Matchers that have what they were told to have, by homes at insertion and by relocations; nothing else."""

    def __init__(self, grid: GridT, placed: Placed) -> None:
        self.placed = placed
        self.grid = grid
        self.transition: Transition | None = None
        self.inserted = 0
        self.old: list[int] = []
        self.new: list[int] = []
        self.stored: list[set[int]] = [set() for _ in range(grid.matchers)]

    def insert(self, n: int) -> None:
        entries = list(range(self.inserted, min(self.inserted + n, self.placed.rows)))
        self.inserted += len(entries)
        self.new += entries
        self._arrive(entries, self.grid.homes(subset(self.placed, entries)))
        if self.transition:
            self.transition.inserted(len(entries))

    def delete(self, n: int, generator: np.random.Generator) -> None:
        live = self.old + self.new
        gone = generator.choice(live, min(n, len(live)), replace=False).tolist() if live else []
        is_old = np.isin(gone, self.old)
        placed = subset(self.placed, gone)
        self._depart(gone, self.transition.homes(placed, is_old) if self.transition else self.grid.homes(placed))
        if self.transition:
            self.transition.removed(old=int(is_old.sum()), new=int((~is_old).sum()))
        self.old = [e for e in self.old if e not in gone]
        self.new = [e for e in self.new if e not in gone]

    def adjust(self, posts: PlacedPosts, weights: Weights, rounds: int) -> None:
        placed = subset(self.placed, self.new)
        counts = counted(self.grid, posts, placed)
        self._live_by(adjusted_locally(self.grid, counts, sigma=1.1, p=3, rounds=rounds, weights=weights).grid)

    def rebalance(self, posts: PlacedPosts, weights: Weights, rounds: int) -> None:
        placed = subset(self.placed, self.new)
        counts = counted(self.grid, posts, placed)
        stored = Stored.of(self.grid, counts, placed)
        self._live_by(rebalanced(self.grid, counts, stored, weights, rounds=rounds, travel=0.0).grid)

    def repartition(self, grid: GridT) -> None:
        self.finish()
        self.transition = Transition(self.grid, grid, len(self.new))
        self.old, self.new, self.grid = self.new, [], grid

    def finish(self) -> None:
        if self.transition:
            self._relocate(self.old, self.transition.finished(subset(self.placed, self.old)))
            self.old, self.new, self.transition = [], self.old + self.new, None

    def found(self, posts: PlacedPosts) -> set[tuple[int, int]]:
        new_heard = self.grid.heard(subset(self.placed, self.new))
        if self.transition:
            old_heard = self.transition.old.heard(subset(self.placed, self.old))
            visits = self.transition.visits(posts, old_heard, new_heard)
        else:
            visits = self.grid.visits(posts, new_heard)
        return {
            (post, entry)
            for post, matchers in enumerate(rows_of(visits))
            for matcher in matchers
            for entry in self.stored[matcher]
            if matched(self.placed, entry, posts, post)
        }

    def _live_by(self, grid: GridT) -> None:
        self._relocate(self.new, relocated(self.grid, grid, subset(self.placed, self.new)))
        self.grid = grid
        if self.transition:
            self.transition.new = grid

    def _arrive(self, entries: list[int], homes: Csr) -> None:
        for entry, matchers in zip(entries, rows_of(homes), strict=True):
            for matcher in matchers:
                assert entry not in self.stored[matcher]
                self.stored[matcher].add(entry)

    def _depart(self, entries: list[int], homes: Csr) -> None:
        for entry, matchers in zip(entries, rows_of(homes), strict=True):
            for matcher in matchers:
                self.stored[matcher].remove(entry)

    def _relocate(self, entries: list[int], relocation: Relocation) -> None:
        self._arrive(entries, relocation.arrivals)
        self._depart(entries, relocation.departures)


STEPS = ["insert", "delete", "adjust", "rebalance", "repartition", "finish"]


@settings(max_examples=60)
@given(st.lists(st.tuples(st.sampled_from(STEPS), st.integers(1, 9)), min_size=1, max_size=12), seeds)
def test_whatever_is_adjusted_when_the_matches_are_those_of_brute_force(
    steps: list[tuple[str, int]], seed: int
) -> None:
    generator = np.random.default_rng(seed)
    posts = some_posts(generator, 60)
    cluster = Cluster(some_grid(generator), some_placed(generator, 60))
    cluster.insert(15)
    for step, n in steps:
        if step == "insert":
            cluster.insert(n)
        elif step == "delete":
            cluster.delete(n, generator)
        elif step == "adjust":
            weights = Weights(visit=float(generator.choice([0.0, 2.0, 20.0])))
            cluster.adjust(some_posts(generator, 60), weights, rounds=n)
        elif step == "rebalance":
            weights = Weights(
                visit=float(generator.choice([0.0, 2.0, 20.0])), stored=float(generator.choice([0.0, 5.0]))
            )
            cluster.rebalance(some_posts(generator, 60), weights, rounds=n)
        elif step == "repartition":
            # Another lattice as well: what is heard is not the same then.
            cluster.repartition(some_grid(generator, columns=int(generator.integers(2, 6))))
        else:
            cluster.finish()
        live = cluster.old + cluster.new
        expected = {(post, e) for post in range(60) for e in live if matched(cluster.placed, e, posts, post)}
        assert cluster.found(posts) == expected
    cluster.delete(60, generator)
    assert not any(cluster.stored), "nothing is left behind"
