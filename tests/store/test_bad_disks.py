"""A store on a disk that is full or cannot be written: a clear error, and no damage."""

import os
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from tests.machine import Mount, small_disk
from tests.store.stores import changes, ids, matched
from tests.store.writers import started, subscribe_in_small_files, told
from tidegate.errors import StoreError
from tidegate.route.plan import Plan
from tidegate.store.store import Store
from tidegate.store.upkeep import Policy, Upkeep


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Mount]:
    with small_disk(tmp_path / "disk") as mount:
        yield mount


def test_a_store_that_cannot_be_written_says_so_and_can_be_read(disk: Mount) -> None:
    folder = disk("size=8m")
    store = Store.open(folder)
    store.subscribe("ana", "storm", id="a")
    assert matched(store, "storm") == ["a"]
    disk("remount,ro")
    for change in (
        lambda: store.subscribe("ben", "flood", id="b"),
        lambda: store.unsubscribe("a"),
        lambda: store.apply(changes(("subscribe", "b", "flood"))),
        lambda: store.publish(Plan.hash(2)),
        lambda: store.pin("query", 0),
        lambda: Upkeep(store).run_once(),
        lambda: Store.open(folder / "another"),
    ):
        with pytest.raises(StoreError, match="Read-only file system"):
            change()
    reopened = Store.open(folder, create=False)
    assert ids(reopened) == ["a"]
    assert matched(reopened, "storm") == ["a"]
    disk("remount,rw")
    store.subscribe("ben", "flood", id="b")
    assert ids(store) == ["a", "b"]


def test_on_a_full_disk_nothing_acknowledged_is_lost_and_the_store_goes_on_when_there_is_room(disk: Mount) -> None:
    folder = disk("size=1m")
    store = Store.open(folder / "store")
    ballast = folder / "ballast"
    ballast.write_bytes(os.urandom(600_000))
    acknowledged: list[str] = []

    def subscribe_on_and_on() -> None:
        for number in range(1_000):
            acknowledged.append(store.subscribe("ana", f"storm {number}", id=f"s{number:03}"))

    with pytest.raises(StoreError, match="No space left on device"):
        subscribe_on_and_on()
    assert 5 < len(acknowledged) < 1_000
    assert ids(Store(store.location)) == acknowledged
    with pytest.raises(StoreError, match="No space left on device"):
        store.apply(pa.concat_tables([changes(("subscribe", f"t{n}", "storm")) for n in range(3_000)]))
    ballast.unlink()
    acknowledged.append(store.subscribe("ana", "storm", id="z"))
    assert ids(Store(store.location)) == acknowledged
    assert matched(store, "storm") == ["z"]


def test_derived_files_that_do_not_fit_are_an_error_and_leave_no_half_of_them(disk: Mount) -> None:
    folder = disk("size=4m")
    store = Store.open(folder / "store")
    store.apply(changes(*[("subscribe", f"s{n}", f"storm word{n} other{n}") for n in range(5_000)]))
    ballast = folder / "ballast"
    room = os.statvfs(folder).f_bavail * os.statvfs(folder).f_frsize
    ballast.write_bytes(os.urandom(room - 200_000))
    with pytest.raises(StoreError, match="No space left on device"):
        matched(store, "storm word7 other7")
    with pytest.raises(StoreError, match="No space left on device"):
        Upkeep(store, Policy(tail_rows=0)).run_once()
    ballast.unlink()
    assert matched(store, "storm word7 other7") == ["s7"]
    assert [path.name for path in (folder / "store" / "_tidegate" / "segments").iterdir()] == ["0-1-p0-m0.arrow"]


def test_where_files_cannot_grow_nothing_is_damaged_and_the_store_goes_on_where_they_can(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "store")
    store.apply(changes(*[("subscribe", f"few{n}", f"storm word{n}") for n in range(2_000)]))
    before = ids(store)
    _, pipe = started(subscribe_in_small_files, tmp_path / "store", 50_000)
    ((acknowledged, complaints),) = told(pipe)
    assert acknowledged == ["before", "behind"]
    assert [complaint.count("File too large") for complaint in complaints] == [1, 1, 1]
    assert ids(Store(store.location)) == sorted([*before, *acknowledged])
    segments = tmp_path / "store" / "_tidegate" / "segments"
    assert not segments.exists() or list(segments.iterdir()) == []
    assert matched(store, "storm word7") == ["before", "behind", "few7"]
