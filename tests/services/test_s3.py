"""The store on an object store, over the real protocol: moto's S3 server on loopback."""

import logging
import os
from pathlib import Path

import pytest

from tests.services.conftest import SECRET
from tests.store.stores import changes, compiled_ids, ids, matched
from tests.store.writers import apply_batches, started, told
from tidegate.errors import StoreError
from tidegate.route.plan import Plan
from tidegate.store.background import start_background
from tidegate.store.cover import compact, cover_at
from tidegate.store.store import Store
from tidegate.store.upkeep import Policy, Upkeep

EAGER = Policy(retention_hours=0, grace_s=0, tail_rows=3, data_files=3, spent_rows=3)


def subscribe(store: Store, *names: str) -> None:
    for name in names:
        store.subscribe("ana", f"storm OR #{name}", id=name)


def copies(cache: Path) -> dict[str, Path]:
    return {path.name: path for path in sorted(cache.rglob("*.arrow"))}


def test_what_is_subscribed_is_there_when_the_store_is_reopened(store: Store) -> None:
    subscribe(store, "a", "b")
    store.apply(changes(("unsubscribe", "a", None), ("subscribe", "c", "storm")), batch=("changes", 0))
    store.apply(changes(("subscribe", "a", "storm")), batch=("changes", 0))
    again = Store.open(store.location.url, dict(store.location.options), create=False)
    assert ids(again) == ["b", "c"]
    assert ids(again, 2) == ["a", "b"]


def test_a_bucket_that_is_not_there_is_named(options: dict[str, str], cache: Path) -> None:
    with pytest.raises(StoreError, match="s3://no-such-bucket"):
        Store.open("s3://no-such-bucket/store", options)


def test_two_writers_at_once_lose_nothing_and_share_no_version(store: Store) -> None:
    pipes = [started(apply_batches, store.location.url, prefix, 8, dict(store.location.options))[1] for prefix in "ab"]
    versions = [told(pipe) for pipe in pipes]
    assert len({*versions[0], *versions[1]}) == 16
    assert ids(store) == sorted(f"{prefix}{number}" for prefix in "ab" for number in range(8))


def test_the_first_to_pin_a_batch_decides(store: Store) -> None:
    subscribe(store, "a")
    first = store.pin("query", 0)
    subscribe(store, "b")
    assert Store(store.location).pin("query", 0) == first
    assert store.pin("query", 1) != first
    assert store.pins.needed(0) == {store.pin("query", 1)}


