from concurrent.futures import ThreadPoolExecutor

import pytest

from tidegate.errors import StoreError
from tidegate.route.plan import Plan
from tidegate.store.plans import Plans
from tidegate.store.store import Store


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
