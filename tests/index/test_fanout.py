"""Fanning out gives every living subscription of every query, settled or recent, exactly once."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tidegate.csr import from_rows
from tidegate.index.fanout import FanOut

steps = st.lists(
    st.one_of(st.lists(st.integers(0, 6), max_size=8), st.integers(0, 100), st.just("settle")), max_size=12
)


@given(steps)
def test_any_history_fans_out_as_a_plain_table(history: list[object]) -> None:
    fanout = FanOut()
    table: dict[int, int] = {}
    for step in history:
        if isinstance(step, list):
            fanout.add(np.array(step, np.int32))
            table.update(enumerate(step, fanout.rows - len(step)))
        elif isinstance(step, int) and table:
            gone = sorted(table)[step % len(table)]
            assert fanout.query_of(gone) == table.pop(gone)
            fanout.remove(gone)
        elif step == "settle":
            fanout.settle()
    asked = [[3, 0], [], [6, 5, 4], [99]]
    found = fanout.subscriptions(from_rows(asked))
    assert [sorted(found.row(i).tolist()) for i in range(found.rows)] == [
        [number for number, query in sorted(table.items()) if query in row] for row in asked
    ]


def test_what_is_removed_is_gone_before_and_after_settling() -> None:
    fanout = FanOut()
    fanout.add(np.array([1, 1, 1], np.int32))
    for gone in (0, 2):
        fanout.settle()
        fanout.remove(gone)
        assert gone not in fanout.subscriptions(from_rows([[1]])).values
    fanout.settle()
    assert fanout.subscriptions(from_rows([[1]])).values.tolist() == [1]


def test_popular_queries_outgrow_the_first_buffer_and_settle_by_themselves() -> None:
    fanout = FanOut()
    fanout.add(np.zeros(70_000, np.int32))
    fanout.add(np.zeros(2_000, np.int32))
    assert fanout.settled_rows == 70_000, "neither never nor at every change"
    found = fanout.subscriptions(from_rows([[0], [0]]))
    assert [len(found.row(0)), len(found.row(1))] == [72_000, 72_000]
    assert np.array_equal(np.unique(found.row(1)), np.arange(72_000))
