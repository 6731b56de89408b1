import os
import time

import pytest

from tests.store.stores import LONG_AGO, changes, ids, python
from tidegate.route.plan import Plan
from tidegate.store.pins import Pin
from tidegate.store.store import Store


def test_the_first_to_ask_for_a_batch_decides_what_it_sees(store: Store) -> None:
    store.subscribe("ana", "storm", id="a")
    first = store.pin("query", 7)
    store.subscribe("ben", "flood", id="b")
    store.publish(Plan.hash(4))
    assert store.pin("query", 7) == first
    assert Store(store.location).pin("query", 7) == first
    assert ids(store, first.store) == ["a"]
    assert store.pin("query", 8) == Pin(store.version, 1)


def test_queries_have_pins_of_their_own(store: Store) -> None:
    first = store.pin("one", 0)
    store.subscribe("ana", "storm", id="a")
    assert store.pin("other", 0) != first


def test_of_processes_that_pin_at_the_same_time_all_are_told_the_same(store: Store) -> None:
    code = """
import sys
from tidegate.store.store import Store
store = Store.open(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
for batch in range(20):
    store.subscribe("ana", "storm")
    print(*store.pin("query", batch))
"""
    processes = [python(code, store.location.url) for _ in range(2)]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    told = [process.communicate("\n", timeout=60)[0] for process in processes]
    assert len(told[0].splitlines()) == 20
    assert told[0] == told[1]


def test_what_has_expired_is_gone_from_the_batch_that_is_pinned_next(store: Store) -> None:
    store.apply(changes(("subscribe", "a", "storm"), expires=LONG_AGO))
    assert ids(store) == ["a"]
    assert ids(store, store.pin("query", 0).store) == []


def test_only_the_newest_pin_of_a_query_is_needed_and_only_if_it_is_recent(store: Store) -> None:
    for batch in (9, 10, 11):
        store.subscribe("ana", "storm")
        store.pin("query", batch)
    old = store.pin("old", 0)
    folder = store.beside.folder
    assert folder is not None
    os.utime(folder / "pins" / "old" / f"{0:012}.json", (1000.0, 1000.0))
    assert store.pins.needed(time.time() - 60) == {store.pins.at("query", 11)}
    assert store.pins.needed(0) == {store.pins.at("query", 11), old}


def test_tidying_keeps_the_newest_pin_of_a_query_and_the_one_before(store: Store) -> None:
    for batch in (8, 9, 10, 11):
        store.pin("query", batch)
    store.pin("other", 3)
    store.pins.tidy(since=0.0)
    assert [batch for batch in range(12) if store.pins.at("query", batch)] == [10, 11]
    assert store.pins.at("other", 3) is not None


def test_the_pins_of_abandoned_streams_and_finished_jobs_go(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.pins.pin("stream", 3, Pin(1, 0))
    store.pins.pin("job-1", 0, Pin(2, 0))
    assert store.pins.needed(0.0) == {Pin(1, 0), Pin(2, 0)}
    tomorrow = time.time() + 100_000
    monkeypatch.setattr("tidegate.store.pins.time.time", lambda: tomorrow)
    assert store.pins.needed(0.0) == {Pin(1, 0)}
    store.pins.tidy(0.0)
    assert store.pins.at("job-1", 0) is None
    assert store.pins.at("stream", 3) == Pin(1, 0)
    store.pins.tidy(tomorrow)
    assert store.pins.at("stream", 3) is None
