import pyarrow as pa
import pytest

from tests.store.stores import changes, ids
from tidegate.errors import ConfigError, QueryError, StoreError
from tidegate.store.store import Store


def test_a_batch_of_changes_is_one_version(store: Store) -> None:
    store.apply(changes(("subscribe", "a", "storm"), ("subscribe", "b", "flood")))
    before = store.version
    applied = store.apply(
        changes(
            ("unsubscribe", "a", None), ("change", "b", "rain"), ("subscribe", "c", "storm"), ("change", "d", "sun")
        )
    )
    assert applied == (before + 1, 4, [])
    assert ids(store) == ["b", "c", "d"]
    assert (store.get("b") or {})["query"] == "rain"


def test_what_cannot_be_accepted_is_refused_with_its_row_and_the_rest_is_applied(store: Store) -> None:
    applied = store.apply(
        changes(
            ("subscribe", "a", "(storm"),
            ("subscribe", "b", "storm"),
            ("delete", "c", "storm"),
            ("subscribe", "", "storm"),
            ("subscribe", "d", None),
            ("unsubscribe", "e", "(not looked at"),
        )
    )
    assert [(refusal.row, refusal.subscription) for refusal in applied.refused] == [
        (0, "a"),
        (2, "c"),
        (3, ""),
        (4, "d"),
    ]
    missing, unknown, nameless, empty = (refusal.error for refusal in applied.refused)
    assert isinstance(missing, QueryError)
    assert "'delete': allowed are subscribe, change, unsubscribe" in str(unknown)
    assert "id" in str(nameless)
    assert isinstance(empty, QueryError)
    assert applied.accepted == 2
    assert ids(store) == ["b"]


def test_a_subscription_of_nobody_is_refused(store: Store) -> None:
    applied = store.apply(pa.table({"id": ["a", "b"], "query": ["storm", "storm"], "subscriber": ["", None]}))
    assert [str(refusal.error) for refusal in applied.refused] == [
        "a subscription has no subscriber: name whose it is"
    ] * 2


def test_of_several_rows_with_one_id_the_last_counts(store: Store) -> None:
    store.apply(
        changes(
            ("subscribe", "a", "storm"),
            ("subscribe", "b", "storm"),
            ("unsubscribe", "a", None),
            ("change", "b", "flood"),
            ("unsubscribe", "c", None),
            ("subscribe", "c", "rain"),
            ("subscribe", "c", "(refused, so the one before counts"),
        )
    )
    assert {row["id"]: row["query"] for row in store.subscriptions().to_pylist()} == {"b": "flood", "c": "rain"}


@pytest.mark.parametrize("rows", [[], [("unsubscribe", "a", None)], [("subscribe", "", "storm")]])
def test_batches_that_subscribe_to_nothing_are_fine(store: Store, rows: list[tuple[str, str, str | None]]) -> None:
    table = changes(("subscribe", "x", "storm"), *rows).slice(1)
    store.apply(table)
    assert ids(store) == []


def test_without_operations_all_rows_subscribe_and_the_time_is_now_unless_given(store: Store) -> None:
    created = pa.array([None, 0], pa.timestamp("us", tz="UTC"))
    store.apply(pa.table({"id": ["a", "b"], "subscriber": ["ana"] * 2, "query": ["storm"] * 2, "created": created}))
    years = [row["created"].year for row in store.subscriptions().to_pylist()]
    assert years[0] >= 2024
    assert years[1] == 1970


def test_a_batch_that_comes_again_changes_nothing(store: Store) -> None:
    first = store.apply(changes(("subscribe", "a", "storm")), batch=("changes", 3))
    store.unsubscribe("a")
    store.apply(changes(("subscribe", "a", "storm")), batch=("changes", 3))
    store.apply(changes(("subscribe", "a", "storm")), batch=("changes", 2))
    assert ids(Store(store.location)) == []
    assert store.table.done("changes") == 3
    store.apply(changes(("subscribe", "a", "flood")), batch=("changes", 4))
    store.apply(changes(("subscribe", "b", "flood")), batch=("others", 0))
    assert ids(store) == ["a", "b"]
    assert first.version < store.version


def test_a_batch_is_known_after_checkpoints_and_upkeep_too(store: Store) -> None:
    store.apply(changes(("subscribe", "a", "storm")), batch=("changes", 0))
    for _ in range(45):
        store.unsubscribe("a")
    files = store.table.files(store.version)
    store.table.replace(files, store.table.last_rows(files))
    store.table.vacuum(0, [])
    again = Store(store.location)
    again.apply(changes(("subscribe", "a", "storm")), batch=("changes", 0))
    assert ids(again) == []


def test_columns_that_a_subscription_does_not_have_are_named(store: Store) -> None:
    with pytest.raises(ConfigError, match="column 'mood' is none"):
        store.apply(changes(("subscribe", "a", "storm")).append_column("mood", pa.array(["good"])))
    with pytest.raises(StoreError, match="column 'tags' is of type string"):
        store.apply(changes(("subscribe", "a", "storm")).append_column("tags", pa.array(["good"])))
