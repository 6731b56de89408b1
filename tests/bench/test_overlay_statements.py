"""Statements of benchmark `overlay`: each can say yes, no, and that nothing was seen."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tidegate.bench.overlay.adaptive import GUSTS, Held, Rule, copies_saved, targets_held
from tidegate.bench.overlay.churned import Missed
from tidegate.bench.overlay.comparison import Found, summarise
from tidegate.bench.overlay.convergence import Times, times_as_many
from tidegate.bench.overlay.spread import Events, by_hops_of
from tidegate.bench.report import Report
from tidegate.csr import Csr
from tidegate.overlay.scribe.forest import Forest
from tidegate.overlay.swarm.fan_out import AdaptiveFanOut
from tidegate.overlay.swarm.swarm import Swarm


def tried(name: str, missed: float, copies: int, target: float | None = None) -> Rule:
    adaptive = None if target is None else AdaptiveFanOut(target)
    return Rule(name, lambda _: None, adaptive, missed=[0.0, 2 * missed], copies=copies, reached=100)


FIXED = [tried("f = 2", 0.004, 130), tried("f = 3", 0.001, 150), tried("f = 4", 0.0012, 170)]


@pytest.mark.parametrize(
    ("missed", "copies", "target", "least", "holds"),
    [
        (0.001, 149, 0.002, 1.5, True),
        (0.001, 150, 0.002, 1.5, True),
        (0.001, 152, 0.002, 1.5, False),
        (0.003, 110, 0.002, 1.5, False),
        (0.003, 129, 0.004, 1.3, True),
        (0.0001, 110, 0.0005, None, None),
    ],
)
def test_a_target_is_held_if_no_fixed_fan_out_that_holds_it_takes_fewer_copies(
    missed: float, copies: int, target: float, least: float | None, holds: bool | None
) -> None:
    (held,) = targets_held("haste", [*FIXED, tried("adaptive", missed, copies, target)])
    assert held.missed == pytest.approx(missed)
    assert (held.duplication, held.fixed) == (copies / 100, least)
    assert held.holds is holds


def test_of_all_targets_those_count_that_a_fixed_fan_out_holds() -> None:
    good, bad = Held("haste", 0.002, 0.001, 1.5, 2.0), Held("haste", 0.001, 0.002, 1.5, 2.0)
    unheld = Held("no haste", 0.001, 0.01, 1.8, None)
    assert copies_saved([good, unheld]) == (0.75, True)
    assert copies_saved([good, bad])[1] is False
    assert copies_saved([unheld]) == (None, None)


def test_a_rule_that_told_nobody_anything_has_held_nothing() -> None:
    (held,) = targets_held("haste", [tried("f = 2", 0.0, 0), tried("adaptive", 0.0, 0, 0.002)])
    assert held.fixed is None
    assert copies_saved([held]) == (None, None)


def events(hops: tuple[int, int], copies: tuple[int, int]) -> Events:
    """Of a topic with 5 peers and one with 50, all of which are reached."""
    return Events(1, *(np.array(one) for one in ((5, 50), (5, 50), hops, copies, (1,), (1,))))


NOBODY = Csr(np.zeros(1, np.int64), np.zeros(0, np.int32))


def found() -> Found:
    """What makes every statement hold."""
    calm: Missed = {"not sharp": 0.01, "drops": 0.04, "mean": 0.001}
    return Found(
        swarm=Swarm(NOBODY),
        forest=Forest(NOBODY),
        ways={"both": {2: events((8, 200), (6, 90))}, "Cyclon": {2: events((8, 250), (5, 80))}},
        scribe=events((20, 400), (5, 50)),
        direct=events((10, 300), (5, 50)),
        hits=[1.0, 1.0],
        to_99=[20, 60],
        slower={"ours": [Times(3.0), Times(6.0)]},
        upkeep={"much": 0.95, "much, trees": 0.95, "relayed": 0.0},
        churned={
            "PolderCast, drawn": calm,
            "PolderCast, no haste, drawn": calm,
            "Scribe, at once, drawn": {"mean": 0.01},
            "Scribe, drawn": {"mean": 0.01},
        },
        targets=[
            Held("haste", 0.001, 0.001, 1.4, 1.5),
            Held("haste", 0.0001, 0.0005, 1.6, None),
            Held(GUSTS, 0.005, 0.005, 1.6, 2.0, 0.006),
            Held(GUSTS, 0.0025, 0.002, 1.8, 2.0, 0.006),
        ],
        node_cycles_per_s=1e5,
        memory_gb=4.0,
    )


def verdicts(one: Found) -> dict[str, str]:
    report = Report("overlay", "small", {})
    summarise(report, one)
    return {row["statement"]: row["holds"] for row in report.sections[0].rows}


def churned(system: str, **missed: float | None) -> dict[str, Any]:
    of_all = found().churned
    return {"churned": {**of_all, f"{system}, drawn": {**of_all[f"{system}, drawn"], **missed}}}


def held(another: Held) -> dict[str, Any]:
    return {"targets": [*found().targets, another]}


ADAPTIVE = "an adaptive fan-out holds what a fixed one does"
BAD: list[tuple[str, dict[str, Any]]] = [
    ("99 % of rings", {"to_99": [20, 61]}),
    ("99 % of rings", {"to_99": [20, None]}),
    ("without Vicinity", {"slower": {"ours": [Times(1.4), Times(4.0)]}}),
    ("without Vicinity", {"slower": {"ours": [Times(7.0), None]}}),
    ("without Vicinity", {"slower": {"ours": [Times(4.0), Times(6.1, is_exceeded=True)]}}),
    ("hit ratio", {"hits": [1.0, 0.999]}),
    (
        "hops grow",
        {
            "ways": {"both": {2: events((4, 400), (6, 90))}},
            "scribe": events((20, 900), (5, 50)),
            "direct": events((20, 900), (5, 50)),
        },
    ),
    ("Scribe's hops", {"ways": {**found().ways, "Cyclon": {2: events((8, 450), (5, 80))}}}),
    ("the same with the rendezvous known", {"direct": events((8, 199), (5, 50))}),
    ("duplication", {"ways": {"both": {2: events((8, 200), (10, 100))}}}),
    ("PolderCast: copies", {"upkeep": {**found().upkeep, "relayed": 1.0}}),
    ("Scribe: over 80 %", {"upkeep": {**found().upkeep, "much": 0.9}}),
    ("the same without what keeps Pastry", {"upkeep": {**found().upkeep, "much, trees": 0.9}}),
    (
        "an adaptive fan-out holds what a fixed one does, with",
        held(Held("haste", 0.001, 0.0011, 1.4, 1.5)),
    ),
    (
        "an adaptive fan-out holds what a fixed one does, with",
        held(Held("haste", 0.001, 0.0009, 1.52, 1.5)),
    ),
    (
        "an adaptive fan-out holds what a fixed one does, where",
        held(Held(GUSTS, 0.005, 0.0051, 1.6, 2.0, 0.006)),
    ),
    ("there it misses", held(Held(GUSTS, 0.001, 0.0009, 1.8, 2.0, 0.0015))),
    ("10,000 peers' 100 cycles", {"node_cycles_per_s": 8_000.0}),
    ("at most 4 GB", {"memory_gb": 4.1}),
    *(
        (f"{what}, who is gone being noticed {pair}", churned(system, **missed))
        for pair, ours, scribe in (
            ("at once", "PolderCast", "Scribe, at once"),
            ("once a minute", "PolderCast, no haste", "Scribe"),
        )
        for what, system, missed in (
            ("miss ratio at most 0.01 but for sharp drops", ours, {"not sharp": 0.011}),
            ("at most 0.04 in sharp drops", ours, {"drops": 0.041}),
            ("Scribe misses 8 times as much or more (thesis: about ten)", scribe, {"mean": 0.007}),
        )
    ),
]


def test_all_that_has_to_hold_may_hold() -> None:
    assert set(verdicts(found()).values()) == {"yes"}


@pytest.mark.parametrize(("what", "instead"), BAD)
def test_every_statement_can_say_no(what: str, instead: dict[str, Any]) -> None:
    said = verdicts(replace(found(), **instead))
    assert [one for one in said if one.startswith(what)] == [one for one in said if said[one] == "no"] != []


def test_no_statement_is_without_a_case_in_which_it_says_no() -> None:
    assert all(any(one.startswith(what) for what, _ in BAD) for one in verdicts(found()))


def test_where_nothing_was_seen_no_statement_says_yes() -> None:
    drops = "at most 0.04 in sharp drops, who is gone being noticed at once"
    assert verdicts(replace(found(), **churned("PolderCast", drops=None)))[drops] == "none seen"
    for unknown in (None, Times(2.5, is_exceeded=True), Times(6.0, is_exceeded=True)):
        slower = replace(found(), slower={"ours": [Times(4.0), unknown]})
        assert verdicts(slower)["without Vicinity 3 to 6 times as many, ours"] == "none seen"
    small = Events(1, *(np.array(one) for one in ((5,), (5,), (8,), (6,), (1,), (1,))))
    ways = replace(found(), ways={"both": {2: small}})
    assert verdicts(ways)["hops grow at most 1.5 times as fast as the logarithm of a topic's peers"] == "none seen"
    beyond = verdicts(replace(found(), targets=found().targets[1:2]))
    about = ("an adaptive", "there it misses")
    assert [held for what, held in beyond.items() if what.startswith(about)] == 3 * ["none seen"]
    nobody = {name: {**one, "mean": 0.0} for name, one in found().churned.items()}
    times = [one for one in verdicts(found()) if one.startswith("Scribe misses")]
    assert [verdicts(replace(found(), churned=nobody))[one] for one in times] == 2 * ["none seen"]
    assert verdicts(replace(found(), **churned("PolderCast", mean=0.0)))[times[0]] == "yes"


def test_what_was_not_done_without_vicinity_took_more_than_the_cycles_it_had() -> None:
    assert times_as_many(120, 24, 150) == Times(5.0)
    assert times_as_many(None, 13, 150) == Times(150 / 13, is_exceeded=True)
    assert times_as_many(120, None, 150) is None
    report = Report("overlay", "small", {})
    summarise(report, replace(found(), slower={"ours": [Times(4.0), times_as_many(None, 13, 150)]}))
    row = next(row for row in report.sections[0].rows if row["statement"].startswith("without Vicinity"))
    assert (row["found"], row["holds"]) == ("4.0, more than 11.5", "no")


def test_of_targets_it_is_told_how_many_are_held_and_by_how_many_copies() -> None:
    report = Report("overlay", "small", {})
    summarise(report, replace(found(), **held(Held("haste", 0.001, 0.0011, 1.2, 1.5))))
    told = [row["found"] for row in report.sections[0].rows if row["statement"].startswith(ADAPTIVE)]
    assert told == ["0.933, 1 of 2 held", "0.9, 2 of 2 held"]


def test_the_summary_leaves_no_crowd_and_no_graph_out() -> None:
    report = Report("overlay", "small", {})
    summarise(report, replace(found(), hits=[1.0, 0.9], **churned("PolderCast", **{"calm": 0.0, "not sharp": 0.9})))
    assert report.summary["miss_ratio_churn"] == 0.9
    assert report.summary["hit_ratio_static"] == 0.9
    assert report.summary["hops_ratio_scribe"] == pytest.approx(420 / 258)


def test_of_topics_those_that_take_at_least_so_many_hops() -> None:
    rows = by_hops_of("Scribe", events((4, 98), (5, 50)))
    assert [(row["hops"], row["topics, share"]) for row in rows] == [(1, 1.0), (2, 0.5)]
