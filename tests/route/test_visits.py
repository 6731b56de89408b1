"""Visits as they travel with posts."""

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from tidegate.csr import from_rows
from tidegate.route.visits import Visits, unpacked

matchers = st.lists(st.sets(st.integers(0, 4095), max_size=4).map(sorted), max_size=8)


@given(rows=matchers, data=st.data())
def test_a_post_carries_its_own_visits_and_none_if_there_is_one_alone(
    rows: list[list[int]], data: st.DataObject
) -> None:
    count = sum(map(len, rows))
    lists = Visits(from_rows(rows), np.ones(count, np.int64), np.ones(count, np.int64)).lists()
    assert lists.to_pylist() == [row if len(row) > 1 else None for row in rows]
    chosen = data.draw(st.lists(st.sampled_from(range(len(rows))), max_size=6)) if rows else []
    travelled = unpacked(lists.take(pa.array(chosen, pa.int64())))
    expected = [rows[i] if len(rows[i]) > 1 else [] for i in chosen]
    assert [travelled.row(i).tolist() for i in range(len(chosen))] == expected
