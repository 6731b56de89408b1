import json
import logging
import os
import time
from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa
import pytest

from tests.store.stores import LONG_AGO, changes, compiled_ids, ids, matched
from tidegate.errors import ConfigError, StoreError
from tidegate.route.plan import Plan
from tidegate.store.cover import cover_at, known_covers
from tidegate.store.lease import Lease
from tidegate.store.store import Store
from tidegate.store.table import File
from tidegate.store.upkeep import Policy, Tidied, Upkeep

EAGER = Policy(retention_hours=0, grace_s=0, tail_rows=3, data_files=3, spent_rows=3)


def subscribe(store: Store, *names: str) -> None:
    for name in names:
        store.subscribe("ana", f"storm OR #{name}", id=name)


def data_files(store: Store) -> set[str]:
    return {name for name in store.location.top() if name.endswith(".parquet")}


def let_happen_during_a_fold(store: Store, monkeypatch: pytest.MonkeyPatch, happens: Callable[[Store], None]) -> None:
    """Let another process, as it were, do something to the store after a fold has read it and before it commits."""
    other, last_rows = Store(store.location), store.table.last_rows

    def meanwhile(files: list[File]) -> pa.Table:
        rows = last_rows(files)
        happens(other)
        return rows

    monkeypatch.setattr(store.table, "last_rows", meanwhile)


def age(store: Store, pattern: str, seconds: float) -> None:
    """Make files look as if they had been written long ago."""
    folder = store.location.folder
    assert folder is not None
    for path in folder.glob(pattern):
        os.utime(path, (time.time() - seconds,) * 2)


def test_a_store_that_is_tidy_is_left_as_it_is(store: Store) -> None:
    subscribe(store, "a", "b")
    upkeep = Upkeep(store)
    assert upkeep.run_once() == Tidied()
    version, files = store.version, data_files(store)
    assert upkeep.run_once() == Tidied()
    assert (store.version, data_files(store)) == (version, files)


def test_a_main_level_is_compiled_when_the_tail_has_grown(store: Store) -> None:
    upkeep = Upkeep(store, EAGER)
    subscribe(store, "a")
    assert upkeep.compact_segments() == 0
    subscribe(store, "b", "c", "d")
    assert upkeep.compact_segments() == 0
    subscribe(store, "e")
    assert upkeep.compact_segments() == 5
    assert upkeep.compact_segments() == 0
    subscribe(store, "f")
    assert [level.rows for level in store.opener.cover(store.version, Plan.replicate()).levels] == [5, 1]


def test_a_tail_of_less_than_a_quarter_is_left_alone(store: Store) -> None:
    rows = [("subscribe", f"s{n}", "storm") for n in range(40)]
    store.apply(changes(*rows))
    upkeep = Upkeep(store, EAGER)
    assert upkeep.compact_segments() == 0
    store.apply(changes(*[("subscribe", f"t{n}", "storm") for n in range(10)]))
    assert upkeep.compact_segments() == 0
    subscribe(store, "one-more")
    assert upkeep.compact_segments() == 51


def test_a_main_level_is_compiled_anew_before_the_log_of_its_version_is_gone(store: Store) -> None:
    subscribe(store, "a")
    upkeep = Upkeep(store)
    upkeep.compact_segments()
    age(store, "_tidegate/segments/*", 8 * 86_400)
    assert upkeep.compact_segments() == 0  # it is of the newest version, whose log stays
    subscribe(store, "b")
    assert upkeep.compact_segments() == 2
    assert upkeep.compact_segments() == 0


def test_small_files_become_one_and_what_was_removed_stays_so(store: Store) -> None:
    subscribe(store, "a", "b", "c")
    store.unsubscribe("b")
    upkeep = Upkeep(store, EAGER)
    assert upkeep.merge_files() == 4
    assert len(store.table.files(store.version)) == 1
    assert upkeep.merge_files() == 0
    assert ids(store) == ["a", "c"]
    assert store.table.newest(pa.array(["b"]), store.version, ["removed"]).column("removed").to_pylist() == [True]


def test_a_file_that_outweighs_the_others_is_not_rewritten(store: Store) -> None:
    store.apply(changes(*[("subscribe", f"s{n}", "storm") for n in range(40)]))
    (large,) = store.table.files(store.version)
    subscribe(store, "a", "b", "c", "d")
    assert Upkeep(store, EAGER).merge_files() == 4
    assert large in store.table.files(store.version)
    assert len(ids(store)) == 44


