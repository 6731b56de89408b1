"""Benchmark `adjust` reports what it promises, and notices what an adjustment loses."""

from pathlib import Path

import numpy as np
import pytest
from rich.progress import Progress

from tidegate.bench.adjust import plot, run
from tidegate.bench.adjust.arrivals import Arrivals
from tidegate.bench.adjust.claims import summarise
from tidegate.bench.adjust.cluster import Cluster, Timed, check_found
from tidegate.bench.adjust.days import Days, reordered
from tidegate.bench.adjust.fitting import Observed, fitted_weights
from tidegate.bench.adjust.replay import Asked, Choice, Migration, Replayed, replayed
from tidegate.bench.adjust.sizes import Sizes
from tidegate.bench.adjust.switching import Interval, Switching, kinds_over_time, planned
from tidegate.bench.adjust.system import System
from tidegate.bench.adjust.tally import Tally
from tidegate.bench.report import Report
from tidegate.csr import Int64
from tidegate.errors import ConfigError, TidegateError
from tidegate.index.placed_brute_force import PlacedBruteForce
from tidegate.route.places.counts import counted
from tidegate.route.places.migration import Cells, greedy
from tidegate.route.places.transition import Relocation
from tidegate.workload.places import searches

TINY = Sizes(
    (1_500,), days=2, step_posts=400, switching=800, intervals=2, one_in=4, checks=2, planned_on=500, matchers=4
)


@pytest.fixture(scope="module")
def days() -> Days:
    return Days.draw(1_500, TINY, seed=3)


def test_every_figure_is_reported_and_drawn(tmp_path: Path) -> None:
    report = run("small", seed=3, progress=Progress(disable=True), sizes=TINY)
    titles = [section.title.split(":")[0] for section in report.sections]
    assert titles == [
        "Figures 12a and 13",
        "Figures 12b and 14",
        "Figures 12c and 15",
        "Figure 16",
        "The paper's statements",
    ]
    for section in report.sections[:3]:
        assert [row["way"] for row in section.rows] == ["DP", "GR", "SI", "RA"]
    for row in report.sections[2].rows:
        assert row["< 100 ms, %"] + row["100 ms to 1 s, %"] + row["> 1 s, %"] == pytest.approx(100)
    assert [row["interval"] for row in report.sections[3].rows] == [1, 2]
    assert set(report.summary) == {"gr_cost_over_dp", "gr_below_si", "gr_below_ra", "adjust_gain"}
    assert report.summary["gr_cost_over_dp"] >= 1.0
    plot(report, tmp_path / "adjust.png")
    assert (tmp_path / "adjust.png").stat().st_size > 20_000


def test_a_file_of_posts_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"takes no posts, and some\.parquet was given"):
        run("small", posts=tmp_path / "some.parquet")


def test_an_entry_that_gets_lost_while_regions_switch_ends_the_run() -> None:
    switching = Switching.draw(TINY, seed=3)
    lost = np.flatnonzero(switching.on.standing)
    for matcher in range(TINY.matchers):
        here = lost[switching.on.cluster._number_of[matcher, lost] >= 0]
        switching.on.cluster.indexes[matcher].remove(switching.on.cluster._number_of[matcher, here][:50])
        # Such that nobody removes them once more, which would be noticed as well.
        switching.arrivals.gone[here[:50]] = 10**9
    with pytest.raises(TidegateError, match=r"with it, the cluster lost [\d,]+ of [\d,]+ matches and found 0"):
        list(switching.intervals())


def test_an_entry_that_gets_lost_on_the_way_ends_the_replay(days: Days, monkeypatch: pytest.MonkeyPatch) -> None:
    start = planned(days.pool, days.arrivals.placed.only(days.standing), TINY)
    assert replayed(Asked("GR"), days, TINY, start).migrations

    def departed(cluster: Cluster, entries: Int64, relocation: Relocation) -> Timed:
        """Relocate without arriving."""
        cluster.remove(entries, relocation.departures)
        return Timed(0.0, 0)

    monkeypatch.setattr(Cluster, "relocate", departed)
    # Whichever comes first: a match that is missing, or an entry to remove that is not there.
    with pytest.raises(TidegateError, match=r"the replay by SI lost [\d,]+ of|is not in the index"):
        replayed(Asked("SI"), days, TINY, start)


def test_what_is_lost_and_what_is_invented_are_told() -> None:
    found = np.array([(1 << 32) + 7, (2 << 32) + 5])
    check_found("it", found, found)
    with pytest.raises(TidegateError, match="it lost 1 of 2 matches and found 0 that are none: post 1 and entry 7"):
        check_found("it", found[1:], found)
    with pytest.raises(TidegateError, match="it lost 0 of 1 matches and found 1 that are none: post 2 and entry 5"):
        check_found("it", found, found[:1])


