"""Dead letters: set aside once, counted without opening them, cleared before a batch is tried again."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tidegate.store.dead_letters import DeadLetters
from tidegate.store.location import Location
from tidegate.store.status import describe, store_status
from tidegate.store.store import Store

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


def letters(*names: str) -> list[dict[str, Any]]:
    """Letters that came one a second."""
    return [
        {"id": name, "reason": "no text", "post": "{}", "received": NOON + timedelta(seconds=second)}
        for second, name in enumerate(names)
    ]


def ids(kept: DeadLetters) -> list[str]:
    return sorted(kept.read().column("id").to_pylist())


@pytest.fixture
def kept(store: Store) -> DeadLetters:
    return DeadLetters(store.beside)


def test_what_a_replay_sets_aside_takes_the_place_of_what_it_did_before(kept: DeadLetters) -> None:
    kept.put("run/000-1", letters("a", "b"))
    kept.put("run/000-2", letters("c"))
    kept.put("run/000-1", letters("a", "b"))
    assert ids(kept) == ["a", "b", "c"]
    kept.put("run/000-1", letters("a"))
    assert ids(kept) == ["a", "c"]
    assert kept.count() == 2


def test_a_batch_is_cleared_in_all_its_parts_and_no_other_is(kept: DeadLetters) -> None:
    for origin in ("run/0001-0", "run/0001-1", "run/0002-0", "run/00010-0", "other/0001-0"):
        kept.put(origin, letters(origin))
    kept.clear("run/0001")
    assert ids(kept) == ["other/0001-0", "run/00010-0", "run/0002-0"]
    kept.clear("never/0001")
    assert kept.count() == 3


def test_letters_are_counted_without_opening_one(kept: DeadLetters, monkeypatch: pytest.MonkeyPatch) -> None:
    assert kept.count() == 0
    kept.put("run/0-0", letters("a", "b"))
    kept.put("run/1-0", letters("c"))
    monkeypatch.setattr(Location, "read", None)
    assert kept.count() == 3


def test_the_last_letters_are_found_in_the_last_files_alone(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = DeadLetters(store.beside)
    for batch, names in enumerate((("a", "b"), ("c",), ("d", "e", "f"))):
        kept.put(
            f"run/{batch}-0", [{**letter, "received": NOON + timedelta(hours=batch)} for letter in letters(*names)]
        )
    opened: list[str] = []
    read = Location.read

    def noted(place: Location, name: str) -> bytes | None:
        opened.append(name)
        return read(place, name)

    monkeypatch.setattr(Location, "read", noted)
    assert kept.last(4).column("id").to_pylist() == ["c", "d", "e", "f"]
    assert len(opened) == 2
    assert kept.last(0).num_rows == 0
    assert kept.last(99).num_rows == 6
    told = describe(store_status(store, letters=2))["dead_letters"]
    assert (told["count"], [letter["id"] for letter in told["last"]]) == (6, ["e", "f"])
