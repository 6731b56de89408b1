"""The last row of each id, compared with plain Python; and tables larger than an array of strings may be."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.store import rows as rows_module
from tidegate.store.rows import last_of_each, reordered
from tidegate.store.schema import CHANGE


def changes(pairs: list[tuple[str, int]]) -> pa.Table:
    """Rows of the table: an id and a version each."""
    return pa.Table.from_pylist(
        [
            {"id": name, "version": version, "query": f"storm {i}", "tags": [f"t{i}", "é"], "removed": i % 3 == 0}
            for i, (name, version) in enumerate(pairs)
        ],
        schema=CHANGE,
    )


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(1, 9)), unique=True))
def test_of_each_id_the_last_version_is_kept_by_rising_version(pairs: list[tuple[str, int]]) -> None:
    last = {name: max(version for other, version in pairs if other == name) for name, _ in pairs}
    kept = [row for row in changes(pairs).to_pylist() if row["version"] == last[row["id"]]]
    found = last_of_each(pa.concat_tables([changes(pairs)]))
    assert found.to_pylist() == sorted(kept, key=lambda row: int(row["version"]))
    assert found.schema == CHANGE


def test_more_than_an_array_of_strings_holds_is_no_obstacle_to_finding_the_last() -> None:
    # The same bytes again and again, which are counted as often as they are named, but lie in memory once.
    piece = changes([("a", 1)] * 64).set_column(2, CHANGE.field("query"), pa.array(["x" * 2**20] * 64))
    large = pa.concat_tables([piece] * 33 + [changes([("b", 2), ("a", 3)])])
    assert large.nbytes > 2**31
    with pytest.raises(pa.ArrowInvalid, match="offset overflow"):
        large.take(pa.array([0, 1]))
    assert last_of_each(large).column("id").to_pylist() == ["b", "a"]


def test_a_table_that_fits_no_array_is_reordered_piece_by_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(7)
    table = pa.concat_tables([changes([(str(n), n) for n in range(50)]), changes([("é", 99)] * 10)])
    order = generator.permutation(len(table))
    monkeypatch.setattr(rows_module, "_ARRAY_BYTES", 0)
    monkeypatch.setattr(rows_module, "_PIECE", 7)
    found = reordered(table, order)
    assert found.equals(table.take(pa.array(order)))
    assert found.column("query").num_chunks == 9
