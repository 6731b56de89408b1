"""Two plans side by side: a plan that takes over gradually compiles nothing that is there already."""

from pathlib import Path

import pytest

from tests.store.stores import compiled_ids, matched
from tests.store.test_plans import two_words
from tidegate.route.plan import Plan
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
    upkeep = Upkeep(store, Policy(grace_s=0))
    assert upkeep.compact_segments() == 6
    store.subscribe("ana", "storm w1 flood", id="new")
    cover = store.opener.cover(store.version, plan)
    assert [level.plan for level in cover.levels] == [2, 2]
    assert matched(store, "storm w1 flood") == ["new", "old1"]
    assert upkeep.compact_segments() == 0, "once is enough"


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
