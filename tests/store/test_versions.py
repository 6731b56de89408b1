from datetime import UTC, datetime
from pathlib import Path
from threading import Thread
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from tests.store.stores import ids
from tidegate.errors import ConfigError, QueryError, StoreError
from tidegate.store.schema import FORMAT
from tidegate.store.store import Store


def test_every_change_is_a_version_and_old_versions_stay_as_they_were(store: Store) -> None:
    empty = store.version
    store.subscribe("ana", "storm", id="a")
    one = store.version
    store.subscribe("ben", "flood", id="b")
    two = store.version
    store.unsubscribe("a")
    assert empty < one < two < store.version
    assert [ids(store, version) for version in (empty, one, two, store.version)] == [[], ["a"], ["a", "b"], ["b"]]


def test_a_subscription_keeps_all_that_it_was_given(store: Store) -> None:
    expires = datetime(2200, 5, 4, 3, 2, 1, tzinfo=UTC)
    made = store.subscribe(
        "ana", "storm OR flood", region=(-10, 36, 4, 44), ranking={"k": 5}, tags=["sea", "work"], expires=expires
    )
    found = store.get(made)
    assert found is not None
    assert abs((found.pop("created") - datetime.now(UTC)).total_seconds()) < 60
    assert found == {
        "id": made,
        "subscriber": "ana",
        "query": "storm OR flood",
        "region": "in:(-10,36,4,44)",
        "ranking": '{"k": 5}',
        "tags": ["sea", "work"],
        "expires": expires,
    }


def test_subscribing_again_under_an_id_replaces_the_subscription(store: Store) -> None:
    store.subscribe("ana", "storm", id="a")
    before = store.version
    store.subscribe("ben", "flood", id="a")
    assert ids(store) == ["a"]
    assert [(store.get("a", at) or {})["query"] for at in (before, store.version)] == ["storm", "flood"]


def test_what_is_not_there_is_none_and_removing_it_is_no_error(store: Store) -> None:
    store.subscribe("ana", "storm", id="a")
    store.unsubscribe("a")
    store.unsubscribe("never")
    assert store.get("a") is None
    assert store.get("never") is None


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"subscriber": " ", "query": "storm"}, "subscriber is ' '"),
        ({"subscriber": "ana", "query": ""}, "query is ''"),
        ({"subscriber": "ana", "query": "storm", "id": ""}, "id is empty"),
        ({"subscriber": "ana", "query": "storm", "expires": datetime(2030, 1, 1)}, "2030-01-01T00:00:00.00:00"),
        ({"subscriber": "ana", "query": "storm", "region": (1, 2, 3)}, "west, south, east and north"),
    ],
)
def test_a_subscription_that_lacks_something_is_refused_by_name(
    store: Store, arguments: dict[str, Any], problem: str
) -> None:
    with pytest.raises(ConfigError, match=problem):
        store.subscribe(**arguments)
    assert ids(store) == []


def test_a_query_that_cannot_be_read_is_refused_before_anything_is_written(store: Store) -> None:
    before = store.version
    with pytest.raises(QueryError, match="at character 1"):
        store.subscribe("ana", "(storm")
    assert store.version == before


def test_a_store_reopened_holds_what_was_acknowledged(store: Store) -> None:
    store.subscribe("ana", "storm", id="a")
    assert ids(Store(store.location)) == ["a"]


def test_a_store_that_must_exist_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="there is no subscription table here"):
        Store.open(tmp_path / "nowhere", create=False)
    assert not (tmp_path / "nowhere" / "_delta_log").exists()


def test_a_store_of_a_newer_format_is_left_alone(store: Store) -> None:
    DeltaTable(store.location.url).alter.set_table_properties(
        {"tidegate.format": str(FORMAT + 1)}, raise_if_not_exists=False
    )
    with pytest.raises(StoreError, match=rf"format {FORMAT + 1}, this version of Tidegate reads {FORMAT}: upgrade"):
        Store.open(store.location.url)


def test_a_delta_table_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    write_deltalake(tmp_path, pa.table({"x": [1, 2]}))
    with pytest.raises(StoreError, match="not one of Tidegate's"):
        Store.open(tmp_path)
    assert DeltaTable(tmp_path).version() == 0


def test_an_address_of_an_unknown_kind_is_refused() -> None:
    with pytest.raises(StoreError, match=r"ftp://.*s3://"):
        Store.open("ftp://example.org/subscriptions")


def test_a_version_is_read_as_it_is_while_another_thread_commits(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.subscribe("ana", "storm", id="a")
    version, listed = store.version, DeltaTable.get_add_actions
    writer = Thread(target=lambda: store.subscribe("ben", "flood") and store.version)

    def listed_late(table: DeltaTable, flatten: bool) -> Any:
        if writer.ident is None:
            writer.start()
            writer.join(0.5)  # if it could commit now, the table would move on to that version
        return listed(table, flatten)

    monkeypatch.setattr(DeltaTable, "get_add_actions", listed_late)
    assert ids(store, version) == ["a"]
    writer.join()
    assert len(ids(store)) == 2