def test_a_table_is_folded_when_much_of_it_is_spent(store: Store) -> None:
    store.apply(changes(*[("subscribe", f"s{n}", "storm") for n in range(12)]))
    store.apply(changes(("unsubscribe", "s0", None)))
    upkeep = Upkeep(store, EAGER)
    assert upkeep.fold_table() == 0
    store.apply(changes(("unsubscribe", "s1", None), ("change", "s2", "flood")))
    assert upkeep.fold_table() == 5
    (file,) = store.table.files(store.version)
    assert (file.rows, file.folded_to) == (10, store.version - 1)
    assert upkeep.fold_table() == 0
    assert ids(store) == sorted(f"s{n}" for n in range(2, 12))
    assert matched(store, "storm flood") == sorted(f"s{n}" for n in range(2, 12))


def test_a_table_of_which_nothing_is_left_can_be_folded(store: Store) -> None:
    subscribe(store, "a", "b", "c")
    for name in "abc":
        store.unsubscribe(name)
    upkeep = Upkeep(store, EAGER)
    assert upkeep.fold_table() == 6
    assert ids(store) == []
    assert upkeep.run_once().skipped is False
    subscribe(store, "d")
    assert matched(store, "storm") == ["d"]


def test_covers_of_before_a_fold_do_not_bring_back_what_was_removed(store: Store) -> None:
    # The fold makes a cover for the plan in use; a stream on another plan has only its old one.
    replicate = Plan.replicate()
    store.publish(Plan.hash(2))
    subscribe(store, "a", "b", "c")
    cover_at(store.table, store.files, store.version, replicate)
    for name in "bc":
        store.unsubscribe(name)
    store.subscribe("ana", "flood", id="a")
    assert Upkeep(store, EAGER).fold_table() > 0
    assert compiled_ids(store, store.version, replicate) == ["a"]
    assert matched(store, "storm flood", plan=replicate) == ["a"]


