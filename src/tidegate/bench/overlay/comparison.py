"""Table 3.1, measured for the two systems that are built, and what has to hold."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from tidegate.bench.overlay.adaptive import GUSTS, Held, copies_saved, less_missed
from tidegate.bench.overlay.churned import PAIRS, Missed
from tidegate.bench.overlay.convergence import Slower, Times
from tidegate.bench.overlay.spread import Events, Ways, known_degrees, ring_degrees
from tidegate.bench.overlay.upkeep import unwanted_copies
from tidegate.bench.report import Report, Row
from tidegate.csr import Int64
from tidegate.overlay.scribe.dissemination import disseminated as carried
from tidegate.overlay.scribe.forest import Forest
from tidegate.overlay.swarm.dissemination import disseminated
from tidegate.overlay.swarm.swarm import Flags, Swarm

_BUSY: Final = 0.01
_GROWTH: Final = 1.5
_THESIS_NODE_CYCLES: Final = 10_000 * 100
_VERDICTS: Final = {True: "yes", False: "no", None: "none seen"}
Statement = tuple[str, float | str | None, bool | None]
"""What is said, what was found, and whether it holds; nothing if there was nothing to see."""


@dataclass(frozen=True)
class Found:
    """What the figures of a run come to."""

    swarm: Swarm
    forest: Forest
    ways: Ways
    scribe: Events
    direct: Events
    """Scribe's where publishers know the rendezvous from before."""
    hits: list[float]
    """By graph, the hit ratio without churn."""
    to_99: list[int | None]
    slower: Slower
    upkeep: dict[str, float]
    churned: dict[str, Missed]
    targets: list[Held]
    """Of the fan-out that adapts."""
    node_cycles_per_s: float
    memory_gb: float
    """The peak of the process."""

    @property
    def events(self) -> dict[int, Events]:
        """With both kinds of shortcuts, by fan-out."""
        return self.ways["both"]

    @property
    def worst_hops(self) -> float:
        """PolderCast's, of all fan-outs and kinds of shortcuts."""
        return most_hops(self.ways.values())

    @property
    def hops_ratio(self) -> float:
        """Scribe's hops over these."""
        return self.scribe.mean_hops / self.worst_hops

    def missed(self, system: str, weather: str) -> float | None:
        """The most that a system missed in some weather, whether a trace's times are spread or not; nothing where
        there was none of it."""
        return max((one for one in self._by_kind(system, weather) if one is not None), default=None)

    def scribe_times(self, pair: str) -> float | None:
        """How many times as much Scribe misses in the mean, at least, of two that are alike; infinitely often where it
        alone misses anything, and nothing where neither does."""
        ours, scribe = (self._by_kind(system, "mean") for system in PAIRS[pair])
        return min((_times(*both) for both in zip(scribe, ours, strict=True) if any(both)), default=None)

    def _by_kind(self, system: str, weather: str) -> list[float | None]:
        return [one[weather] for name, one in self.churned.items() if name.rpartition(", ")[0] == system]


def most_hops(ways: Iterable[dict[int, Events]]) -> float:
    """Return the most hops in the mean, of all fan-outs."""
    return max(events.mean_hops for way in ways for events in way.values())


