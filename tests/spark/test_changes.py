"""Subscriptions that change by a stream: each change once, and the bad ones set aside."""

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from tidegate.errors import ConfigError
from tidegate.rank import score
from tidegate.spark.changes import ChangeBatches, Changed, apply_changes
from tidegate.store.dead_letters import DeadLetters
from tidegate.store.post_columns import note_columns
from tidegate.store.store import Store

SCHEMA = "operation string, id string, subscriber string, query string, region string, tags array<string>"


def change(operation: str | None, id: str | None, query: str | None = None, **more: Any) -> dict[str, Any]:  # noqa: A002
    return {"operation": operation, "id": id, "subscriber": "ana", "query": query, **more}


GOOD = [
    change("subscribe", "a", "storm coast", tags=["x", "y"]),
    change("subscribe", "b", "flood", region="in:(-10,36,4,44)"),
    change("subscribe", "c", "rain"),
    change("change", "a", "storm harbour"),
    change("unsubscribe", "c", subscriber=None),
]
BAD = [
    change("subscribe", "d", "(storm"),
    change("subscribe", "e", "storm", subscriber=""),
    change("forget", "a", "storm"),
    change("subscribe", None, "storm"),
    change(None, "f", "storm"),
    change("subscribe", "g"),
    change("subscribe", "h", "storm", region="in:(200,0)"),
]


def frame(spark: SparkSession, rows: list[dict[str, Any]]) -> DataFrame:
    return spark.createDataFrame(rows, SCHEMA).coalesce(1)


def living(store: Store) -> dict[str, tuple[str, str | None]]:
    return {row["id"]: (row["query"], row["region"]) for row in store.subscriptions().to_pylist()}


def test_changes_are_applied_in_their_order_and_bad_ones_set_aside(spark: SparkSession, tmp_path: Path) -> None:
    store = Store.open(tmp_path / "store")
    told: list[Changed] = []
    ChangeBatches("run", store, told.append)(frame(spark, GOOD + BAD), 0)
    assert living(store) == {"a": ("storm harbour", None), "b": ("flood", "in:(-10,36,4,44)")}
    assert told == [Changed(batch=0, version=1, accepted=3, refused=len(BAD))]
    letters = DeadLetters(store.beside).read()
    reasons = dict(zip(letters.column("id").to_pylist(), letters.column("reason").to_pylist(), strict=True))
    assert "a closing parenthesis is missing" in reasons["d"]
    assert "no subscriber" in reasons["e"]
    assert "operation is 'forget': allowed are subscribe" in reasons["a"]
    assert "no id" in reasons[None]
    assert "operation is ''" in reasons["f"]
    assert reasons.keys() == {"d", "e", "a", None, "f", "g", "h"}
    assert json.loads(letters.column("post")[0].as_py())["query"] == "(storm"


def test_rankings_are_judged_by_what_the_driver_knows(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker has no functions registered, and does not ask what columns posts have."""
    monkeypatch.setattr(score, "_functions", {"fresh": len})
    store = Store.open(tmp_path / "store")
    note_columns(store.beside, "job", ["id", "text"])
    rankings = {"a": "function:fresh", "b": "function:stale", "c": "field:likes", "d": "field:text"}
    rows = [("subscribe", id_, "ana", "storm", json.dumps({"score": by})) for id_, by in rankings.items()]
    names = "operation string, id string, subscriber string, query string, ranking string"
    ChangeBatches("run", store)(spark.createDataFrame(rows, names), 0)
    assert living(store).keys() == {"a", "d"}


def test_a_batch_that_comes_again_changes_nothing(spark: SparkSession, tmp_path: Path) -> None:
    store = Store.open(tmp_path / "store")
    batches = ChangeBatches("run", store)
    batches(frame(spark, GOOD + BAD), 0)
    store.unsubscribe("a")
    version = store.version
    batches(frame(spark, GOOD + BAD), 0)
    assert store.version == version
    assert living(store).keys() == {"b"}
    assert DeadLetters(store.beside).read().num_rows == len(BAD)
    batches(frame(spark, GOOD[:1]), 1)
    assert living(store).keys() == {"a", "b"}


def test_a_stream_of_files_is_applied_and_goes_on_where_it_was(spark: SparkSession, tmp_path: Path) -> None:
    store = Store.open(tmp_path / "store")
    folder = tmp_path / "changes"
    folder.mkdir()
    told: list[Changed] = []

    def apply(name: str, rows: list[dict[str, Any]]) -> None:
        (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
        stream = spark.readStream.schema(SCHEMA).json(str(folder))
        query = apply_changes(stream, store, checkpoint=f"{tmp_path}/checkpoint", trigger_s=0.1, report=told.append)
        try:
            query.processAllAvailable()
        finally:
            query.stop()

    apply("first.json", [*GOOD, BAD[0]])
    apply("second.json", [change("unsubscribe", "b")])
    assert living(store).keys() == {"a"}
    assert [(one.accepted, one.refused) for one in told] == [(3, 1), (1, 0)]


def test_rows_without_an_operation_subscribe(spark: SparkSession, tmp_path: Path) -> None:
    store = Store.open(tmp_path / "store")
    ChangeBatches("run", store)(
        spark.createDataFrame([("a", "ana", "storm")], "id string, subscriber string, query string"), 0
    )
    assert living(store) == {"a": ("storm", None)}


@pytest.mark.parametrize(
    ("schema", "complaint"),
    [
        ("subscriber string, query string", "no column 'id'"),
        ("id string, likes int", "'likes' is none of a change's"),
        ("id string, expires string", "'expires' is of type string: timestamp is needed"),
    ],
)
def test_columns_that_no_change_has_are_refused_before_the_stream_starts(
    spark: SparkSession, tmp_path: Path, schema: str, complaint: str
) -> None:
    (tmp_path / "changes").mkdir()
    changes = spark.readStream.schema(schema).json(f"{tmp_path}/changes")
    with pytest.raises(ConfigError, match=complaint):
        apply_changes(changes, Store.open(tmp_path / "store"), checkpoint=f"{tmp_path}/checkpoint")


def test_changes_with_values_that_python_cannot_hold_are_set_aside(spark: SparkSession, tmp_path: Path) -> None:
    store = Store.open(tmp_path / "store")
    rows = spark.sql("""
        SELECT 'subscribe' AS operation, id, 'ana' AS subscriber, query, timestamp_seconds(expires) AS expires
        FROM VALUES
            ('good', 'storm', 4e9), ('late', 'storm', 4e11), (NULL, 'storm', 4e11),
            ('bytes', CAST(X'73FFFE' AS STRING), 4e9) AS t (id, query, expires)
    """).coalesce(1)
    ChangeBatches("run", store)(rows, 0)
    assert list(living(store)) == ["good"]
    letters = {letter["id"]: letter for letter in DeadLetters(store.beside).read().to_pylist()}
    assert "expires is 14645-" in letters["late"]["reason"]
    assert "14645-" in letters["late"]["post"]
    assert "its query is no UTF-8" in letters["bytes"]["reason"]
    assert set(letters) == {"late", None, "bytes"}