def test_changes_that_come_during_a_fold_are_kept(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    subscribe(store, "a", "b", "c", "d")
    for name in "ab":
        store.unsubscribe(name)

    def change(other: Store) -> None:
        other.unsubscribe("c")
        subscribe(other, "e")

    let_happen_during_a_fold(store, monkeypatch, change)
    assert Upkeep(store, EAGER).fold_table() == 4
    assert ids(store) == ["d", "e"]
    assert matched(store, "storm") == ["d", "e"]


def test_of_two_folds_at_the_same_time_one_is_given_up(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    subscribe(store, "a", "b", "c", "d")
    for name in "ab":
        store.unsubscribe(name)

    def fold(other: Store) -> None:
        other.unsubscribe("c")
        assert Upkeep(other, EAGER).fold_table() > 0

    let_happen_during_a_fold(store, monkeypatch, fold)
    before = data_files(store)
    assert Upkeep(store, EAGER).fold_table() == 0
    assert ids(store) == ["d"]
    assert len(data_files(store) - before) == 2  # the other's change, and the other's fold


def test_a_vacuum_keeps_what_pinned_batches_need_and_nothing_else(store: Store) -> None:
    store.publish(Plan.hash(2))
    subscribe(store, "a", "b", "x")
    matched(store, "storm")
    store.unsubscribe("x")
    pin = store.pin("query", 0)
    matched(store, "storm")
    subscribe(store, "c")
    skipped = store.version
    matched(store, "storm")
    subscribe(store, "d", "e")
    for name in "abce":
        store.unsubscribe(name)
    tidied = Upkeep(store, EAGER).run_once()
    assert tidied.folded > 0
    # The four files of the pinned version stay, and the one with what is left.
    assert len(data_files(store)) == 5
    assert tidied.removed > 0
    fresh = Store(store.location)
    assert ids(fresh, pin.store) == ["a", "b"]
    assert matched(fresh, "storm", version=pin.store) == ["a", "b"]
    assert ids(fresh) == matched(fresh, "storm") == ["d"]
    assert (1, skipped) not in [(known.plan, known.version) for known in known_covers(fresh.files)]


def test_levels_that_a_vacuum_leaves_can_be_built_anew(store: Store) -> None:
    subscribe(store, "a", "b", "c", "d", "e")
    upkeep = Upkeep(store, EAGER)
    upkeep.run_once()
    store.pin("query", 0)
    subscribe(store, "f")
    version = store.pin("query", 1).store
    matched(store, "storm")
    for name in "abc":
        store.unsubscribe(name)
    upkeep.run_once()
    upkeep.run_once()
    folder = store.beside.folder
    assert folder is not None
    for path in (folder / "segments").glob("*"):
        path.unlink()
    fresh = Store(store.location)
    assert matched(fresh, "storm", version=version) == list("abcdef")
    assert matched(fresh, "storm") == list("def")


def test_derived_files_are_kept_for_a_while_after_they_were_the_newest(store: Store) -> None:
    patient = replace(EAGER, grace_s=100.0)
    subscribe(store, "a")
    old = store.opener.cover(store.version, Plan.replicate()).name
    age(store, "_tidegate/*/*", 150)
    subscribe(store, "b")
    store.opener.cover(store.version, Plan.replicate())
    assert Upkeep(store, patient).run_once().removed == 0
    age(store, "_tidegate/*/*", 150)
    assert Upkeep(store, patient).run_once().removed > 0
    assert old not in [known.name for known in known_covers(store.files)]


def test_versions_are_kept_for_as_long_as_asked(store: Store) -> None:
    subscribe(store, "a", "b", "c", "d")
    old = store.version
    assert Upkeep(store, replace(EAGER, retention_hours=1)).run_once().merged == 4
    subscribe(store, "e", "f", "g", "h")
    assert Upkeep(store, replace(EAGER, retention_hours=1)).run_once().compiled == 8
    assert ids(store, old) == list("abcd")
    subscribe(store, "i")  # till then, the newest cover is one that the old version's level belongs to
    assert Upkeep(store, EAGER).run_once().vacuumed > 0
    with pytest.raises(StoreError, match="gone"):
        ids(store, old)


def test_what_a_crashed_writer_left_behind_is_deleted_only_when_it_is_old(store: Store) -> None:
    folder = store.location.folder
    assert folder is not None
    for name in ("change-old.parquet", "change-new.parquet"):
        (folder / name).write_bytes(b"never committed")
    age(store, "change-old.parquet", 7200)
    Upkeep(store, replace(EAGER, retention_hours=1)).vacuum()
    assert data_files(store) == {"change-new.parquet"}


def test_expired_subscriptions_are_removed(store: Store) -> None:
    store.apply(changes(("subscribe", "a", "storm"), ("subscribe", "b", "storm"), expires=LONG_AGO))
    assert Upkeep(store).run_once().expired == 2
    assert ids(store) == []


def test_upkeep_is_left_to_whoever_holds_the_lease(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    subscribe(store, "a", "b", "c", "d")
    other = Lease(store.beside, "upkeep.json", seconds=60)
    assert other.take()
    version = store.version
    assert Upkeep(store, EAGER).run_once() == Tidied(skipped=True)
    assert f"is left to {other.owner}" in caplog.text
    assert store.version == version
    other.release()
    assert Upkeep(store, EAGER).run_once().merged == 4


@pytest.mark.parametrize(
    "left",
    [json.dumps({"owner": "gone", "until": 1.0}), "{", "[]", '{"until": "soon"}'],
    ids=["old", "torn", "odd", "soon"],
)
def test_a_lease_that_has_expired_or_cannot_be_read_is_taken_over(store: Store, left: str) -> None:
    store.beside.write("upkeep.json", left.encode())
    assert not Upkeep(store).run_once().skipped
    assert store.beside.read("upkeep.json") is None


def test_a_lease_is_renewed_by_its_holder_and_lost_when_it_was_not(store: Store) -> None:
    mine, other = (Lease(store.beside, "upkeep.json", seconds) for seconds in (0.05, 60))
    assert mine.take()
    assert mine.take()
    time.sleep(0.1)
    assert other.take()
    assert not mine.take()
    mine.release()
    assert other.holder() == other.owner


def test_a_round_that_loses_its_lease_stops_there(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    subscribe(store, "a", "b", "c", "d")
    upkeep = Upkeep(store, EAGER)
    stolen = json.dumps({"owner": "other", "until": time.time() + 60}).encode()

    def expire() -> int:
        store.beside.write("upkeep.json", stolen)
        return 0

    monkeypatch.setattr(store, "expire", expire)
    assert upkeep.run_once() == Tidied()
    assert store.beside.read("upkeep.json") == stolen


@pytest.mark.parametrize(("setting", "value"), [("retention_hours", 721), ("retention_hours", -1), ("grace_s", -1)])
def test_settings_that_cannot_be_kept_to_are_named(setting: str, value: int) -> None:
    with pytest.raises(ConfigError, match=f"{setting} is {value}"):
        Policy(**{setting: value})
