"""Figures 3.4 to 3.6: how many follow and are followed, how soon rings are complete, and for whom."""

import time
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tidegate.bench.overlay.scene import Graph, classes
from tidegate.bench.overlay.sizes import Sizes
from tidegate.bench.report import Report, Row
from tidegate.csr import Csr, Int64
from tidegate.overlay.poldercast.settings import Gossip, Settings
from tidegate.overlay.swarm.completeness import completeness
from tidegate.overlay.swarm.dissemination import disseminated
from tidegate.overlay.swarm.swarm import Swarm
from tidegate.workload.follows import fans, friends

COMPLETE: Final = 0.99
_WITHOUT: Final = Gossip(view=0)
_WAYS: Final = {
    "ours": Settings(),
    "ours, without Vicinity": Settings(vicinity=_WITHOUT),
    "as printed": Settings(as_printed=True),
    "as printed, without Vicinity": Settings(vicinity=_WITHOUT, as_printed=True),
}
_GENERATED: Final = 2
"""The first graphs of a run; one of a file comes after them."""
_LATER: Final = 5
"""After ten cycles, every so many are measured."""


@dataclass(frozen=True)
class Converged:
    """A swarm, and how it came to be."""

    swarm: Swarm
    to_99: int | None
    """Cycles until 99 % of rings were complete."""
    node_cycles_per_s: float
    """Per second of one core."""
    by_peer: Int64
    """Cycles until all ring links of a peer were right, or -1."""
    by_topic: Int64


@dataclass(frozen=True)
class Times:
    """How many times as many cycles something takes."""

    value: float
    is_exceeded: bool = False
    """It was not done by then: it takes more."""

    @property
    def told(self) -> float | str:
        """A cell of a table."""
        return f"more than {self.value:.1f}" if self.is_exceeded else self.value


Slower = dict[str, list[Times | None]]
"""By protocol, for each graph that is generated how many times the cycles it takes without Vicinity; nothing where it
was not done with it either."""


def report_degrees(report: Report, graphs: list[Graph]) -> None:
    """Figure 3.4: of the users, how many follow, and are followed by, at least so many."""
    rows: list[Row] = []
    shown = [(graph.name, graph.follows) for graph in graphs]
    # Of a real graph, the part that is run beside the whole.
    shown += [(f"{graph.name}, all of it", graph.whole) for graph in graphs if graph.whole is not None]
    for name, follows in shown:
        following, followed = np.diff(follows.followed.offsets), follows.popularity
        least = 1
        while least <= max(following.max(), followed.max()):
            rows.append(
                {
                    "graph": name,
                    "at least": least,
                    "follow, share": float((following >= least).mean()),
                    "are followed, share": float((followed >= least).mean()),
                }
            )
            least *= 2
    report.section(
        "Figure 3.4: followers and followees, CCDF",
        rows,
        "Thesis: power laws; a sample of 10,000 users keeps the shape. Some have over 400.",
    )


def report_convergence(report: Report, graphs: list[Graph], sizes: Sizes, seed: int) -> tuple[list[Converged], Slower]:
    """Figure 3.5, from warm Cyclon views; return the swarms with Vicinity, and how much slower it is without."""
    rows, swarms, beside = list[Row](), list[Converged](), list[Row]()
    slower: Slower = {"ours": [], "as printed": []}
    # No pace has the time in it that compiling takes.
    Swarm(friends(10, 2, seed).followed, seed=seed).run()
    for graph in graphs:
        ran = {
            way: _run(rows, graph, way, sizes.slow_cycles if way.endswith("Vicinity") else sizes.cycles, seed)
            for way in _WAYS
        }
        swarms.append(ran["ours"])
        for way, found in slower.items():
            whole, without = ran[way], ran[f"{way}, without Vicinity"]
            times = times_as_many(without.to_99, whole.to_99, sizes.slow_cycles)
            beside.append(_beside(graph, way, whole, without, times))
            # What is said of it is said of graphs that are like Facebook's and Twitter's.
            if len(found) < _GENERATED:
                found.append(times)
    report.section(
        "Figure 3.5: convergence from warm Cyclon views",
        rows,
        "Thesis: 99 % of rings are complete within 60 cycles; all topics are connected sooner.",
    )
    report.section(
        "Figure 3.5, cycles until 99 % of rings are complete",
        beside,
        "As printed, peers do what the thesis says and no more; ours also read and name more than it asks for.",
    )
    return swarms, slower


