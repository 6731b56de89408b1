"""A ranking that cannot be is refused wherever a subscription is made."""

import json
from pathlib import Path

import pytest

from tests.store.stores import changes
from tidegate.errors import ConfigError
from tidegate.store.importing import import_subscriptions
from tidegate.store.store import Store


@pytest.mark.parametrize(
    ("ranking", "complaint"),
    [
        ({"k": 6, "window": 5}, "k is 6 of windows of 5: give 1 to 5"),
        ({"k": 1, "window": 5, "shift": 0}, "shift is 0: give a whole number from 1"),
        ({"score": "fame"}, "fame"),
        ({"by": "time"}, "ranking names 'by': allowed are k, window"),
    ],
)
def test_a_single_call_and_a_file_and_a_batch_refuse_it(
    tmp_path: Path, ranking: dict[str, object], complaint: str
) -> None:
    store = Store.open(tmp_path / "store")
    with pytest.raises(ConfigError, match=complaint):
        store.subscribe("ana", "storm", ranking=ranking)

    line = {"subscriber": "ana", "query": "storm", "ranking": ranking}
    (tmp_path / "one.jsonl").write_text(json.dumps(line) + "\n" + json.dumps({**line, "ranking": {"k": 3}}) + "\n")
    done = import_subscriptions(store, tmp_path / "one.jsonl", rejects=tmp_path / "rejects.jsonl")
    assert (done.accepted, done.refused) == (1, 1)
    assert complaint.split(":", maxsplit=1)[0] in (tmp_path / "rejects.jsonl").read_text()

    rows = changes(("subscribe", "a", "storm"))
    (refusal,) = store.apply(rows.append_column("ranking", [[json.dumps(ranking)]])).refused
    assert complaint.split(":", maxsplit=1)[0] in str(refusal.error)
