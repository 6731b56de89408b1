from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event
from typing import Any

import pytest

from tests.store.stores import ids
from tidegate.errors import StoreError
from tidegate.store import group_commit
from tidegate.store.group_commit import GroupCommit
from tidegate.store.store import Store


def test_calls_of_many_threads_are_all_durable_and_share_commits(store: Store) -> None:
    together = Barrier(16)

    def subscribe(number: int) -> str:
        if number < 16:
            together.wait()
        return store.subscribe("ana", f"storm {number}", id=f"s{number:03}")

    with ThreadPoolExecutor(16) as pool:
        made = list(pool.map(subscribe, range(160)))
    assert ids(Store(store.location)) == sorted(made)
    assert store.version <= 80


def test_of_calls_in_one_group_the_last_for_an_id_counts(store: Store) -> None:
    store.subscribe("ana", "storm", id="a")
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: store.subscribe("ana", f"storm {n}", id="a"), range(24)))
    assert ids(store) == ["a"]
    assert (store.get("a") or {})["query"].startswith("storm ")


def test_calls_that_come_during_a_commit_wait_for_the_next_and_share_it() -> None:
    groups: list[list[Any]] = []
    begun, go_on = Event(), Event()

    def commit(changes: list[Any]) -> int:
        begun.set()
        assert go_on.wait(10)
        groups.append(changes)
        return len(groups)

    group = GroupCommit(commit)
    with ThreadPoolExecutor(4) as pool:
        first = pool.submit(group.submit, "first")
        assert begun.wait(10)
        others = [pool.submit(group.submit, name) for name in "abc"]
        while group._waiting.qsize() < 3:
            pass
        go_on.set()
        assert first.result() == 1
        assert [other.result() for other in others] == [2, 2, 2]
    assert groups[0] == ["first"]
    assert sorted(groups[1]) == ["a", "b", "c"]


def test_an_error_reaches_every_caller_of_the_group_and_no_later_one() -> None:
    fail = Event()
    fail.set()

    def commit(changes: list[Any]) -> int:
        if fail.is_set():
            raise StoreError("the disk is full")
        return 5

    group = GroupCommit(commit)
    with ThreadPoolExecutor(4) as pool:
        for call in [pool.submit(group.submit, n) for n in range(4)]:
            with pytest.raises(StoreError, match="the disk is full"):
                call.result()
    fail.clear()
    assert group.submit("again") == 5


def test_a_group_commit_that_was_idle_wakes_up_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_commit, "_IDLE_S", 0.01)
    group = GroupCommit(len)
    assert group.submit("one") == 1
    while group._running:
        pass
    assert group.submit("two") == 1