def report_by_follows(report: Report, sizes: Sizes, seed: int) -> None:
    """How Figure 3.5 depends on how many topics peers follow."""
    rows: list[Row] = []
    for name, graph in (("Facebook-like", friends), ("Twitter-like", fans)):
        for mean in sizes.means:
            topics = graph(sizes.peers, mean, seed).followed
            whole = _cycles(topics, Settings(), sizes.cycles, seed)
            without = _cycles(topics, Settings(vicinity=_WITHOUT), sizes.slow_cycles, seed)
            times = times_as_many(without, whole, sizes.slow_cycles)
            rows.append(
                {
                    "graph": name,
                    "topics of a peer, mean": mean,
                    "cycles to 99 %": whole,
                    "without Vicinity": without,
                    "times as many": times.told if times else None,
                }
            )
    report.section(
        "Figure 3.5, by how much peers follow: cycles until 99 % of rings are complete",
        rows,
        "Thesis: 3 to 6 times as many without Vicinity. Who follows little finds few by chance that follow the same; "
        "who follows much has so many neighbours that it needs no Vicinity. Nothing: it took more than "
        f"{sizes.cycles} cycles, or {sizes.slow_cycles} without.",
    )


def times_as_many(without: int | None, whole: int | None, most: int) -> Times | None:
    """Return how many times the cycles it takes without Vicinity, more than `most` of them if it was not done."""
    if whole is None:
        return None
    return Times(most / whole, is_exceeded=True) if without is None else Times(without / whole)


def _cycles(topics: Csr, settings: Settings, most: int, seed: int) -> int | None:
    """Run until 99 % of rings are complete, and return after how many cycles that was."""
    swarm = Swarm(topics, settings, seed)
    swarm.warm()
    for cycle in range(1, most + 1):
        swarm.run()
        if completeness(swarm).complete_share >= COMPLETE:
            return cycle
    return None


def report_by_size(report: Report, graphs: list[Graph], swarms: list[Converged]) -> None:
    """Figure 3.6: how soon peers and rings of which size were done."""
    rows: list[Row] = []
    for graph, one in zip(graphs, swarms, strict=True):
        for what, sizes, cycles in (
            ("topics of a peer", np.diff(graph.topics.offsets), one.by_peer),
            ("peers of a ring", graph.follows.popularity[: len(one.by_topic)], one.by_topic),
        ):
            for name, inside in classes(sizes):
                done = cycles[inside][cycles[inside] >= 0]
                rows.append(
                    {
                        "what": f"{graph.name}, {what}",
                        "size": name,
                        "from": int(sizes[inside].min()),
                        "how many": len(inside),
                        "cycles, mean": float(done.mean()) if len(done) else None,
                        "cycles, most": int(done.max()) if len(done) else None,
                        "not done": len(inside) - len(done),
                    }
                )
    report.section(
        "Figure 3.6: cycles until links are right, by size",
        rows,
        "Thesis: even peers with over 400 topics converge reasonably fast. A cycle counts if nothing was wrong after.",
    )