def test_a_tally_has_what_counting_all_that_stands_has(days: Days) -> None:
    plan = planned(days.pool, days.arrivals.placed.only(days.standing), TINY)
    tally = Tally(plan.lattice, days.pool, days.arrivals.placed)
    tally.insert(days.standing)
    standing = np.zeros(days.arrivals.placed.rows, np.bool_)
    standing[days.standing] = True
    for step in days.steps:
        tally.insert(step.born)
        tally.delete(step.died)
        standing[step.born], standing[step.died] = True, False
    expected = counted(plan, days.posts(step), days.arrivals.placed.only(np.flatnonzero(standing)))
    for ours, theirs in zip(tally.counts(step.posts), expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_days_bring_and_take_each_entry_once_and_interest_wanders(days: Days) -> None:
    born = np.concatenate([step.born for step in days.steps])
    died = np.concatenate([step.died for step in days.steps])
    assert len(np.unique(born)) == len(born)
    assert len(np.unique(died)) == len(died)
    assert set(died) <= set(born) | set(days.standing)
    assert len(days.steps) == 12
    assert all(len(step.posts) == 400 for step in days.steps)
    assert Days.draw(1_500, TINY, seed=3).steps[-1].posts.tolist() == days.steps[-1].posts.tolist()


def test_queries_keep_their_conjunctions_in_another_order() -> None:
    queries = searches(50, "q1", seed=1)
    order = np.array([7, 3, 49])
    some = reordered(queries, order)
    for number, query in enumerate(order):
        theirs = np.flatnonzero(queries.query_of == query).tolist()
        ours = np.flatnonzero(some.query_of == number).tolist()
        assert [queries.placed.sets.row(i).tolist() for i in theirs] == [some.placed.sets.row(i).tolist() for i in ours]
        np.testing.assert_array_equal(queries.placed.boxes[theirs], some.placed.boxes[ours])


def test_as_many_queries_stand_as_the_lifetime_says() -> None:
    arrivals = Arrivals.of([searches(2_000, "q1", seed=seed) for seed in (1, 2)], 1_000, seed=1)
    born, died = arrivals.born(0, 3_000), arrivals.died(0, 3_000)
    assert set(died) <= set(born)
    standing = np.setdiff1d(born, died)
    assert len(standing) == pytest.approx(len(arrivals.born(0, 1_000)), rel=0.1)


def test_a_tenth_of_the_regions_switches_each_time() -> None:
    before, *later = kinds_over_time(4, seed=1)
    for kinds in later:
        assert np.sum(kinds != before) == 10
        before = kinds


def test_who_comes_while_entries_move_waits() -> None:
    # Two seconds: one to choose, half to move, and half to travel.
    migration = Migration(0, 1, 62_500_000, 1, choosing=1.0, moving=0.5, affected=0.5)
    assert migration.seconds == 2.0
    # Half busy, the queue is gone after four seconds of ten; for the first two, the wait is a second or more.
    assert migration.delayed(0.0) == pytest.approx(0.5 * 0.4)
    assert migration.delayed(1.0) == pytest.approx(0.5 * 0.2)
    assert migration.delayed(2.0) == 0.0
    assert migration._replace(choosing=100.0).delayed(1.0) == 0.5


def test_where_the_exact_choice_is_beyond_its_table_greedy_chooses() -> None:
    cells = Cells(np.full(5, 10.0), np.array([10**9 + 7, 10**9 + 9, 10**9 + 21, 10**9 + 33, 10**9 + 87]))
    asked = Asked("DP", ("GR", "RA"))
    chosen_cells, expected = asked.select(cells, 25.0), greedy(cells, 25.0)
    assert chosen_cells is not None
    assert expected is not None
    assert chosen_cells.tolist() == expected.tolist()
    assert set(asked.choices[0]) == {"GR", "RA"}
    assert asked.seconds == 0.0


def test_costs_are_told_apart_from_each_other_and_from_what_a_call_takes() -> None:
    visits, checks, copies = np.array([[100.0, 50.0, 80.0, 0.0], [5e3, 9e3, 1e3, 0.0], [10.0, 30.0, 20.0, 5.0]])
    ran = np.array([1.0, 1.0, 1.0, 0.0])  # the last matcher was not asked anything
    matching = (1e-4 + 4e-7 * visits + 8e-9 * checks) * ran
    weights = fitted_weights([Observed(visits, checks, copies, matching, 3e-6 * copies)])
    assert weights == pytest.approx((0.0, 8e-9, 4e-7, 3e-6))
    # Fewer checks took longer: that is no reason to think that they cost less than nothing.
    odd = fitted_weights([Observed(visits, checks, copies, (1e-4 + 2e-5 / np.maximum(checks, 1.0)) * ran, copies)])
    assert min(odd) >= 0.0


def replay_of(cost: int, *choices: dict[str, Choice]) -> Replayed:
    return Replayed([Migration(0, cost, cost, 1, 0.0, 0.0, 0.5)], list(choices), 1)


def test_claims_are_held_or_not() -> None:
    report = Report("adjust", "small", {})
    solved = {"GR": Choice(0.0, 21, 1), "DP": Choice(0.0, 20, 1)}
    unsolved = {"GR": Choice(0.0, 9, 1)}
    replays = {"GR": replay_of(60, solved, unsolved), "SI": replay_of(80), "RA": replay_of(100)}
    intervals = [Interval(1, 10, np.array([2.0, 3.0]), np.array([2.0, 1.0]), 0, False)]
    summarise(report, replays, intervals)
    assert report.summary == pytest.approx(
        {"gr_cost_over_dp": 1.05, "gr_below_si": 0.25, "gr_below_ra": 0.4, "adjust_gain": 0.5}
    )
    assert [row["holds"] for row in report.sections[0].rows] == ["yes", "no", "yes", "yes"]


def test_nothing_is_lost_while_two_grids_serve_nor_after(days: Days) -> None:
    placed = days.arrivals.placed
    plan = planned(days.pool, placed.only(days.standing), TINY)
    other = planned(days.pool, placed.only(days.standing), Sizes((1,), 1, 1, 1, 1, 1, planned_on=200, matchers=4))
    posts = days.posts(days.steps[0])
    system = System(Cluster(PlacedBruteForce, 4, placed), plan)
    system.insert(days.standing)
    before = system.match(posts)
    assert len(before) > 0
    system.repartition(other)
    check_found("two grids", system.match(posts), before)
    system.finish()
    check_found("the new grid", system.match(posts), before)
    system.delete(days.standing)
    assert len(system.match(posts)) == 0