@pytest.mark.parametrize("plan", [Plan.replicate(), Plan.hash(3)], ids=str)
def test_another_host_fetches_what_this_one_has_built(
    store: Store, plan: Plan, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = store.publish(plan)
    subscribe(store, "a", "b", "c")
    matched(store, "storm")
    subscribe(store, "d")
    store.unsubscribe("a")
    assert matched(store, "storm") == ["b", "c", "d"]
    built = copies(cache)
    monkeypatch.setenv("TIDEGATE_CACHE", str(cache.with_name("elsewhere")))
    monkeypatch.setattr("tidegate.store.level.build_level", None)
    assert matched(Store(store.location), "storm") == ["b", "c", "d"]
    fetched = copies(cache.with_name("elsewhere"))
    assert fetched
    assert all(path.read_bytes() == built[name].read_bytes() for name, path in fetched.items() if name in built)


def test_a_damaged_copy_is_fetched_anew(
    store: Store, cache: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    subscribe(store, "a", "b")
    for _ in range(2):  # who makes a cover keeps no copy of it
        assert matched(Store(store.location), "storm") == ["a", "b"]
    before = {name: path.read_bytes() for name, path in copies(cache).items()}
    for path in copies(cache).values():
        scratch = path.with_suffix(".scratch")
        scratch.write_bytes(path.read_bytes()[:-100])
        scratch.replace(path)
    monkeypatch.setattr("tidegate.store.level.build_level", None)
    assert matched(Store(store.location), "storm") == ["a", "b"]
    assert {name: path.read_bytes() for name, path in copies(cache).items()} == before
    assert [record.levelno for record in caplog.records] == [logging.WARNING] * len(before)


def test_copies_that_nobody_has_used_for_a_day_are_dropped_when_one_is_fetched(store: Store, cache: Path) -> None:
    def segments() -> set[str]:
        return {name for name in copies(cache) if name.endswith("m0.arrow")}

    def age(*names: str) -> None:
        for name in names:
            os.utime(copies(cache)[name], (0, 0))

    subscribe(store, "a")
    user = Store(store.location)
    assert matched(user, "storm", 1) == ["a"]  # which maps the segment
    (mapped,) = segments()
    for version, name in enumerate("bcd", 2):
        subscribe(store, name)
        compact(store.table, store.files, version, Plan.replicate())
    assert segments() == {mapped, "0-2-p0-m0.arrow", "0-3-p0-m0.arrow", "0-4-p0-m0.arrow"}
    age(mapped, "0-2-p0-m0.arrow", "0-3-p0-m0.arrow")
    store.files.path("segments/0-3-p0-m0.arrow")
    assert segments() == {mapped, "0-2-p0-m0.arrow", "0-3-p0-m0.arrow", "0-4-p0-m0.arrow"}
    store.files.forget("segments/0-4-p0-m0.arrow")
    store.files.path("segments/0-4-p0-m0.arrow")
    assert segments() == {mapped, "0-3-p0-m0.arrow", "0-4-p0-m0.arrow"}
    assert matched(user, "storm", 1) == ["a"]
    assert matched(Store(store.location), "storm", 2) == ["a", "b"]


def test_what_is_damaged_in_the_object_store_is_built_anew(store: Store, cache: Path) -> None:
    subscribe(store, "a", "b")
    matched(store, "storm")
    for folder in ("covers", "segments"):
        for name in store.beside.names(folder):
            store.beside.write(name, b"something else")
    for path in copies(cache).values():
        path.unlink()
    assert matched(Store(store.location), "storm") == ["a", "b"]
    for path in copies(cache).values():
        path.unlink()
    assert matched(Store(store.location), "storm") == ["a", "b"]


def test_of_hosts_that_make_a_cover_at_the_same_time_all_use_the_first(
    store: Store, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    subscribe(store, "a", "b", "c")
    plan = Plan.replicate()
    cover_at(store.table, store.files, store.version, plan)
    subscribe(store, "d")
    other = Store(store.location)
    monkeypatch.setenv("TIDEGATE_CACHE", str(cache.with_name("elsewhere")))
    elsewhere = Store(store.location)
    made = elsewhere.files.create

    def late(name: str, write: object) -> bool:
        # By now the other host has one that starts from another main level.
        with monkeypatch.context() as there:
            there.setenv("TIDEGATE_CACHE", str(cache))
            compact(other.table, other.files, other.version, plan)
            cover_at(other.table, other.files, other.version, plan)
        return made(name, write)  # type: ignore[arg-type]

    monkeypatch.setattr(elsewhere.files, "create", late)
    version = store.version
    mine = cover_at(elsewhere.table, elsewhere.files, version, plan)
    assert [level.rows for level in mine.levels] == [4]
    assert compiled_ids(elsewhere, version, plan) == list("abcd")


def test_upkeep_tidies_an_object_store(store: Store, cache: Path) -> None:
    store.publish(Plan.hash(2))
    subscribe(store, "a", "b", "c")
    pin = store.pin("query", 0)
    matched(store, "storm")
    subscribe(store, "d", "e")
    matched(store, "storm")
    for name in "abce":
        store.unsubscribe(name)
    tidied = Upkeep(store, EAGER).run_once()
    assert tidied.folded > 0
    assert tidied.vacuumed > 0
    assert tidied.removed > 0
    assert not Upkeep(store, EAGER).run_once().skipped
    fresh = Store(store.location)
    assert ids(fresh) == matched(fresh, "storm") == ["d"]
    assert ids(fresh, pin.store) == matched(fresh, "storm", version=pin.store) == ["a", "b", "c"]
    assert set(copies(cache)) == {
        name.rpartition("/")[2] for f in ("covers", "mains", "segments") for name in store.beside.names(f)
    }


def test_upkeep_in_the_background_is_told_the_keys_and_shows_them_to_nobody(store: Store) -> None:
    subscribe(store, "a", "b", "c", "d")
    with start_background(store, every_s=0.05, policy=EAGER) as background:
        while len(store.table.files(store.version)) > 1:
            assert background.process.poll() is None
        command = Path(f"/proc/{background.process.pid}/cmdline").read_text()
    assert "tidegate" in command
    assert SECRET not in command
    assert ids(store) == list("abcd")