def wrong_links(swarm: Swarm) -> Int64:
    """Return by place of a topic among those of a peer how many of its two links are wrong, everybody being up."""
    topics, rings = swarm.topics, swarm.nodes.rings
    peers = np.repeat(np.arange(topics.rows), np.diff(topics.offsets))
    order = np.lexsort((swarm.nodes.ids[peers], topics.values))
    topic, peer = topics.values[order], peers[order]
    first = np.flatnonzero(np.diff(topic, prepend=-1))
    last = np.append(first[1:], len(topic)) - 1
    after, before = np.roll(peer, -1), np.roll(peer, 1)
    after[last], before[first] = peer[first], peer[last]
    # Who is alone is its own neighbour, and needs none.
    alone = after == peer
    half = rings.shape[1] // 2
    wrong = np.zeros(len(topic), np.int64)
    wrong[order] = np.where(alone, 0, _other(rings[order, 0], after) + _other(rings[order, half], before))
    return wrong


def _other(entries: Int64, peers: Int64) -> Int64:
    """1 where an entry is not of the peer that it ought to be of, or of nobody."""
    known = np.where(entries >= 0, entries & ((1 << 32) - 1), -1)
    return np.asarray(known != peers, np.int64)


def _beside(graph: Graph, way: str, whole: Converged, without: Converged, times: Times | None) -> Row:
    return {
        "graph": graph.name,
        "protocol": way,
        "cycles to 99 %": whole.to_99,
        "thesis": "within 60",
        "without Vicinity": without.to_99,
        "times as many": times.told if times else None,
        "thesis, times": "3 to 6",
        "node cycles/s": whole.node_cycles_per_s,
    }


def _run(rows: list[Row], graph: Graph, way: str, most: int, seed: int) -> Converged:
    """Run until all rings are complete, and where it is not ours, until 99 % are."""
    swarm = Swarm(graph.topics, _WAYS[way], seed)
    swarm.warm()
    sizes, rings = _rings(swarm)
    peers = np.repeat(np.arange(swarm.topics.rows), np.diff(swarm.topics.offsets))
    by_peer, by_topic = np.full(swarm.topics.rows, -1, np.int64), np.full(len(sizes), -1, np.int64)
    to_99, took = None, 0.0
    for cycle in range(1, most + 1):
        begun = time.process_time()
        swarm.run()
        took += time.process_time() - begun
        wrong = wrong_links(swarm)
        of_topic = np.bincount(swarm.topics.values, wrong, minlength=len(sizes))
        _mark(by_peer, np.bincount(peers, wrong, minlength=len(by_peer)), cycle)
        _mark(by_topic, of_topic, cycle)
        incomplete = np.count_nonzero(of_topic) / max(rings, 1)
        if to_99 is None and incomplete <= 1 - COMPLETE:
            to_99 = cycle
        done = incomplete == 0 or cycle == most or (to_99 is not None and way != "ours")
        if cycle <= 10 or cycle % _LATER == 0 or done:
            links = 2 * int(sizes[sizes > 1].sum())
            rows.append(_row(graph, way, swarm, cycle, float(of_topic.sum()) / max(links, 1), incomplete))
        if done:
            break
    return Converged(swarm, to_99, swarm.topics.rows * cycle / took, by_peer, by_topic)


def _row(graph: Graph, way: str, swarm: Swarm, cycle: int, links: float, rings: float) -> Row:
    spread = disseminated(swarm)
    asked = spread.subscribers > 1
    disconnected = asked & (spread.reached < spread.subscribers)
    return {
        "graph": graph.name,
        "way": f"{graph.name}, {way}",
        "cycle": cycle,
        "missing links, %": 100 * links,
        "incomplete rings, %": 100 * rings,
        "miss ratio, %": 100 * spread.miss_ratio,
        "disconnected topics, %": 100 * int(disconnected.sum()) / max(int(asked.sum()), 1),
    }


def _mark(done: Int64, wrong: NDArray[Any], cycle: int) -> None:
    """Note the cycle for those that are right now and were not, and take it back from those that are wrong."""
    done[(wrong == 0) & (done < 0)] = cycle
    done[wrong > 0] = -1


def _rings(swarm: Swarm) -> tuple[Int64, int]:
    sizes = np.bincount(swarm.topics.values, minlength=swarm.many_topics)
    return sizes, int(np.count_nonzero(sizes > 1))
