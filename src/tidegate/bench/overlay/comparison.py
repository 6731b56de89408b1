"""Table 3.1, measured for the two systems that are built, and what has to hold."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from tidegate.bench.overlay.spread import Events, ring_degrees
from tidegate.bench.report import Report, Row
from tidegate.csr import Int64
from tidegate.overlay.scribe.dissemination import disseminated as carried
from tidegate.overlay.scribe.forest import Forest
from tidegate.overlay.swarm.dissemination import disseminated
from tidegate.overlay.swarm.swarm import Flags, Swarm

_BUSY: Final = 0.01


@dataclass(frozen=True)
class Found:
    """What the figures of a run come to."""

    swarm: Swarm
    forest: Forest
    events: dict[int, Events]
    """With both kinds of shortcuts, by fan-out."""
    scribe: Events
    to_99: list[int | None]
    upkeep: dict[str, float]
    churned: dict[str, dict[str, float]]
    node_cycles_per_s: float

    @property
    def worst_hops(self) -> float:
        """PolderCast's, of all fan-outs."""
        return max(events.mean_hops for events in self.events.values())

    @property
    def hops_ratio(self) -> float:
        """Scribe's hops over these."""
        return self.scribe.mean_hops / self.worst_hops

    def missed(self, system: str, weather: str) -> float:
        """The most that a system missed in some weather, whether a trace's times are spread or not."""
        return max(self._by_kind(system, weather))

    @property
    def scribe_times(self) -> float:
        """How many times as much Scribe misses in the mean, at least."""
        both = zip(self._by_kind("Scribe", "mean"), self._by_kind("PolderCast", "mean"), strict=True)
        return min(scribe / max(ours, 1e-9) for scribe, ours in both)

    def _by_kind(self, system: str, weather: str) -> list[float]:
        return [one[weather] for name, one in self.churned.items() if name.rpartition(", ")[0] == system]


def report_table(report: Report, found: Found) -> None:
    """Table 3.1, a row for each property."""
    swarm, forest, worst = found.swarm, found.forest, found.events[min(found.events)]
    degrees = ring_degrees(swarm)
    known = (forest.nodes.table >= 0).sum(axis=(1, 2)) + (forest.nodes.leaves >= 0).sum(axis=1)
    rows: list[Row] = [
        _row(
            "Central nodes: hit ratio when the busiest 1 % go",
            _without_busiest(swarm.up, worst.received, lambda: disseminated(swarm).hit_ratio),
            "none",
            _without_busiest(forest.up, carried(forest).received, lambda: carried(forest).hit_ratio),
            "rendezvous",
        ),
        _row(
            "Miss ratio under churn, mean",
            found.missed("PolderCast", "mean"),
            "high hit ratio",
            found.missed("Scribe", "mean"),
            "ten times",
        ),
        _row("Hit ratio without churn", worst.hit_ratio, "100 %", found.scribe.hit_ratio, "100 %"),
        _row(
            "Topic-connected: unwanted copies of an event, of all",
            0.0,
            "yes",
            _unwanted(forest),
            "no",
        ),
        _row(
            "Degree, mean",
            float(degrees.mean()),
            "O(topics of the peer)",
            float(known.mean()),
            "O(log peers)",
        ),
        _row("Degree, most", int(degrees.max()), "O(topics of the peer)", int(known.max()), "O(log peers)"),
        _row("Duplication, f = 2", worst.duplication, "at most f", found.scribe.duplication, "none"),
        _row("Hops, mean, f = 2", worst.mean_hops, "O(log peers of the topic)", found.scribe.mean_hops, "O(log peers)"),
    ]
    report.section("Table 3.1: measured", rows, "Duplication counts all copies: 1 is none (errata: at most f).")


def summarise(report: Report, found: Found) -> None:
    """What has to hold, and the summary."""
    to_99 = None if None in found.to_99 else max(one for one in found.to_99 if one is not None)
    hits = [events.hit_ratio for events in found.events.values()]
    over = [f for f, events in found.events.items() if events.duplication > f]
    calm, drops = found.missed("PolderCast", "calm"), found.missed("PolderCast", "drops")
    times = found.scribe_times
    statements = (
        ("99 % of rings complete within 60 cycles", to_99, to_99 is not None and to_99 <= 60),
        ("hit ratio 1 without churn", min(hits), min(hits) == 1),
        ("hops grow no faster than the logarithm of a topic's peers", _growth(found), _growth(found) < 1.5),
        ("Scribe's hops above PolderCast's most (thesis 1.7)", found.hops_ratio, found.hops_ratio > 1),
        ("duplication at most f", max((e.duplication / f for f, e in found.events.items())), not over),
        ("Scribe: over 80 % unwanted, for more than 0.9 of peers", found.upkeep["much"], found.upkeep["much"] > 0.9),
        ("the same without what keeps Pastry", found.upkeep["much, trees"], found.upkeep["much, trees"] > 0.9),
        ("miss ratio under churn at most 0.01 but for sharp drops", calm, calm <= 0.01),
        ("at most 0.04 in sharp drops", drops, drops <= 0.04),
        ("Scribe misses about ten times as much", times, times > 5),
    )
    report.section(
        "What has to hold",
        [{"statement": what, "found": value, "holds": "yes" if holds else "no"} for what, value, holds in statements],
    )
    report.summary = {
        "cycles_to_99pct": to_99,
        "hit_ratio_static": min(hits),
        "miss_ratio_churn": calm,
        "hops_ratio_scribe": found.hops_ratio,
        "node_cycles_per_s": found.node_cycles_per_s,
    }


def _row(what: str, ours: float, told: str, scribe: float, scribe_told: str) -> Row:
    return {"property": what, "PolderCast": ours, "thesis": told, "Scribe": scribe, "thesis, Scribe": scribe_told}


def _growth(found: Found) -> float:
    """By how much hops grow over the logarithm of a topic's peers, from topics of up to 8 to those of the most."""
    events = found.events[min(found.events)]
    sizes = events.subscribers // events.rounds
    small, large = (sizes > 2) & (sizes <= 8), sizes > max(8, int(sizes.max()) // 4)
    if not small.any() or not large.any():
        return 0.0
    a_bit = [
        float(events.hops[those].sum() / events.others[those].sum() / np.log2(sizes[those]).mean())
        for those in (small, large)
    ]
    return a_bit[1] / a_bit[0]


def _without_busiest(up: Flags, received: Int64, hit_ratio: Callable[[], float]) -> float:
    busiest = np.argsort(-received, kind="stable")[: max(1, round(_BUSY * len(up)))]
    up[busiest] = False
    found = hit_ratio()
    up[busiest] = True
    return found


def _unwanted(forest: Forest) -> float:
    spread = carried(forest)
    return float(spread.unwanted.sum() / max(int(spread.received.sum()), 1))
