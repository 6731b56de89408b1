"""Chunks and dechunking, compared with windows over all events."""

from collections.abc import Sequence
from itertools import accumulate, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.rank.feeds import cut, events_of, feeds, windows
from tidegate.errors import ConfigError
from tidegate.rank.chunks import Chunk, chunk_of, recombined
from tidegate.rank.dechunking import Dechunker
from tidegate.rank.event import Event
from tidegate.rank.windows import Windows


def dechunked(chunks: Sequence[Chunk], by: Windows) -> list[Event]:
    dechunker = Dechunker(by)
    return [event for chunk in chunks for event in dechunker.receive(chunk)]


@given(feed=feeds())
@settings(max_examples=300)
def test_chunks_of_any_lengths_deliver_what_windows_over_all_events_do(feed: tuple[Windows, list[list[Event]]]) -> None:
    by, stretches = feed
    found = dechunked([chunk_of(stretch, by) for stretch in stretches], by)
    assert len(found) == len(set(found)), "an event is delivered once"
    assert set(found) == set(by.delivered([event for stretch in stretches for event in stretch]))


def test_a_chunk_of_the_papers_setting_sends_43_of_100() -> None:
    by = Windows(1, 20, 20)
    falling = events_of(range(100, 0, -1))
    chunk = chunk_of(falling, by)
    assert len(chunk.events) == 43
    assert [len(chunk.left), len(chunk.tops), len(chunk.right)] == [20, 5, 20], "two of the winners are guards"


def test_a_chunk_of_less_than_two_windows_is_all_guard() -> None:
    by = Windows(2, 5, 1)
    assert len(chunk_of(events_of([3, 1, 2, 9, 8, 7, 6, 5, 4]), by).events) == 9


@given(feed=feeds(), data=st.data())
@settings(max_examples=200)
def test_chunks_may_be_recombined_on_the_way(feed: tuple[Windows, list[list[Event]]], data: st.DataObject) -> None:
    by, stretches = feed
    chunks = [chunk_of(stretch, by) for stretch in stretches]
    joins = data.draw(st.lists(st.booleans(), min_size=len(chunks), max_size=len(chunks)))
    together: list[Chunk] = []
    for chunk, join in zip(chunks, joins, strict=True):
        if join and together:
            together[-1] = recombined(together[-1], chunk, by)
        else:
            together.append(chunk)
    assert sum(chunk.length for chunk in together) == sum(chunk.length for chunk in chunks)
    assert set(dechunked(together, by)) == set(dechunked(chunks, by))


def test_recombined_chunks_are_what_the_whole_stretch_would_have_been() -> None:
    by = Windows(2, 4, 2)
    events = events_of([5, 3, 8, 1, 9, 2, 2, 7, 4, 6, 0, 3])
    whole, parts = chunk_of(events, by), [chunk_of(part, by) for part in cut(events, [4, 2, 6])]
    joined = recombined(recombined(parts[0], parts[1], by), parts[2], by)
    assert (joined.length, joined.left, joined.right) == (whole.length, whole.left, whole.right)
    assert dict(joined.tops) == dict(whole.tops)
    assert len(joined.events) < sum(len(part.events) for part in parts)


@given(feed=feeds(), data=st.data())
@settings(max_examples=200)
def test_the_chunks_of_a_feed_serve_all_that_want_fewer(
    feed: tuple[Windows, list[list[Event]]], data: st.DataObject
) -> None:
    by, stretches = feed
    fewer = Windows(data.draw(st.integers(1, by.k)), by.width, by.shift)
    served = [chunk_of(stretch, by).covered(fewer.k) for stretch in stretches]
    assert set(dechunked(served, fewer)) == set(fewer.delivered([e for stretch in stretches for e in stretch]))


@given(data=st.data(), by=windows())
def test_a_chunk_keeps_nothing_but_guards_and_winners(data: st.DataObject, by: Windows) -> None:
    n = by.shift * data.draw(st.integers(1, 8))
    events = events_of(data.draw(st.lists(st.integers(0, 5), min_size=n, max_size=n)))
    kept = set(chunk_of(events, by).events)
    winners = {event for start in by.starts(n) for event in sorted(events[start : start + by.width], key=order)[: by.k]}
    assert kept == winners | set(events[: by.width]) | set(events[-by.width :])


def order(event: Event) -> tuple[float, float, str]:
    return event.order


@pytest.mark.parametrize(("k", "width", "shift"), [(0, 5, 1), (6, 5, 1), (1, 5, 0), (1, 5, 6), (1, 0, 1)])
def test_what_are_no_windows_is_refused(k: int, width: int, shift: int) -> None:
    with pytest.raises(ConfigError, match=r"windows of \d+"):
        Windows(k, width, shift)


def test_a_chunk_out_of_step_is_refused() -> None:
    with pytest.raises(ConfigError, match="a chunk of 3 events: windows that shift by 2 need a multiple of that"):
        chunk_of(events_of([1, 2, 3]), Windows(1, 4, 2))
    with pytest.raises(ConfigError, match="a chunk of 0 events"):
        chunk_of([], Windows(1, 4, 2))


def test_cuts_are_where_they_were_asked_for() -> None:
    lengths = [4, 2, 6]
    parts = cut(events_of(range(12)), lengths)
    ends = [0, *accumulate(lengths)]
    assert parts == [events_of(range(12))[a:b] for a, b in pairwise(ends)]
