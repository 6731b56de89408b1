"""What slices send on and what is made of it, compared with plain Python over all events."""

from collections.abc import Sequence
from itertools import accumulate, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.rank.feeds import events_of, windows
from tidegate.csr import offsets_of
from tidegate.rank.chunks import chunk_of
from tidegate.rank.completion import counted_winners, next_window
from tidegate.rank.event import Event, best
from tidegate.rank.ranking import Ranking, TimeWindows
from tidegate.rank.score import Score
from tidegate.rank.selection import Asked, Won, asked, best_first, bounded, timed_winners
from tidegate.rank.slices import WIDEST_DIVERSE, needed
from tidegate.rank.windows import Windows

SCORE = Score.parse("recency")
Feed = tuple[Ranking, list[Event], list[int]]
"""How it is ranked, its events, and the author of each."""


def chosen(events: Sequence[Event], authors: Sequence[int], ranking: Ranking) -> list[Event]:
    """The best of one window, by definition."""
    writer = dict(zip(events, authors, strict=True))
    found: list[Event] = []
    for event in best(events, len(events)):
        unseen = writer[event] < 0 or all(writer[event] != writer[other] for other in found)
        if unseen or not ranking.diverse:
            found.append(event)
    return found[: ranking.windows.k]


@st.composite
def timed(draw: st.DrawFn) -> TimeWindows:
    width = draw(st.integers(1, 9))
    return TimeWindows(draw(st.integers(1, 4)), width, draw(st.integers(1, width)))


@st.composite
def feeds(draw: st.DrawFn, kinds: st.SearchStrategy[Windows | TimeWindows]) -> Feed:
    ranking = Ranking(draw(kinds), SCORE, draw(st.booleans()))
    rows = draw(st.lists(st.tuples(st.integers(0, 5), st.integers(-9, 25), st.integers(-1, 2)), max_size=40))
    events = [Event(f"{(i * 7) % 40:02}", float(score), float(time)) for i, (score, time, _) in enumerate(rows)]
    return ranking, events, [author for _, _, author in rows]


def columns(parts: Sequence[Sequence[Event]]) -> tuple[np.ndarray, ...]:
    """The best-first order of the events of feeds, their feeds, their times, and where each feed begins."""
    events = [event for part in parts for event in part]
    score, time = np.array([e.score for e in events], float), np.array([int(e.time) for e in events], np.int64)
    ids = np.unique([e.id for e in events], return_inverse=True)[1] if events else np.zeros(0, np.int64)
    lengths = [len(part) for part in parts]
    return best_first(score, time, ids), np.repeat(np.arange(len(parts)), lengths), time, offsets_of(lengths)


def rankings_of(some: Sequence[Feed]) -> Asked:
    return asked([ranking for ranking, _, _ in some], np.arange(len(some)))


def authors_of(some: Sequence[Feed]) -> np.ndarray:
    return np.array([author for _, _, authors in some for author in authors], np.int64)


def sent(some: Sequence[Feed]) -> list[list[bool]]:
    order, feed, time, offsets = columns([events for _, events, _ in some])
    mask = needed(order, feed, time, authors_of(some), offsets, rankings_of(some))
    return [mask[a:b].tolist() for a, b in pairwise(offsets)]


@given(some=st.lists(feeds(windows(6)), min_size=1, max_size=4))
@settings(max_examples=300)
def test_a_slice_sends_the_chunk_whose_windows_begin_anywhere(some: list[Feed]) -> None:
    for (ranking, events, authors), mask in zip(some, sent(some), strict=True):
        width, n = ranking.windows.width, len(events)
        expected = set(events)
        if n >= 2 * width and not ranking.diverse:
            expected = set(chunk_of(events, Windows(ranking.windows.k, width, 1)).tops)
            expected |= {event for i, event in enumerate(events) if i < width - 1 or i > n - width}
        elif n >= 2 * width:
            expected = {event for i, event in enumerate(events) if i < width - 1 or i > n - width}
            for a in range(n - width + 1):
                expected.update(chosen(events[a : a + width], authors[a : a + width], ranking))
        assert {event for event, is_sent in zip(events, mask, strict=True) if is_sent} == expected


def timed_by_definition(ranking: Ranking, events: list[Event], authors: list[int]) -> dict[int, list[Event]]:
    by = ranking.windows
    found = {}
    for number in range(-40, 40):
        begin = number * by.shift
        inside = [i for i, event in enumerate(events) if begin <= event.time < begin + by.width]
        if inside:
            found[number] = chosen([events[i] for i in inside], [authors[i] for i in inside], ranking)
    return found


