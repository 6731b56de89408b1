"""What jobs leave of the posts they have seen: a bounded number, that stands for all of them."""

import os
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.deliver.clock import DAY, SECOND
from tidegate.store.glimpses import POST, Glimpse, Glimpses, Look
from tidegate.store.location import Location
from tidegate.store.store import Store
from tidegate.store.upkeep import Upkeep

HOUR = 3600 * SECOND


def look(at: int, stands_for: int, kept: int) -> Look:
    rows = [{"id": f"{at}-{n}", "text": "storm", "lat": 54.3} for n in range(kept)]
    return Look(at, stands_for, pa.Table.from_pylist(rows, schema=POST))


def glimpse(*looks: Look, size: int = 5000) -> Glimpse:
    made = Glimpse()
    for batch, each in enumerate(looks):
        made = made.with_look(each, batch, size)
    return made


@given(
    st.lists(st.tuples(st.integers(1, 2 * HOUR), st.integers(1, 60), st.integers(0, 10**6)), min_size=1, max_size=40),
    st.integers(1, 100),
)
def test_a_glimpse_is_bounded_and_stands_for_what_it_has_not_forgotten(
    seen: list[tuple[int, int, int]], size: int
) -> None:
    at, looks = 0, []
    for after, kept, more in seen:
        at += after
        looks.append(look(at, kept + more, kept))
    made = glimpse(*looks, size=size)
    assert 1 <= made.posts.num_rows <= size
    assert all(each.posts.num_rows >= 1 and each.at >= at - DAY for each in made.looks)
    kept_looks = looks[-len(made.looks) :]
    assert made.stands_for == sum(each.stands_for for each in kept_looks)
    assert made.weights.sum() == pytest.approx(made.stands_for)
    for before, cut in zip(kept_looks, made.looks, strict=True):
        assert cut.posts.equals(before.posts.slice(0, cut.posts.num_rows))
    assert len(made.seen) == made.posts.num_rows


def test_an_hour_is_kept_and_a_day_until_the_hour_is_enough() -> None:
    few = [look(hour * HOUR, 10, 10) for hour in range(30)]
    assert [each.at // HOUR for each in glimpse(*few).looks] == list(range(5, 30))
    assert [each.at // HOUR for each in glimpse(*few, look(30 * HOUR, 10**6, 1000)).looks] == [29, 30]


def test_a_stream_is_as_fast_as_it_was_after_the_first_look() -> None:
    waited = look(0, 10**9, 100)  # for who knows how long
    minutes = [look(minute * 60 * SECOND, 60, 60) for minute in range(1, 11)]
    assert glimpse(waited, *minutes).per_day == pytest.approx(86_400)
    assert glimpse(waited, look(5 * SECOND, 5, 5)).per_day == pytest.approx(86_400)
    assert glimpse(look(0, 7, 7)).per_day == 7 * 1440  # a burst is taken to be what came in a minute
    assert Glimpse().per_day == 0


def test_what_was_seen_before_a_clock_was_turned_back_is_of_no_time() -> None:
    back = glimpse(look(9 * SECOND, 100, 3), look(5 * SECOND, 7, 2))
    assert [each.stands_for for each in back.looks] == [7]


def test_what_was_left_is_read_back(tmp_path: Path) -> None:
    left = Glimpses(Location.of(tmp_path))
    made = glimpse(look(5, 100, 3), look(9 * SECOND, 7, 2))
    left.write("run", made)
    found = Glimpses(Location.of(tmp_path)).read("run")
    assert found is not None
    assert (found.batch, found.stands_for, found.per_day) == (1, 107, made.per_day)
    assert found.posts.equals(made.posts)
    np.testing.assert_array_equal(found.weights, made.weights)
    assert list(left.written()) == ["run"]
    assert left.read("another") is None


@pytest.mark.parametrize("content", [b"", b"PAR1 and then nothing", b"{}"])
def test_what_is_damaged_is_as_good_as_none(tmp_path: Path, content: bytes) -> None:
    place = Location.of(tmp_path)
    place.write("glimpses/run.parquet", content)
    assert Glimpses(place).read("run") is None


def test_upkeep_removes_what_jobs_have_left_that_are_gone(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "store")
    left = Glimpses(store.beside)
    for run in ("gone", "there"):
        left.write(run, glimpse(look(5, 100, 3)))
    folder = store.beside.folder
    assert folder is not None
    yesterday = time.time() - 90_000
    os.utime(folder / "glimpses" / "gone.parquet", (yesterday, yesterday))
    Upkeep(store).run_once()
    assert list(left.written()) == ["there"]
