import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from tidegate.csr import from_rows
from tidegate.index.roster import Roster, gathered

IDS = st.lists(st.text(max_size=6), unique=True, max_size=12)


def large(texts: list[str]) -> pa.LargeStringArray:
    return pa.array(texts, pa.large_string())


@given(IDS, st.data())
def test_a_roster_leads_from_queries_to_names_and_back(ids: list[str], data: st.DataObject) -> None:
    query_of = np.array([data.draw(st.integers(0, 4)) for _ in ids], np.int32)
    roster = Roster.of(large(ids), large([f"holder of {text}" for text in ids]), query_of, 5)
    asked = [data.draw(st.lists(st.integers(0, 4), unique=True)) for _ in range(3)]
    queries = from_rows(asked)
    found = roster.subscriptions(queries)
    for row, wanted in enumerate(asked):
        numbers = found.row(row)
        expected = {text for text, query in zip(ids, query_of, strict=True) if query in wanted}
        assert sorted(roster.ids(numbers).to_pylist()) == sorted(expected)
        assert roster.holders(numbers).to_pylist() == [f"holder of {t}" for t in roster.ids(numbers).to_pylist()]
        assert all(roster.query_of(int(number)) in wanted for number in numbers)


@given(IDS, st.lists(st.text(max_size=6), max_size=8))
def test_ids_are_found_by_bisection_and_strangers_are_not(ids: list[str], others: list[str]) -> None:
    roster = Roster.of(large(ids), large([""] * len(ids)), np.zeros(len(ids), np.int32), 1)
    wanted = [*others, *ids]
    for text, number in zip(wanted, roster.numbers(large(wanted)), strict=True):
        assert (number >= 0) == (text in ids)
        if number >= 0:
            assert roster.names[2 * int(number)].as_py() == text


@given(st.lists(st.text(), min_size=1), st.data())
def test_gathering_is_taking(texts: list[str], data: st.DataObject) -> None:
    rows = data.draw(st.lists(st.integers(0, len(texts) - 1)))
    assert gathered(large(texts), np.array(rows, np.int32)).to_pylist() == [texts[row] for row in rows]