@given(some=st.lists(feeds(timed()), min_size=1, max_size=4), closed=st.none() | st.integers(-9, 25))
@settings(max_examples=300)
def test_the_best_of_windows_of_time_are_those_of_the_definition(some: list[Feed], closed: int | None) -> None:
    events = [event for _, events, _ in some for event in events]
    order, feed, time, _ = columns([events for _, events, _ in some])
    given_watermark = {} if closed is None else {"closed": closed}
    won = timed_winners(order, feed, time, authors_of(some), rankings_of(some), **given_watermark)
    expected = [
        (f, window, rank, event)
        for f, (ranking, own, authors) in enumerate(some)
        for window, tops in timed_by_definition(ranking, own, authors).items()
        for rank, event in enumerate(tops)
        if closed is None or window * ranking.windows.shift + ranking.windows.width > closed
    ]
    assert [(f, w, r, events[row]) for f, w, r, row in zip(*won, strict=True)] == expected
    if closed is None:
        kept = {(f, event) for f, _, _, event in expected}
        masks = [flag for mask in sent(some) for flag in mask]
        assert {(int(f), e) for f, e, flag in zip(feed, events, masks, strict=True) if flag} == kept


@given(some=st.lists(feeds(windows(6)), min_size=1, max_size=3), data=st.data())
@settings(max_examples=300)
def test_windows_by_count_are_complete_from_what_slices_send(some: list[Feed], data: st.DataObject) -> None:
    """Each feed is cut anywhere, its slices send what they need to, and batches end anywhere between slices."""
    cuts = [sorted(data.draw(st.lists(st.integers(0, len(events)), max_size=4))) for _, events, _ in some]
    borders = [[0, *cut, len(events)] for cut, (_, events, _) in zip(cuts, some, strict=True)]
    known: list[list[int]] = [[] for _ in some]
    for f, (ranking, events, authors) in enumerate(some):
        for a, b in pairwise(borders[f]):
            (mask,) = sent([(ranking, events[a:b], authors[a:b])])
            known[f] += [a + i for i, flag in enumerate(mask) if flag]
    middle = np.array([data.draw(st.sampled_from(border)) for border in borders])
    lengths = np.array([len(events) for _, events, _ in some])
    found = completed(some, known, np.zeros_like(middle), middle) + completed(some, known, middle, lengths)
    expected = [
        (f, start // ranking.windows.shift, rank, event)
        for f, (ranking, events, authors) in enumerate(some)
        for start in range(0, len(events) - ranking.windows.width + 1, ranking.windows.shift)
        for rank, event in enumerate(
            chosen(
                events[start : start + ranking.windows.width], authors[start : start + ranking.windows.width], ranking
            )
        )
    ]
    assert sorted(found) == expected


def completed(
    some: list[Feed],
    known: list[list[int]],
    before: np.ndarray,
    after: np.ndarray,
) -> list[tuple[int, int, int, Event]]:
    """What a feed delivers as it grows, when it holds no more than the windows still open need."""
    by = rankings_of(some)
    oldest = next_window(before, by) * by.shift
    rows = [[i for i in own if oldest[f] <= i < after[f]] for f, own in enumerate(known)]
    order, _, _, offsets = columns([[some[f][1][i] for i in own] for f, own in enumerate(rows)])
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    position = np.array([i for own in rows for i in own], np.int64)
    author = np.array([some[f][2][i] for f, own in enumerate(rows) for i in own], np.int64)
    won = counted_winners(place, position, author, offsets, before, after, by)
    return [(int(f), int(w), int(r), some[f][1][position[row]]) for f, w, r, row in zip(*won, strict=True)]


def test_one_in_twenty_of_a_slice_of_a_hundred_sends_less_than_46_of_100() -> None:
    rng = np.random.default_rng(3)
    some: list[Feed] = [
        (Ranking(Windows(1, 20, 20), SCORE), events_of(rng.random(100).tolist()), [0] * 100) for _ in range(200)
    ]
    assert 0.42 < np.mean([flag for mask in sent(some) for flag in mask]) < 0.46


@pytest.mark.parametrize("n", [1, 39])
def test_a_slice_of_less_than_two_windows_sends_all(n: int) -> None:
    assert all(sent([(Ranking(Windows(1, 20, 20), SCORE), events_of(range(n)), [0] * n)])[0])


def test_wide_diverse_windows_are_sent_whole_and_narrow_ones_are_not() -> None:
    for width, is_whole in ((WIDEST_DIVERSE, False), (WIDEST_DIVERSE + 1, True)):
        n = 3 * width
        events = events_of([(i * 7919) % n for i in range(n)])
        (mask,) = sent([(Ranking(Windows(1, width, width), SCORE, diverse=True), events, [0] * n)])
        assert all(mask) == is_whole


@given(moments=st.lists(st.integers(0, 30), max_size=20), most=st.integers(1, 4), cut=st.integers(0, 20))
def test_a_bound_is_kept_in_every_period_however_windows_are_batched(moments: list[int], most: int, cut: int) -> None:
    ranking = Ranking.parse({"window": 9, "k": 1, "most": {"posts": most, "per": "10us"}})
    by = asked([ranking], np.zeros(1, np.int64))
    period, used = np.zeros(1, np.int64), np.zeros(1, np.int64)
    served: list[bool] = []
    for part in (moments[:cut], moments[cut:]):
        zeros = np.zeros(len(part), np.int64)
        served += bounded(Won(zeros, zeros, zeros, zeros), np.array(part, np.int64), by, period, used).tolist()
    present = list(accumulate((moment // 10 for moment in moments), max))
    assert served == [present[:i].count(one) < most for i, one in enumerate(present)]
