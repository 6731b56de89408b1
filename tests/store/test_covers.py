"""Derived files: levels and covers, and what happens when they are missing, torn or foreign."""

import logging
from pathlib import Path

import pyarrow as pa
import pytest

from tests.store.stores import changes, compiled_ids, matched, python
from tidegate.errors import StoreError
from tidegate.index.compiled import Compiled
from tidegate.route.plan import Plan
from tidegate.store.cover import compact, cover_at, known_covers
from tidegate.store.store import Store

PLANS = [Plan.replicate(), Plan.hash(3)]


def derived(store: Store, pattern: str) -> list[Path]:
    folder = store.beside.folder
    assert folder is not None
    return sorted(folder.glob(pattern))


def replace_file(path: Path, content: bytes) -> None:
    # Never in place: a file that is mapped must not be cut short under its reader.
    scratch = path.with_name("scratch")
    scratch.write_bytes(content)
    scratch.replace(path)


@pytest.fixture
def lived(store: Store) -> Store:
    """A store with a main level, a tail and dead rows in both, under both plans."""
    plans = [Plan.replicate(), store.publish(Plan.hash(3))]
    words = ["storm", "flood", "rain", "sun", "wind", "hail"]
    store.apply(changes(*[("subscribe", f"{word}-{n}", f"{word} OR {word}{n}") for word in words for n in range(8)]))
    for plan in plans:
        cover_at(store.table, store.files, store.version, plan)
    store.subscribe("ana", "storm coast", id="coast")
    store.subscribe("ana", "sun", id="storm-0")
    store.unsubscribe("storm-1")
    for plan in plans:
        cover_at(store.table, store.files, store.version, plan)
    return store


STORMS = ["coast", *(f"storm-{n}" for n in range(2, 8))]


@pytest.mark.parametrize("plan", PLANS, ids=str)
def test_a_cover_adds_a_level_and_marks_what_has_changed(lived: Store, plan: Plan) -> None:
    plan = plan.with_version(int(plan.partitions))
    cover = lived.opener.cover(lived.version, plan)
    assert [level.rows for level in cover.levels] == [48, 2]
    assert sum(map(len, cover.dead.values())) == 2
    assert cover.rows == 48
    assert matched(lived, "Storms at the coast", plan=plan) == STORMS


def test_many_small_changes_leave_few_levels(store: Store) -> None:
    for number in range(24):
        store.subscribe("ana", f"storm {number}", id=f"s{number}")
        cover = store.opener.cover(store.version, Plan.replicate())
    assert len(cover.levels) <= 5
    assert cover.rows == 24


def test_a_cover_does_not_change_once_it_is_published(lived: Store) -> None:
    version, plan = lived.version, lived.plans.newest()
    before = cover_at(lived.table, lived.files, version, plan)
    compact(lived.table, lived.files, version, plan)
    assert cover_at(lived.table, lived.files, version, plan).levels == before.levels


def test_covers_after_a_compaction_start_from_its_main_level(lived: Store) -> None:
    plan = lived.plans.newest()
    main = compact(lived.table, lived.files, lived.version, plan)
    lived.subscribe("ana", "storm", id="z")
    cover = lived.opener.cover(lived.version, plan)
    assert cover.levels[0] == main.levels[0]
    assert [level.rows for level in cover.levels] == [48, 1]


def test_of_hosts_that_make_a_cover_at_the_same_time_all_use_the_first(lived: Store) -> None:
    version, plan = lived.version, lived.plans.newest()
    first = cover_at(lived.table, lived.files, version, plan)
    second = compact(lived.table, lived.files, version, plan)
    late = type(second)(first.name, version, plan.version, second.levels, {}).published(lived.files)
    assert late.levels == first.levels


