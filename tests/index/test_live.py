"""A live index answers as one built from scratch, whatever was added, removed and merged before."""

import threading
import time
from typing import Self

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidegate.csr import Csr, from_rows
from tidegate.errors import ConfigError
from tidegate.index.flat import Flat
from tidegate.index.live import Live
from tidegate.index.sets import TermSets

term_sets = st.lists(st.lists(st.integers(0, 12), min_size=1, max_size=4), max_size=8)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("add"), term_sets), st.tuples(st.just("remove"), st.integers(0)), st.just(("merge", None))
    ),
    max_size=12,
)
ITEMS = [[0, 1, 2, 3, 3], list(range(13)), [], [5, 99, -1], [12, 7, 0]]


def answer(live: Live) -> list[list[int]]:
    matches = live.match(from_rows(ITEMS))
    return [sorted(matches.sets.row(i).tolist()) for i in range(len(ITEMS))]


@given(steps)
@settings(max_examples=150, deadline=None)
def test_any_history_equals_brute_force(history: list[tuple[str, object]]) -> None:
    live = Live(merges_itself=False)
    wanted: dict[int, set[int]] = {}
    for step, argument in history:
        if step == "add":
            assert isinstance(argument, list)
            wanted.update(zip(live.add(from_rows(argument)).tolist(), map(set, argument), strict=True))
        elif step == "remove" and wanted:
            assert isinstance(argument, int)
            gone = sorted(wanted)[argument % len(wanted)]
            live.remove([gone])
            del wanted[gone]
        elif step == "merge":
            live.merge()
            assert live.tail_rows == 0
        assert answer(live) == [[e for e, terms in wanted.items() if terms <= set(item)] for item in ITEMS]
        assert len(live) == len(wanted)
    live.close()


@pytest.mark.parametrize("merged_between", [False, True])
def test_add_then_remove_equals_never_added(merged_between: bool) -> None:
    live, untouched = Live(merges_itself=False), Live(merges_itself=False)
    for index in (live, untouched):
        index.add(from_rows([[0, 1], [2], [12, 7]]))
    added = live.add(from_rows([[0], [0, 1], [3]]))
    if merged_between:
        live.merge()
    live.remove(added)
    assert answer(live) == answer(untouched)
    live.merge()
    untouched.merge()
    assert answer(live) == answer(untouched)
    assert live.nbytes == untouched.nbytes, "nothing of the removed sets is left after a merge"


def test_removing_an_entry_twice_is_refused_and_changes_nothing() -> None:
    live = Live()
    first, second = live.add(from_rows([[1], [2]])).tolist()
    live.remove([first])
    with pytest.raises(ConfigError, match=f"entry {first} is not in the index"):
        live.remove([second, first])
    with pytest.raises(ConfigError, match="entry 77 is not in the index"):
        live.remove([second, 77])
    assert len(live) == 1
    assert live.match(from_rows([[2]])).sets.values.tolist() == [second]


def test_empty_sets_and_negative_terms_are_refused() -> None:
    with pytest.raises(ConfigError, match="a term set is empty"):
        Live().add(from_rows([[1], []]))
    with pytest.raises(ConfigError, match="term ids run from -3"):
        Live().add(from_rows([[-3]]))


def test_matching_goes_on_exactly_while_a_merge_is_under_way() -> None:
    rng = np.random.default_rng(5)
    n = 200_000
    live = Live(merges_itself=False)
    live.add(Csr(np.arange(0, 2 * n + 1, 2), rng.integers(0, 5_000, 2 * n).astype(np.int32)))
    items = from_rows([rng.integers(0, 5_000, 200).tolist() for _ in range(5)])
    expected = [sorted(live.match(items).sets.row(i).tolist()) for i in range(items.rows)]
    late = live.add(from_rows([[int(items.values[0])]])).tolist()
    expected[0] = sorted(expected[0] + late)
    merging = live.start_merge()
    rounds = 0
    while not merging.done() or rounds == 0:
        found = live.match(items).sets
        assert [sorted(found.row(i).tolist()) for i in range(items.rows)] == expected
        rounds += 1
    live.close()
    assert live.tail_rows == 0