def report_table(report: Report, found: Found) -> None:
    """Table 3.1, a row for each property."""
    swarm, forest, worst = found.swarm, found.forest, found.events[min(found.events)]
    degrees = ring_degrees(swarm)
    known = known_degrees(forest)
    copies = unwanted_copies(swarm, max(found.events))
    rows: list[Row] = [
        _row(
            "Central nodes: hit ratio when the busiest 1 % go",
            _without_busiest(swarm.up, worst.received, lambda: disseminated(swarm).hit_ratio),
            "none",
            _without_busiest(forest.up, carried(forest).received, lambda: carried(forest).hit_ratio),
            "rendezvous",
        ),
        *(
            _row(
                f"Miss ratio under churn, mean, who is gone being noticed {pair}",
                found.missed(ours, "mean"),
                "high hit ratio",
                found.missed(scribe, "mean"),
                "ten times",
            )
            for pair, (ours, scribe) in PAIRS.items()
        ),
        _row("Hit ratio without churn", worst.hit_ratio, "100 %", found.scribe.hit_ratio, "100 %"),
        _row(
            "Topic-connected: unwanted copies of an event, of all",
            float(copies[0].sum() / max(int(copies[1].sum()), 1)),
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
    report.section(
        "Table 3.1: measured",
        rows,
        "Duplication counts all copies: 1 is none (errata: at most f). Degree: different peers, of PolderCast those "
        "next in some ring, without its views; of Scribe those in its table and leaf set.",
    )


def summarise(report: Report, found: Found) -> None:
    """What has to hold, and the summary."""
    report.section(
        "What has to hold",
        [{"statement": what, "found": value, "holds": _VERDICTS[holds]} for what, value, holds in _statements(found)],
        "None seen: nothing in this run says whether it holds.",
    )
    report.summary = {
        "cycles_to_99pct": _slowest(found),
        "hit_ratio_static": min(found.hits),
        "miss_ratio_churn": found.missed("PolderCast", "not sharp"),
        "hops_ratio_scribe": found.hops_ratio,
        "node_cycles_per_s": found.node_cycles_per_s,
    }


def _statements(found: Found) -> Iterator[Statement]:
    to_99, hits, growth = _slowest(found), min(found.hits), _growth(found)
    yield "99 % of rings complete within 60 cycles", to_99, to_99 is not None and to_99 <= 60
    for protocol, times in found.slower.items():
        yield f"without Vicinity 3 to 6 times as many, {protocol}", _range(times), _all_within(times, 3, 6)
    yield "hit ratio 1 without churn, on all graphs", hits, hits == 1
    faster = "hops grow at most 1.5 times as fast as the logarithm of a topic's peers"
    yield faster, growth, _at_most(growth, _GROWTH)
    yield "Scribe's hops above PolderCast's most (thesis 1.7)", found.hops_ratio, found.hops_ratio > 1
    known = found.direct.mean_hops / most_hops([found.events])
    yield "the same with the rendezvous known, over PolderCast with both kinds of shortcuts", known, known > 1
    share = max(events.received_duplication / fan_out for fan_out, events in found.events.items())
    yield "duplication over those that got the event at most f, as a share of f", share, share <= 1
    relayed, much, trees = (found.upkeep[name] for name in ("relayed", "much", "much, trees"))
    yield "PolderCast: copies for peers that do not follow the topic, none", relayed, relayed == 0
    yield "Scribe: over 80 % unwanted, for more than 0.9 of peers", much, much > 0.9
    yield "the same without what keeps Pastry, which the thesis counts", trees, trees > 0.9
    yield from _churned(found)
    yield from _adaptive([one for one in found.targets if one.pace != GUSTS], "")
    gusts = [one for one in found.targets if one.pace == GUSTS]
    yield from _adaptive(gusts, ", where a quarter go every minute")
    less = less_missed(gusts)
    yield "there it misses at most half of what it does without learning", less, _at_most(less, 0.5)
    seconds = _THESIS_NODE_CYCLES / found.node_cycles_per_s
    yield "10,000 peers' 100 cycles within 120 s of one core, at the pace of this run", seconds, seconds <= 120
    yield "at most 4 GB, whatever else this process did", found.memory_gb, found.memory_gb <= 4


def _churned(found: Found) -> Iterator[Statement]:
    for pair, (ours, _) in PAIRS.items():
        usual, drops, times = found.missed(ours, "not sharp"), found.missed(ours, "drops"), found.scribe_times(pair)
        alike = f"who is gone being noticed {pair}"
        yield f"miss ratio at most 0.01 but for sharp drops, {alike}", usual, _at_most(usual, 0.01)
        yield f"at most 0.04 in sharp drops, {alike}", drops, _at_most(drops, 0.04)
        yield f"Scribe misses 8 times as much or more (thesis: about ten), {alike}", _told(times), _at_least(times, 8)


def _adaptive(targets: list[Held], where: str) -> Iterator[Statement]:
    seen = [one for one in targets if one.fixed is not None]
    most, holds = copies_saved(targets)
    told = None if most is None else f"{most:.3g}, {sum(one.is_met for one in seen)} of {len(seen)} held"
    yield f"an adaptive fan-out holds what a fixed one does{where}, with at most 1.01 times its copies", told, holds


def _slowest(found: Found) -> int | None:
    """Cycles until 99 % of rings were complete on all graphs."""
    done = [one for one in found.to_99 if one is not None]
    return max(done) if done and len(done) == len(found.to_99) else None


def _times(much: float | None, little: float | None) -> float:
    return (much or 0.0) / little if little else np.inf


def _told(times: float | None) -> float | str | None:
    """A number that JSON has."""
    return "Scribe alone" if times == np.inf else times


def _range(values: list[Times | None]) -> str:
    told = ["not done" if one is None else one.told for one in values]
    return ", ".join(one if isinstance(one, str) else f"{one:.1f}" for one in told)


def _all_within(values: list[Times | None], least: float, most: float) -> bool | None:
    """Whether all are; one that is not known, or only that it is more, leaves it open, unless another is not."""
    known = [one for one in values if one is not None]
    if any(one.value > most or (one.value < least and not one.is_exceeded) for one in known):
        return False
    return True if known and len(known) == len(values) and not any(one.is_exceeded for one in known) else None


def _at_most(value: float | None, most: float) -> bool | None:
    return None if value is None else value <= most


def _at_least(value: float | None, least: float) -> bool | None:
    return None if value is None else value >= least


def _row(what: str, ours: float | None, told: str, scribe: float | None, scribe_told: str) -> Row:
    return {"property": what, "PolderCast": ours, "thesis": told, "Scribe": scribe, "thesis, Scribe": scribe_told}


def _growth(found: Found) -> float | None:
    """By how much hops grow over the logarithm of a topic's peers, from topics of up to 8 to those of the most."""
    events = found.events[min(found.events)]
    sizes = events.subscribers // events.rounds
    small, large = (sizes > 2) & (sizes <= 8), sizes > max(8, int(sizes.max()) // 4)
    if not small.any() or not large.any():
        return None
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
