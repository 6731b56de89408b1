"""Export: what is written can be imported again and is the same, and a file appears whole or not at all."""

import json
from datetime import UTC
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.strategies import query_texts
from tidegate.errors import QueryError, StoreError
from tidegate.query.parse import parse
from tidegate.store.exporting import export_subscriptions
from tidegate.store.importing import import_subscriptions
from tidegate.store.store import Store
from tidegate.text.analyzer import Analyzer

ANALYZER = Analyzer()


def _is_accepted(text: str) -> bool:
    try:
        parse(text, ANALYZER)
    except QueryError:
        return False
    return True


_RANKINGS = [
    {"k": 3},
    {"k": 2, "window": 20, "shift": 5, "diverse": True},
    {"score": {"recency": 1, 'field:li,k"é': 2}},
]
_INSTANTS = st.datetimes(timezones=st.just(UTC))
_SUBSCRIPTIONS = st.lists(
    st.fixed_dictionaries(
        {
            "id": st.text(min_size=1),
            "subscriber": st.text(min_size=1).filter(str.strip),
            "query": query_texts().filter(_is_accepted),
            "region": st.sampled_from([None, "in:(-10,36,4,44)", "near:(48,2.35,20)"]),
            "ranking": st.none() | st.sampled_from(_RANKINGS).map(json.dumps),
            "tags": st.lists(st.text(max_size=5), max_size=3),
            "created": _INSTANTS,
            "expires": st.none() | _INSTANTS,
        }
    ),
    max_size=6,
    unique_by=lambda row: str(row["id"]),
)


@pytest.mark.parametrize("name", ["x.parquet", "x.csv", "x.jsonl.gz"])
@settings(max_examples=20)
@given(rows=_SUBSCRIPTIONS)
def test_what_is_exported_and_imported_again_is_the_same(
    tmp_path_factory: pytest.TempPathFactory, name: str, rows: list[dict[str, Any]]
) -> None:
    folder = tmp_path_factory.mktemp("again")
    one, other = Store.open(folder / "one"), Store.open(folder / "other")
    schema = one.subscriptions().schema
    refused = one.apply(pa.Table.from_pylist(rows, schema=schema)).refused
    assert not [refusal for refusal in refused if "ranking" in str(refusal.error)]
    assert export_subscriptions(one, folder / name) == len(rows) - len(refused)
    done = import_subscriptions(other, folder / name)
    assert (done.accepted, done.refused) == (len(rows) - len(refused), 0)
    assert other.subscriptions().equals(one.subscriptions())


def test_an_earlier_version_can_be_exported_and_one_to_come_cannot(store: Store, tmp_path: Path) -> None:
    storms = store.subscribe(subscriber="ana", query="storm")
    version = store.version
    store.unsubscribe(storms)
    assert export_subscriptions(store, tmp_path / "now.csv") == 0
    assert export_subscriptions(store, tmp_path / "then.csv", version=version) == 1
    with pytest.raises(StoreError):
        export_subscriptions(store, tmp_path / "never.csv", version=version + 10)


def test_an_export_that_fails_leaves_what_was_there(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.subscribe(subscriber="ana", query="storm")
    target = tmp_path / "out" / "x.jsonl"
    with pytest.raises(StoreError, match="cannot be written"):
        export_subscriptions(store, target)
    target.parent.mkdir()
    target.write_text("precious")

    def fail(*_: object, **__: object) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(json, "dumps", fail)
    with pytest.raises(StoreError, match="cannot be written: No space left on device"):
        export_subscriptions(store, target)
    assert target.read_text() == "precious"
    assert list(target.parent.iterdir()) == [target]