def test_a_tail_that_has_grown_large_is_merged_in_the_background() -> None:
    live = Live()
    live.add(Csr(np.arange(100_001), np.arange(100_000, dtype=np.int32)))
    live.close()
    assert live.tail_rows == 0
    assert len(live) == 100_000


def test_merge_folds_in_what_came_while_an_earlier_one_was_under_way() -> None:
    live = Live(merges_itself=False)
    live.add(Csr(np.arange(300_001), np.arange(300_000, dtype=np.int32)))
    live.start_merge()
    live.add(from_rows([[1], [2], [3]]))
    live.merge()
    assert live.tail_rows == 0
    live.close()


def test_what_is_removed_while_a_merge_is_under_way_is_gone_and_nothing_else() -> None:
    n = 200_000
    for attempt in range(5):
        live = Live(merges_itself=False)
        entries = live.add(Csr(np.arange(n + 1), np.arange(n, dtype=np.int32)))
        merging = live.start_merge()
        gone = 0
        while gone < 2_000 and not (gone and merging.done()):
            live.remove(entries[gone : gone + 100] if attempt % 2 else entries[n - gone - 100 : n - gone])
            gone += 100
        merging.result()
        for _ in range(2):
            assert len(live.match(from_rows([range(n)])).sets.values) == n - gone == len(live)
            live.merge()
        live.close()


def test_a_merge_is_not_started_again_by_the_next_change() -> None:
    live = Live()
    live.add(Csr(np.arange(70_001), np.arange(70_000, dtype=np.int32)))
    live.merge()
    live.add(from_rows([[1], [2]]))
    live.close()
    assert live.tail_rows == 2


def test_many_removals_start_a_merge_too() -> None:
    live = Live()
    entries = live.add(Csr(np.arange(60_001), np.arange(60_000, dtype=np.int32)))
    live.merge()
    before = live.nbytes
    live.remove(entries[100:])
    live.add(Csr(np.arange(9_001), np.zeros(9_000, np.int32)))
    live.close()
    assert live.nbytes < before


class FailsOnce(Flat):
    """An index whose building fails as long as `fails` is set."""

    fails = False

    @classmethod
    def build(cls, sets: TermSets) -> Self:
        if cls.fails:
            raise MemoryError("no room for an index")
        return super().build(sets)


def test_a_failed_merge_is_told_loses_nothing_and_is_tried_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    live = Live(FailsOnce, merges_itself=False)
    first = live.add(from_rows([[1]])).tolist()
    monkeypatch.setattr(FailsOnce, "fails", True)
    with pytest.raises(MemoryError, match="no room for an index"):
        live.merge()
    assert "a merge of the live index failed, and nothing is lost: no room" in caplog.text
    second = live.add(from_rows([[1]])).tolist()
    assert live.match(from_rows([[1]])).sets.values.tolist() == [*second, *first]
    monkeypatch.setattr(FailsOnce, "fails", False)
    live.merge()
    assert live.tail_rows == 0
    assert sorted(live.match(from_rows([[1]])).sets.values.tolist()) == [*first, *second]
    live.close()


def test_threads_that_add_and_match_at_once_lose_nothing() -> None:
    live = Live()
    errors: list[Exception] = []

    def add_many(first_term: int) -> None:
        try:
            for term in range(first_term, first_term + 300):
                entry = live.add(from_rows([[term]]))[0]
                assert entry in live.match(from_rows([[term]])).sets.values
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=add_many, args=(start,)) for start in (0, 1000, 2000)]
    for thread in threads:
        thread.start()
    for _ in range(10):
        live.merge()
        time.sleep(0.005)
    for thread in threads:
        thread.join(60)
    live.close()
    assert not errors
    assert len(live) == 900
