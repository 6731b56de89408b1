"""Two plans side by side: a plan that takes over gradually compiles nothing that is there already."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.store.stores import compiled_ids, matched
from tests.store.test_plans import two_words
from tidegate.csr import from_rows
from tidegate.index.segment import read_segment, write_segment
from tidegate.route.plan import Plan
from tidegate.store.cover import compact
from tidegate.store.level import _opened_words
from tidegate.store.store import Store
from tidegate.store.upkeep import Policy, Upkeep

SALB = Plan.parse("salb:4")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """A store on hash:3, with something compiled for it."""
    made = Store.open(tmp_path / "store")
    for number in range(6):
        made.subscribe("ana", f"storm w{number}", id=f"old{number}")
    made.opener.cover(made.version, made.publish(Plan.hash(3)))
    return made


def test_older_subscriptions_live_on_by_the_plan_before(store: Store) -> None:
    before = store.opener.cover(store.version, store.plans.newest())
    plan = store.publish(SALB, two_words(), gradually=True)
    assert plan.after == 1
    store.subscribe("ana", "storm w1 flood", id="new")
    store.unsubscribe("old2")
    cover = store.opener.cover(store.version, plan)
    assert cover.levels[0] == before.levels[0], "nothing is compiled anew"
    assert [level.plan for level in cover.levels] == [1, 2]
    assert matched(store, "storm w1 flood") == ["new", "old1"]
    assert matched(store, "storm w2") == []
    assert compiled_ids(store, store.version, plan) == ["new", "old0", "old1", "old3", "old4", "old5"]


def test_upkeep_compiles_them_for_the_new_plan(store: Store) -> None:
    plan = store.publish(SALB, two_words(), gradually=True)
    assert store.opener.cover(store.version, plan).levels[0].plan == 1
    assert not store.follows(plan)
    upkeep = Upkeep(store, Policy(grace_s=0))
    assert upkeep.compact_segments() == 6
    # Nobody has to subscribe for that.
    cover = Store(store.location).opener.cover(store.version, plan)
    assert [level.plan for level in cover.levels] == [2]
    assert store.follows(plan)
    assert matched(store, "storm w1") == ["old1"]
    assert upkeep.compact_segments() == 0, "once is enough"
    store.subscribe("ana", "storm w1 flood", id="new")
    assert [level.plan for level in store.opener.cover(store.version, plan).levels] == [2, 2]
    assert matched(store, "storm w1 flood") == ["new", "old1"]


def test_a_newer_main_level_of_the_plan_is_found_behind_covers_of_the_one_before(store: Store) -> None:
    plan = store.publish(SALB, two_words(), gradually=True)
    store.opener.cover(store.version, plan)
    early = store.version
    store.subscribe("ana", "storm w7", id="x")
    store.opener.cover(store.version, plan)
    compact(store.table, store.files, early, plan)
    store.subscribe("ana", "storm w8", id="y")
    assert {level.plan for level in store.opener.cover(store.version, plan).levels} == {2}
    assert matched(store, "storm w8") == ["y"]


def test_plans_may_take_over_from_plans_that_took_over(store: Store) -> None:
    store.publish(SALB, two_words(), gradually=True)
    # No batch has followed that one: the next one takes over from the one before it.
    plan = store.publish(SALB, two_words(), gradually=True)
    assert plan.after == 2
    assert [level.plan for level in store.opener.cover(store.version, plan).levels] == [1]
    assert matched(store, "storm w5") == ["old5"]


@pytest.mark.parametrize("before", ["replicate", "hash:8"])
def test_what_cannot_stand_side_by_side_is_compiled_at_once(store: Store, before: str) -> None:
    store.publish(Plan.parse(before))
    plan = store.publish(SALB, two_words(), gradually=True)
    assert plan.after == 0
    assert [level.plan for level in store.opener.cover(store.version, plan).levels] == [plan.version]


def test_a_damaged_level_of_the_plan_before_is_built_anew_by_that_plan(store: Store) -> None:
    plan = store.publish(SALB, two_words(), gradually=True)
    level = store.opener.cover(store.version, plan).levels[0]
    Upkeep(store, Policy(grace_s=0, retention_hours=0)).vacuum()
    for name in level.names:
        store.files.path(name).write_bytes(b"torn")
    reopened = Store(store.location)
    assert matched(reopened, "storm w3") == ["old3"]
    assert compiled_ids(reopened, reopened.version, plan) == [f"old{number}" for number in range(6)]


def test_upkeep_leaves_what_a_plan_is_about_to_take_over(store: Store) -> None:
    plan = store.publish(SALB, two_words(), gradually=True)
    store.pin("stream", 0)
    Upkeep(store, Policy(grace_s=0, retention_hours=0)).vacuum()
    cover = Store(store.location).opener.cover(store.version, plan)
    assert [level.plan for level in cover.levels] == [1]
    assert matched(store, "storm w3") == ["old3"]


def test_the_maps_of_levels_are_kept_as_long_as_the_levels(store: Store) -> None:
    first = store.publish(SALB, two_words())
    store.opener.cover(store.version, first)
    plan = store.publish(SALB, two_words(), gradually=True)
    level = store.opener.cover(store.version, plan).levels[0]
    assert level.plan == first.version
    Upkeep(store, Policy(grace_s=0, retention_hours=0)).vacuum()
    _opened_words.cache_clear()
    for name in level.names:
        store.files.path(name).write_bytes(b"torn")
    assert matched(Store(store.location), "storm w3") == ["old3"]


def test_a_plan_that_is_published_again_takes_over_from_nobody(store: Store) -> None:
    plan = store.publish(SALB, two_words(), gradually=True)
    assert store.publish(plan, two_words()).after == 0
    again = store.publish(replace(plan, matchers=2), replace(two_words(), matchers=2, owners=from_rows([[0, 1], [1]])))
    assert (again.version, again.after) == (4, 0)
    assert [level.plan for level in store.opener.cover(store.version, again).levels] == [4]


def test_a_router_of_an_older_layout_is_built_anew(store: Store) -> None:
    plan = store.plans.newest()
    level = store.opener.cover(store.version, plan).levels[0]
    path = store.files.path(level.router)
    arrays, numbers = read_segment(path, "router", layout=2)
    kept = {name: array.copy() for name, array in arrays.items() if not name.startswith("spots")}
    write_segment(path, "router", kept, numbers)
    assert matched(Store(store.location), "storm w3") == ["old3"]
