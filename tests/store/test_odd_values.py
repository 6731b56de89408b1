"""Values that no program should send, and stores that are made anew: nobody else suffers from them."""

import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake.exceptions import CommitFailedError

from tests.store.stores import ids, matched
from tests.text.test_utf8 import texts_of
from tidegate.errors import ConfigError, StoreError
from tidegate.store.importing import import_subscriptions
from tidegate.store.location import Location
from tidegate.store.match_table import MatchTable
from tidegate.store.store import Store


def test_one_callers_bad_value_fails_that_caller_alone(store: Store) -> None:
    wrong: Any = 7

    def subscribe(number: int) -> str | ConfigError:
        try:
            return store.subscribe("ana", "storm", id=wrong if number == 3 else f"s{number}")
        except ConfigError as error:
            return error

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(subscribe, range(8)))
    assert isinstance(answers[3], ConfigError)
    assert ids(store, store.version) == [f"s{number}" for number in range(8) if number != 3]


@pytest.mark.parametrize("column", ["query", "subscriber", "id"])
def test_bytes_that_are_no_utf8_are_refused_by_row(store: Store, column: str) -> None:
    columns = {"id": ["a", "b"], "subscriber": ["ana", "ben"], "query": ["storm", "flood"]}
    rows = pa.table({**columns, column: texts_of([columns[column][0].encode(), b"\xff\xfe"])})
    applied = store.apply(rows)
    assert (applied.accepted, [refusal.row for refusal in applied.refused]) == (1, [1])
    assert f"its {column} is no UTF-8" in str(applied.refused[0].error)
    assert matched(store, "storm") == ["a"]


@pytest.mark.parametrize("column", ["created", "expires"])
@pytest.mark.parametrize(
    ("good", "wrong", "shown"),
    [
        (datetime.min, -1, "0000-12-31 23:59:59.999999Z"),
        (datetime.max, 1, "10000-01-01 00:00:00.000000Z"),
    ],
)
def test_a_time_that_no_calendar_of_python_has_is_refused_by_row(
    store: Store, column: str, good: datetime, wrong: int, shown: str
) -> None:
    last = pa.scalar(good, pa.timestamp("us")).value
    times = pa.array([last, last + wrong, last + wrong]).cast(pa.timestamp("us", "UTC"))
    rows = {"id": ["a", "b", "c"], "subscriber": ["ana"] * 3, "query": ["storm"] * 3, column: times}
    store.subscribe("ana", "storm", id="c")
    applied = store.apply(pa.table({**rows, "operation": ["subscribe", "subscribe", "unsubscribe"]}))
    assert [refusal.row for refusal in applied.refused] == [1]
    assert str(applied.refused[0].error) == f"{column} is {shown}: give a time of the years 1 to 9999, in UTC"
    assert [(store.get(name) or {}).get("id") for name in "abc"] == ["a", None, None]


def test_a_time_that_is_beyond_the_calendar_in_utc_is_refused(store: Store, tmp_path: Path) -> None:
    late = datetime(9999, 12, 31, 23, tzinfo=timezone(-timedelta(hours=5)))
    complaint = "expires is 9999-12-31T23:00:00-05:00: give a time of the years 1 to 9999"
    with pytest.raises(ConfigError, match=complaint):
        store.subscribe("ana", "storm", expires=late)
    (tmp_path / "late.jsonl").write_text(
        json.dumps({"subscriber": "ana", "query": "storm", "expires": late.isoformat()})
    )
    assert import_subscriptions(store, tmp_path / "late.jsonl").refused == 1
    assert complaint in (tmp_path / "late.jsonl.rejects.jsonl").read_text()
    assert ids(store) == []


def test_a_commit_whose_answer_was_lost_counts_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    delta = store.table._delta
    real = delta.create_write_transaction
    lost: list[int] = []

    def answer_lost(*arguments: Any, **options: Any) -> None:
        real(*arguments, **options)
        if not lost:
            lost.append(1)
            raise CommitFailedError("the answer was lost")

    monkeypatch.setattr(delta, "create_write_transaction", answer_lost)
    store.subscribe("ana", "storm", id="a")
    assert store.version == 1
    assert ids(Store(store.location), 1) == ["a"]


def test_a_store_made_anew_in_the_same_place_is_another_store(tmp_path: Path) -> None:
    first = Store.open(tmp_path / "store")
    identity = first.table.identity
    shutil.rmtree(tmp_path / "store")
    assert Store.open(tmp_path / "store").table.identity != identity


@pytest.mark.parametrize("address", ["hdfs:/data", "dbfs:/data"])
def test_an_address_with_one_slash_is_no_folder(address: str) -> None:
    with pytest.raises(StoreError, match=r"write \w+://data"):
        Location.of(address)


def test_a_file_address_is_a_folder(tmp_path: Path) -> None:
    assert Location.of(f"file:{tmp_path}").folder == tmp_path
    assert Location.of(f"file://{tmp_path}").folder == tmp_path


def test_matches_of_other_columns_are_not_hidden_in_a_table(tmp_path: Path) -> None:
    table = MatchTable(Location.of(tmp_path))
    for batch, rows in enumerate(({"id": ["1"]}, {"id": ["2"], "author": ["ana"]})):
        folder = f"run-x/batch-{batch}"
        table.location.write(f"{folder}/part.parquet", _parquet(pa.table(rows)))
        if batch == 0:
            table.commit(folder, "x", batch)
    with pytest.raises(StoreError, match="the matches have the columns id, author, the table id"):
        table.commit(folder, "x", 1)
    table.location.write("run-x/batch-2/_temporary/0/part.parquet", _parquet(pa.table({"id": ["9"]})))
    with pytest.raises(StoreError, match="Spark has left no Parquet file there"):
        table.commit("run-x/batch-2", "x", 2)


def _parquet(rows: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(rows, sink)
    return bytes(sink.getvalue())
