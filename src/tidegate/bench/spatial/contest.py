"""Partitionings on matcher clocks: the paper's Figures 6 to 11, for every world and kind of queries."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import Final, Self

import numpy as np

from tidegate.bench.report import Report, Row
from tidegate.bench.route.clocks import timed
from tidegate.bench.spatial.cluster import SHARED_BATCH, Clock, Cluster, single_answers
from tidegate.bench.spatial.rivals import FLAT_GRID, INDEXES
from tidegate.bench.spatial.sizes import KINDS, Sizes
from tidegate.bench.spatial.stream import Stream
from tidegate.bench.spatial.world import World
from tidegate.csr import Int64
from tidegate.route.places.load import Costs
from tidegate.route.places.partitionings import PARTITIONINGS
from tidegate.route.places.sampled import Workload

TEXT: Final = ("frequency", "hypergraph", "metric")
SPACE: Final = ("grid", "kd_tree", "r_tree")
BEST: Final = ("metric", "kd_tree")
"""The paper's best baselines of each sort, which its hybrid is measured against."""
HYBRID: Final = "hybrid"

_PAPER: Final = {
    ("us", "q1", "frequency"): 76_921,
    ("us", "q1", "grid"): 160_659,
    ("us", "q2", "metric"): 267_415,
    ("us", "q2", "r_tree"): 181_542,
}
"""Tuples a second that the paper names; its queries are 5 and 10 million, its cores those of 2013."""


@dataclass(frozen=True)
class Case:
    """What was measured."""

    world: str
    kind: str
    index: str
    matchers: int
    partitioning: str


@dataclass(frozen=True)
class Trial:
    """How it went."""

    throughput: float
    row: Row


class Trials(dict[Case, Trial]):
    """All that was measured."""

    def throughput(self, world: str, kind: str, index: str, matchers: int, names: Sequence[str]) -> float:
        """Return the highest throughput of these partitionings."""
        return max(self[Case(world, kind, index, matchers, name)].throughput for name in names)


@dataclass(frozen=True)
class Scene:
    """What partitionings learn from, and what they are clocked on: posts and queries of one seed and of the next."""

    world: World
    kind: str
    sizes: Sizes
    workload: Workload
    stream: Stream
    expected: Int64
    """The matches: posts and queries as one number, rising."""

    @classmethod
    def draw(cls, world: World, kind: str, sizes: Sizes, seed: int) -> Self:
        """Draw both, and let a single index find the matches."""
        workload = Workload(
            world.posts(sizes.learned_posts, 2 * seed),
            world.searches(sizes.learned_queries, kind, 2 * seed).placed,
            world.bounds,
            sizes.shared_queries / sizes.learned_queries,
        )
        stream = Stream.draw(world, kind, sizes.shared_queries, sizes.shared_tuples, SHARED_BATCH, 2 * seed + 1)
        return cls(world, kind, sizes, workload, stream, single_answers(stream, INDEXES[FLAT_GRID](world.bounds)))

    def run(self, trials: Trials, names: Sequence[str], matchers: int, indexes: Sequence[str]) -> None:
        """Learn some partitionings, and clock them in turns."""
        learned = {name: timed(partial(PARTITIONINGS[name], self.workload, matchers)) for name in names}
        clusters = {name: Cluster.of(grid, self.stream, self.sizes.routers) for name, (_, grid) in learned.items()}
        for index in indexes:
            rounds: dict[str, list[Clock]] = {name: [] for name in names}
            for _ in range(self.sizes.rounds):
                for name, cluster in clusters.items():
                    rounds[name].append(cluster.clocked(index, self.expected))
            for name, cluster in clusters.items():
                clock = reduce(Clock.best, rounds[name])
                row = {"learning, s": learned[name][0], **_row(cluster, clock)}
                trials[Case(self.world.name, self.kind, index, matchers, name)] = Trial(cluster.throughput(clock), row)


def report_contest(
    report: Report, world: World, trials: Trials, sizes: Sizes, seed: int, scaled: Sequence[int]
) -> Iterator[str]:
    """Let partitionings share out the same stream, of which they must find the same matches; yield what comes next.

    `scaled` are the numbers of matchers of Figure 11, which the best of them have beside the usual one.
    """
    for kind in KINDS:
        yield f"Figures 6 to 10, {world.name}, {kind}"
        scene = Scene.draw(world, kind, sizes, seed)
        scene.run(trials, tuple(PARTITIONINGS), sizes.matchers, sizes.indexes)
        _report_matchers(report, trials, scene)
        if scaled:
            yield f"Figure 11, {world.name}, {kind}"
            for matchers in scaled:
                scene.run(trials, (*BEST, HYBRID), matchers, sizes.indexes[:1])
            _report_scaling(report, trials, scene, sorted({*scaled, sizes.matchers}))


def _row(cluster: Cluster, clock: Clock) -> Row:
    stream, loads = cluster.stream, cluster.loads(Costs())
    return {
        "total load, ms": float(loads.sum()) / 1e3,
        "imbalance of loads": float(loads.max() / loads.mean()),
        "imbalance of clocks": float(clock.matching.max() / clock.matching.mean()),
        "copies": len(cluster.homes.values) / cluster.homes.rows,
        "visits": len(cluster.visits.values) / stream.posts,
        "slowest matcher, ms": 1e3 * float(clock.matching.max()),
        "all matchers, ms": 1e3 * float(clock.matching.sum()),
        "a router, ms": 1e3 * clock.routing / cluster.routers,
        "latency, ms": 1e3 * cluster.latency(clock),
        "router, MB": cluster.router_bytes / 1e6,
        "matcher, MB": float(np.mean(clock.matcher_bytes)) / 1e6,
    }


def _report_matchers(report: Report, trials: Trials, scene: Scene) -> None:
    sizes, stream = scene.sizes, scene.stream
    for index in sizes.indexes:
        where = (scene.world.name, scene.kind, index, sizes.matchers)
        best = trials.throughput(*where, BEST)
        rows = [
            {
                "partitioning": name,
                "tuples/s": trial.throughput,
                "paper": _PAPER.get((scene.world.name, scene.kind, name)),
                "× best of metric, kd_tree": trial.throughput / best,
                **trial.row,
            }
            for name in PARTITIONINGS
            for trial in [trials[Case(*where, name)]]
        ]
        report.section(
            f"Figures 6 to 10, {', '.join(where[:3])}: {sizes.matchers} matchers, {sizes.routers} routers",
            rows,
            f"{stream.standing_queries:,} queries, {stream.tuples:,} tuples; best of {sizes.rounds} rounds, in turns; "
            "neither sending nor merging slows it down. Loads are those of Definition 1, copies are of conjunctions. "
            "Latency is the mean of a post at half of the throughput, in batches of 1,000 tuples: until its batch is "
            "full, is routed, is done by the slowest matcher it visits, and is merged.",
        )


def _report_scaling(report: Report, trials: Trials, scene: Scene, every: Sequence[int]) -> None:
    index, shown = scene.sizes.indexes[0], ("slowest matcher, ms", "a router, ms", "imbalance of clocks")
    rows = [
        {
            "partitioning": name,
            "matchers": matchers,
            "tuples/s": trial.throughput,
            **{column: trial.row[column] for column in shown},
        }
        for name in (*BEST, HYBRID)
        for matchers in every
        for trial in [trials[Case(scene.world.name, scene.kind, index, matchers, name)]]
    ]
    title = f"Figure 11, {scene.world.name}, {scene.kind}, {index}: {scene.sizes.routers} routers"
    report.section(title, rows)
