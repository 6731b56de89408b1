"""Figures 3.7 and 3.8: how many neighbours a peer has, and how far, how often and to whom events go."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from tidegate.bench.overlay.convergence import Converged
from tidegate.bench.overlay.scene import Graph, classes
from tidegate.bench.overlay.sizes import Sizes
from tidegate.bench.report import Report, Row
from tidegate.csr import Int64
from tidegate.overlay.poldercast.ringcast import BY_BOTH, BY_CYCLON, BY_VICINITY
from tidegate.overlay.scribe.dissemination import disseminated as carried
from tidegate.overlay.scribe.forest import Forest
from tidegate.overlay.swarm.dissemination import disseminated
from tidegate.overlay.swarm.swarm import Swarm

_WAYS: Final = {"Cyclon": BY_CYCLON, "Vicinity": BY_VICINITY, "both": BY_BOTH}
KNOWN: Final = "Scribe, rendezvous known"
THESIS_HOPS_RATIO: Final = 1.7


@dataclass(frozen=True)
class Events:
    """What one event for every topic, several times, came to, in sums."""

    rounds: int
    subscribers: Int64
    reached: Int64
    hops: Int64
    copies: Int64
    received: Int64
    """By peer."""
    due: Int64
    """By peer, what it should have got."""

    @property
    def hit_ratio(self) -> float:
        """Of all that should be reached, how many were."""
        return float(self.reached.sum() / max(self.subscribers.sum(), 1))

    @property
    def others(self) -> Int64:
        """By topic, who was reached, but for those that published."""
        return self.reached - self.rounds * (self.subscribers > 0)

    @property
    def mean_hops(self) -> float:
        """From the publisher to another subscriber."""
        return float(self.hops.sum() / max(int(self.others.sum()), 1))

    @property
    def duplication(self) -> float:
        """Copies that were received over peers that have the event; whoever publishes it has it."""
        return float(self.copies.sum() / max(self.reached.sum(), 1))

    @property
    def received_duplication(self) -> float:
        """Copies over peers that got the event from another (section 3.5.4).

        In a topic of n peers it may be n / (n - 1) times the fan-out. Small topics are below that by far: their copies
        name most of those that have the event.
        """
        return float(self.copies.sum() / max(int(self.others.sum()), 1))


Ways = dict[str, dict[int, Events]]
"""Events by where shortcuts are picked from, and by fan-out."""


def events_of(swarm: Swarm, fan_out: int, shortcuts: int, rounds: int) -> Events:
    """Let events spread by RingCast."""
    spreads = [disseminated(swarm, fan_out, shortcuts, seed=seed) for seed in range(rounds)]
    return Events(
        rounds,
        _sum([one.subscribers for one in spreads]),
        _sum([one.reached for one in spreads]),
        _sum([one.hops for one in spreads]),
        _sum([one.copies for one in spreads]),
        _sum([one.received for one in spreads]),
        np.diff(swarm.topics.offsets) * rounds,
    )


def carried_events(forest: Forest, rounds: int, *, direct: bool = False) -> Events:
    """Let events spread by Scribe, routed to the rendezvous or sent there at once."""
    spreads = [carried(forest, direct=direct, seed=seed) for seed in range(rounds)]
    return Events(
        rounds,
        _sum([one.subscribers for one in spreads]),
        _sum([one.reached for one in spreads]),
        _sum([one.hops for one in spreads]),
        # Whoever publishes has the event, as if it had got it.
        _sum([one.delivered + (one.subscribers > 0) for one in spreads]),
        _sum([one.received - one.unwanted for one in spreads]),
        np.diff(forest.topics.offsets) * rounds,
    )


def _sum(arrays: list[Int64]) -> Int64:
    return np.asarray(np.sum(arrays, axis=0))


def report_neighbours(report: Report, graphs: list[Graph], swarms: list[Converged], forest: Forest) -> None:
    """Figure 3.7: different ring neighbours, by topics followed; and whom a peer of Scribe knows."""
    rows: list[Row] = []
    known = known_degrees(forest)
    for graph, one in zip(graphs, swarms, strict=True):
        sizes, degrees = np.diff(graph.topics.offsets), ring_degrees(one.swarm)
        rows += [
            {
                "graph": graph.name,
                "topics": name,
                "from": int(sizes[inside].min()),
                "peers": len(inside),
                "ring neighbours": float(degrees[inside].mean()),
                "a topic": float(degrees[inside].sum() / sizes[inside].sum()),
                "Scribe": float(known[inside].mean()) if graph is graphs[0] else None,
            }
            for name, inside in classes(sizes)
        ]
    report.section(
        "Figure 3.7: neighbours of a peer, by topics that it follows",
        rows,
        "Thesis: almost linear for Facebook, less for Twitter, where interests overlap; Scribe's do not depend on it. "
        "Ring neighbours: next ones on either side, of all topics, each counted once.",
    )


def report_events(report: Report, swarm: Swarm, forest: Forest, sizes: Sizes) -> tuple[Ways, Events, Events]:
    """Figure 3.8; return the events by the kind of shortcuts and fan-out; Scribe's, and where publishers know the
    rendezvous."""
    rows, by_peer, by_topic, by_hops = list[Row](), list[Row](), list[Row](), list[Row]()
    ways: Ways = {way: {} for way in _WAYS}
    scribe, direct = (carried_events(forest, sizes.rounds, direct=direct) for direct in (False, True))
    for way, shortcuts in _WAYS.items():
        for fan_out in sizes.fan_outs:
            events = events_of(swarm, fan_out, shortcuts, sizes.rounds)
            ways[way][fan_out] = events
            rows.append(_row(way, fan_out, events))
            if fan_out == sizes.fan_outs[len(sizes.fan_outs) // 2]:
                by_peer += _by_peer(f"{way}, f = {fan_out}", events)
                by_topic += _by_topic(f"{way}, f = {fan_out}", events)
                by_hops += by_hops_of(f"{way}, f = {fan_out}", events)
    least = min(sizes.fan_outs)
    for way, events in ((f"both, f = {least}", ways["both"][least]), ("Scribe", scribe), (KNOWN, direct)):
        by_topic += _by_topic(way, events)
        by_hops += by_hops_of(way, events)
    rows += [_row(way, f, events) for way, events in (("Scribe", scribe), (KNOWN, direct)) for f in sizes.fan_outs]
    report.section(
        "Figures 3.8a and 3.8b: hops and duplication by fan-out",
        rows,
        "Thesis: hops fall and duplication rises with f, hardly so with Cyclon alone, most with Vicinity alone; "
        f"Scribe's hops are {THESIS_HOPS_RATIO} times the most that PolderCast takes. Duplication over those "
        "that have the event, its publisher too, is at most f by construction; the thesis divides by those that got "
        "it. Scribe has no fan-out. Rendezvous known: whoever publishes has done so before, and needs no route to it.",
    )
    report.section(
        "Figure 3.8c: of the topics, those whose events take at least so many hops, in the mean",
        by_hops,
        "Thesis: both views are between Cyclon and Vicinity alone; many of Scribe's events take much longer.",
    )
    report.section(
        "Figure 3.8c, by size: hops by peers of a topic",
        by_topic,
        "Thesis: logarithmic in the size of a topic.",
    )
    report.section(
        "Figure 3.8d: of the peers, how many get events at least so often",
        by_peer,
        "Thesis: with Vicinity alone, a fifth of the peers get them four times and more.",
    )
    return ways, scribe, direct


def ring_degrees(swarm: Swarm) -> Int64:
    """Return by peer how many others are next to it in some ring."""
    topics, half = swarm.topics, swarm.settings.rings.view // 2
    peers = np.repeat(np.arange(topics.rows), np.diff(topics.offsets))
    entries = swarm.nodes.rings[:, (0, half)]
    links = np.stack((np.stack((peers, peers), axis=1)[entries >= 0], entries[entries >= 0] & ((1 << 32) - 1)), axis=1)
    return np.bincount(np.unique(links, axis=0)[:, 0], minlength=topics.rows)


def known_degrees(forest: Forest) -> Int64:
    """Return by peer of Scribe how many others it keeps in its table and its leaf set, each counted once."""
    rows = forest.topics.rows
    known = np.concatenate((forest.nodes.table.reshape(rows, -1), forest.nodes.leaves), axis=1)
    return np.array([len(np.unique(one[one >= 0])) for one in known])


def _row(way: str, fan_out: int, events: Events) -> Row:
    return {
        "shortcuts": way,
        "f": fan_out,
        "mean hops": events.mean_hops,
        "duplication": events.duplication,
        "over those that got it": None if way.startswith("Scribe") else events.received_duplication,
        "hit ratio": events.hit_ratio,
    }


def _by_topic(way: str, events: Events) -> list[Row]:
    sizes = events.subscribers // events.rounds
    return [
        {
            "way": way,
            "peers": name,
            "from": int(sizes[inside].min()),
            "topics": len(inside),
            "mean hops": float(events.hops[inside].sum() / events.others[inside].sum()),
        }
        for name, inside in classes(sizes)
        if name != "1"
    ]


def by_hops_of(way: str, events: Events) -> list[Row]:
    """Return which share of the topics has events that take at least so many hops, in the mean of their peers."""
    asked = events.others > 0
    hops = events.hops[asked] / events.others[asked]
    most = int(hops.max(initial=0.0))
    return [{"way": way, "hops": least, "topics, share": float((hops >= least).mean())} for least in range(1, most + 1)]


def _by_peer(way: str, events: Events) -> list[Row]:
    asked = events.due > 0
    times = events.received[asked] / events.due[asked]
    return [
        {"way": way, "times": least, "peers, share": float((times >= least).mean())} for least in (1, 2, 3, 4, 6, 8)
    ]
