"""A score by a column that no job's posts have is refused when it is subscribed to."""

import json
from pathlib import Path

import pyarrow as pa
import pytest

from tidegate.errors import ConfigError, StoreError
from tidegate.store.importing import import_subscriptions
from tidegate.store.post_columns import note_columns, noted_columns
from tidegate.store.store import Store

LIKES = {"score": {"recency": 1, "field:likes": 2}}


def test_a_field_is_refused_once_a_job_has_said_what_posts_have(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "store")
    store.subscribe("ana", "storm", ranking=LIKES)  # who knows
    note_columns(store.beside, "one", ["id", "text"])
    with pytest.raises(ConfigError, match="score field 'likes' is unknown: posts have id, text"):
        store.subscribe("ana", "storm", ranking=LIKES)
    rankings = [None, '{"score": "field:likes"}', '{"score": "recency"}']
    changes = {"id": list("abc"), "subscriber": ["ana"] * 3, "query": ["storm"] * 3, "ranking": rankings}
    assert [refusal.subscription for refusal in store.apply(pa.table(changes)).refused] == ["b"]
    (tmp_path / "some.jsonl").write_text("\n".join(json.dumps(row) for row in pa.table(changes).to_pylist()))
    assert import_subscriptions(store, tmp_path / "some.jsonl", rejects=tmp_path / "rejects").refused == 1
    note_columns(store.beside, "two", ["id", "likes"])
    store.subscribe("ana", "storm", ranking=LIKES)
    note_columns(store.beside, "two", ["id"])
    with pytest.raises(ConfigError, match="'likes' is unknown"):
        store.subscribe("ana", "storm", ranking=LIKES)


def test_what_is_damaged_is_named(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "store")
    assert noted_columns(store.beside) is None
    store.beside.write("columns/one.json", b"[")
    with pytest.raises(StoreError, match=r"columns/one.json: the columns of a job's posts are damaged"):
        noted_columns(store.beside)
