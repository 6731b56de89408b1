import logging
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from tests.route.test_place_map import two_cells
from tests.store.stores import matched
from tidegate.csr import from_rows
from tidegate.errors import ConfigError, StoreError
from tidegate.index.strings import strings
from tidegate.route.plan import Plan
from tidegate.route.word_map import WordMap
from tidegate.store.plans import Plans
from tidegate.store.store import Store
from tidegate.store.upkeep import Policy, Upkeep

EAGER = Policy(retention_hours=0, grace_s=0, tail_rows=0, data_files=1, spent_rows=0)


def two_words() -> WordMap:
    return WordMap(4, strings(["storm", "flood"]), np.array([9, 3]), 10, from_rows([[0, 2], [3]]))


def test_a_store_begins_with_replicate(store: Store) -> None:
    assert store.plans.newest() == Plan.replicate()


def test_the_plan_published_last_is_the_newest_and_the_others_stay(store: Store) -> None:
    assert store.publish(Plan.hash(4)) == Plan("hash", 4, 1)
    assert store.publish(Plan.replicate()) == Plan("replicate", 1, 2)
    again = Store(store.location)
    assert again.plans.newest() == Plan("replicate", 1, 2)
    assert again.plans.at(1) == Plan("hash", 4, 1)


def test_plans_published_at_the_same_time_have_versions_of_their_own(store: Store) -> None:
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda n: Plans(store.beside, store.files).publish(Plan.hash(n)), range(1, 13)))
    assert sorted(plan.version for plan in made) == list(range(1, 13))
    assert all(Plans(store.beside, store.files).at(plan.version) == plan for plan in made)


def test_a_plan_that_is_not_there_is_named(store: Store) -> None:
    with pytest.raises(StoreError, match="no plan of version 5"):
        store.plans.at(5)


def test_a_learned_plan_comes_with_its_words_and_an_unlearned_one_without(store: Store) -> None:
    with pytest.raises(ConfigError, match="plan salb:4 needs a word map: learn one from posts"):
        store.publish(Plan.parse("salb:4"))
    with pytest.raises(ConfigError, match="plan hash:4 has no use for a word map"):
        store.publish(Plan.hash(4), two_words())
    with pytest.raises(ConfigError, match="plan salb:8 with a word map for 4 matchers: the numbers must agree"):
        store.publish(Plan.parse("salb:8"), two_words())
    assert store.plans.newest() == Plan.replicate()


def test_another_process_places_by_the_words_that_were_published(store: Store) -> None:
    store.subscribe("ana", "storm flood", id="both")
    store.subscribe("ana", "storm", id="hot")
    plan = store.publish(Plan.parse("salb:4"), two_words())
    again = Store(store.location)
    assert again.plans.newest() == plan
    assert again.opener.cover(again.version, plan).levels[0].matchers == (0, 2, 3)
    assert matched(again, "storm and flood") == ["both", "hot"]


def test_a_lost_word_map_is_named_and_does_not_stop_upkeep(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    store.subscribe("ana", "storm", id="a")
    store.publish(Plan.parse("salb:4"), two_words())
    store.pin("job", 0)
    store.publish(Plan.replicate())
    store.beside.delete(store.plans.at(1).words)
    with pytest.raises(StoreError, match="the word map of plan salb:4, version 1, is gone: learn it anew"):
        matched(Store(store.location), "storm", plan=store.plans.at(1))
    store.subscribe("ana", "flood", id="a")
    with caplog.at_level(logging.WARNING):
        assert Upkeep(store, EAGER).run_once().folded > 0
    assert "plan 1 is passed over: the word map of plan salb:4" in caplog.text
    assert matched(store, "flood") == ["a"]


def test_the_words_of_a_plan_that_nobody_follows_are_removed(store: Store) -> None:
    store.subscribe("ana", "storm", id="a")
    first, second = (store.publish(Plan.parse("salb:4"), two_words()) for _ in range(2))
    assert len(list(store.beside.names("words"))) == 2
    Upkeep(store, EAGER).run_once()
    assert list(store.beside.names("words")) == [second.words]
    assert first.words != second.words
    assert matched(store, "storm") == ["a"]


def test_a_plan_by_places_needs_a_place_map_and_no_other_has_use_for_one(store: Store) -> None:
    with pytest.raises(ConfigError, match="plan hybrid:4 needs a place map: learn one from posts"):
        store.publish(Plan.parse("hybrid:4"), two_words())
    with pytest.raises(ConfigError, match="plan salb:4 has no use for a place map"):
        store.publish(Plan.parse("salb:4"), two_words(), two_cells())
    with pytest.raises(ConfigError, match="plan grid:4 needs a word map"):
        store.publish(Plan.parse("grid:4"), None, two_cells())
    with pytest.raises(ConfigError, match="plan grid:8 with a word map for 4 matchers"):
        store.publish(Plan.parse("grid:8"), two_words(), two_cells())
    published = store.publish(Plan.parse("grid:4"), two_words(), two_cells())
    assert published.places
    store.files.path(published.places).unlink()
    store.subscribe("ana", "storm in:(0,0,1,1)")
    with pytest.raises(StoreError, match="the place map of plan grid:4, version 1, is gone: learn it anew"):
        store.opener.cover(store.version, published)
