from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest

from tests.store.stores import changes, ids
from tidegate.store.expiry import Expiry
from tidegate.store.store import Store

NOON = datetime(2100, 1, 1, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)


def test_a_subscription_is_removed_when_its_time_has_come_and_not_before(store: Store) -> None:
    store.subscribe("ana", "storm", id="a", expires=NOON)
    store.subscribe("ana", "storm", id="stays")
    assert store.expire(NOON - SECOND / 1000) == 0
    assert ids(store) == ["a", "stays"]
    assert store.expire(NOON) == 1
    assert ids(store) == ["stays"]


def test_nothing_is_committed_when_nothing_is_due(store: Store) -> None:
    store.subscribe("ana", "storm", id="a", expires=NOON)
    before = store.version
    assert store.expire(NOON - SECOND) == 0
    assert store.version == before


def test_a_replaced_subscription_does_not_expire_by_its_old_date(store: Store) -> None:
    store.subscribe("ana", "storm", id="later", expires=NOON)
    store.subscribe("ana", "storm", id="never", expires=NOON)
    store.subscribe("ana", "storm", id="later", expires=NOON + 5 * SECOND)
    store.subscribe("ana", "storm", id="never")
    assert store.expire(NOON) == 0
    assert store.expire(NOON + 5 * SECOND) == 1
    assert ids(store) == ["never"]


def test_what_comes_while_others_expire_expires_in_its_turn(store: Store) -> None:
    for number in range(3):
        store.subscribe("ana", "storm", id=f"s{number}", expires=NOON + number * SECOND)
        assert store.expire(NOON + (number - 1) * SECOND) == min(number, 1)
    store.apply(changes(("subscribe", "late", "storm"), expires=NOON))
    assert store.expire(NOON + SECOND) == 1
    assert ids(store) == ["s2"]


def test_a_removed_subscription_does_not_expire_again(store: Store) -> None:
    store.subscribe("ana", "storm", id="a", expires=NOON)
    store.unsubscribe("a")
    before = store.version
    assert store.expire(NOON) == 0
    assert Store(store.location).expire(NOON) == 0
    assert store.version == before


def test_one_renewed_while_the_others_are_looked_up_is_not_removed(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.apply(changes(("subscribe", "a", "storm"), ("subscribe", "b", "flood"), expires=NOON))
    other, due = Store(store.location), Expiry.due

    def renewed_meanwhile(self: Expiry, version: int, now: datetime) -> pa.Table:
        found = due(self, version, now)
        other.subscribe("ana", "storm", id="a")
        return found

    monkeypatch.setattr(Expiry, "due", renewed_meanwhile)
    assert store.expire(NOON) == 1
    assert ids(store) == ["a"]


def test_merging_files_keeps_the_dates_of_their_subscriptions(store: Store) -> None:
    store.subscribe("ana", "storm", id="a", expires=NOON)
    store.subscribe("ana", "storm", id="b", expires=NOON + SECOND)
    assert store.expire(NOON - SECOND) == 0
    files = store.table.files(store.version)
    assert store.table.replace(files, store.table.last_rows(files)) is not None
    assert store.expire(NOON) == 1
    assert ids(store) == ["b"]
    assert store.expire(NOON + SECOND) == 1