DAMAGE = {
    "missing": lambda path: path.unlink(),
    "torn": lambda path: replace_file(path, path.read_bytes()[: path.stat().st_size // 2]),
    "altered": lambda path: replace_file(path, bytes([*(raw := path.read_bytes())[:800], raw[800] ^ 1, *raw[801:]])),
    "foreign": lambda path: replace_file(path, b"something else altogether"),
    "empty": lambda path: replace_file(path, b""),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
@pytest.mark.parametrize("pattern", ["covers/*", "segments/0-*", "segments/*-m*", "segments/*-router*"])
def test_a_damaged_file_is_built_anew_with_a_warning(
    lived: Store, damage: object, pattern: str, caplog: pytest.LogCaptureFixture
) -> None:
    paths = derived(lived, pattern)
    assert paths
    for path in paths:
        damage(path)  # type: ignore[operator]
    fresh = Store(lived.location)
    for plan in (Plan.replicate(), fresh.plans.newest()):
        assert matched(fresh, "Storms at the coast", plan=plan) == STORMS
    warned = [record for record in caplog.records if record.levelno == logging.WARNING]
    # A cover that is missing might never have been there.
    assert warned or (pattern == "covers/*" and damage is DAMAGE["missing"])
    caplog.clear()
    assert matched(Store(lived.location), "Storms at the coast") == STORMS
    assert not caplog.records


def test_a_level_built_anew_by_another_process_numbers_its_subscriptions_alike(lived: Store) -> None:
    # A cover marks dead rows by number: with other numbers it would hide the wrong subscriptions.
    def numbered() -> dict[str, list[str]]:
        paths = derived(lived, "segments/0-*-m*")
        return {path.name: Compiled.open(path).roster.names.to_pylist() for path in paths}

    before = numbered()
    for path in derived(lived, "segments/0-*"):
        path.unlink()
    code = """
import sys
from tidegate.store.store import Store
store = Store.open(sys.argv[1])
for plan in (store.plans.at(0), store.plans.newest()):
    for matcher in range(plan.matchers):
        store.opener.standing(store.version, plan, matcher)
"""
    process = python(code, lived.location.url)
    _, problems = process.communicate(timeout=60)
    assert process.returncode == 0, problems
    assert numbered() == before


def test_a_version_that_is_gone_is_named(store: Store) -> None:
    store.subscribe("ana", "storm", id="a")
    old = store.version
    store.unsubscribe("a")
    files = store.table.files(store.version)
    store.table.replace(files, store.table.last_rows(files))
    store.table.vacuum(0, [])
    with pytest.raises(StoreError, match=r"a data file of this version is gone \(vacuumed\?\)"):
        store.subscriptions(old)
    with pytest.raises(StoreError, match="cannot be read"):
        store.subscriptions(store.version + 5)


def test_covers_are_known_by_plan_and_version(lived: Store) -> None:
    first = lived.version - 3
    assert [(known.plan, known.version) for known in known_covers(lived.files)] == [
        (0, first),
        (0, lived.version),
        (1, first),
        (1, lived.version),
    ]


def test_a_store_without_subscriptions_matches_nothing(store: Store) -> None:
    for plan in (Plan.replicate(), store.publish(Plan.hash(3))):
        assert matched(store, "storm", plan=plan) == []
    store.subscribe("ana", "storm", id="a")
    assert matched(store, "storm") == ["a"]
    assert compiled_ids(store, store.version, Plan.replicate()) == ["a"]
    assert matched(store, "storm", version=0) == []


def test_regions_and_authors_are_matched_from_columns(store: Store) -> None:
    store.subscribe("ana", "storm", id="a", region=(0, 0, 10, 10))
    store.subscribe("ana", "from:nasa", id="b")
    posts = pa.table({"text": ["storm", "storm"], "author": ["esa", "nasa"], "lat": [5.0, 50.0], "lon": [5.0, 50.0]})
    parts = store.opener.standing(store.version, Plan.replicate()).match(posts)
    assert [sorted(part.subscriptions.values.tolist()) for part in parts] == [[0, 1]]
