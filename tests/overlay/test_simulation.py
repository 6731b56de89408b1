"""The chain message by message, against its count with arrays and against the criterion of correctness."""

from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.overlay.cases import Case, cases
from tidegate.overlay.borders import EveryCount
from tidegate.overlay.chain import Chain
from tidegate.overlay.feeds import Feed, Posts
from tidegate.overlay.network import Links
from tidegate.overlay.setting import Setting, Way
from tidegate.overlay.simulation import Run, simulated
from tidegate.overlay.traffic import counted
from tidegate.rank.event import Event
from tidegate.rank.reconstruction import is_explained
from tidegate.rank.windows import Windows

WAYS = st.sampled_from(get_args(Way))


@given(case=cases(), way=WAYS, cover=st.booleans(), together=st.integers(1, 3))
@settings(max_examples=400, deadline=None)
def test_arrays_and_messages_count_the_same_on_every_link(case: Case, way: Way, cover: bool, together: int) -> None:
    setting = case.setting(way, cover=cover, together=together)
    messages = simulated(case.chain, case.posts, case.feeds, setting, case.links).traffic
    arrays = counted(case.chain, case.posts, case.feeds, setting)
    assert messages.publications == arrays.publications
    assert messages.nbytes == arrays.nbytes
    assert messages.matched == arrays.matched
    if len(case.posts.used) == 1:
        assert messages.delivered == arrays.delivered


def seen(case: Case, feed: Feed) -> list[list[Event]]:
    """By source, the events of a feed that some chunk has."""
    kept = feed.in_step(case.posts)
    return [
        [kept.event(post, case.posts) for post in kept.matched.tolist() if case.posts.sources[post] == source]
        for source in case.posts.used
    ]


@given(case=cases(most=9, widest=3, sources=2), way=WAYS, cover=st.booleans(), together=st.integers(1, 3))
@settings(max_examples=200, deadline=None)
def test_whatever_the_delays_what_is_delivered_is_explained(case: Case, way: Way, cover: bool, together: int) -> None:
    setting = case.setting(way, cover=cover, together=together)
    run = simulated(case.chain, case.posts, case.feeds, setting, case.links)
    for feed, delivered in zip(case.feeds, run.delivered, strict=True):
        events = [feed.event(post, case.posts) for post in delivered]
        assert is_explained(seen(case, feed), events, feed.windows)


@given(case=cases(sources=1), way=WAYS, together=st.integers(1, 3))
@settings(max_examples=100, deadline=None)
def test_with_one_source_all_ways_deliver_what_windows_over_all_posts_do(case: Case, way: Way, together: int) -> None:
    run = simulated(case.chain, case.posts, case.feeds, case.setting(way, together=together), case.links)
    for feed, delivered in zip(case.feeds, run.delivered, strict=True):
        assert {feed.event(post, case.posts) for post in delivered} == set(feed.windows.delivered(seen(case, feed)[0]))


def falling(n: int, windows: Windows, edges: list[int]) -> tuple[Posts, list[Feed]]:
    """The paper's deterministic scores: each post is worse than the one before; everybody matches all."""
    posts = Posts(np.arange(n, dtype=np.float64) * 4, np.full(n, 4))
    scores = -np.arange(n, dtype=np.float64)
    return posts, [Feed(edge, windows, np.arange(n), scores) for edge in edges]


def ran(way: Way, feeds: int = 1, rate: float = float("inf")) -> tuple[Run, Posts]:
    posts, read = falling(200, Windows(1, 20, 20), [23] * feeds)
    return simulated(Chain(4), posts, read, Setting(way), Links(lambda: 0.1, rate)), posts


@pytest.mark.parametrize("way", get_args(Way))
def test_a_winner_waits_for_its_window_alone_wherever_that_is_computed(way: Way) -> None:
    run, posts = ran(way)
    # The first of twenty posts waits for the other nineteen, and each of five hops takes a tenth of a second.
    assert run.latencies(0, posts) == pytest.approx([19 * 4.0 + 5 * 0.1] * 10)


def test_windows_across_chunks_wait_for_the_guard_of_the_second_not_for_its_end() -> None:
    posts, feeds = falling(400, Windows(1, 20, 1), [23])
    late = simulated(Chain(4), posts, feeds, Setting("B-CHUNK"), Links(lambda: 0.0)).latencies(0, posts)
    assert min(late) == 19 * 4.0
    # The second of the last twenty waits for the first of a guard, which is told when the guard is complete.
    assert max(late) == 19 * 4.0 + 19 * 4.0


def test_links_that_cannot_keep_up_delay_ever_more_what_is_sent_to_everyone_but_not_what_is_sent_once() -> None:
    # Of twenty feeds, 0.43 × 20 publications are due every four seconds: 2.15 a second.
    late, posts = ran("CHUNK", feeds=20, rate=1.0)
    once, _ = ran("B-CHUNK", feeds=20, rate=1.0)
    first, second = np.split(np.array(late.latencies(19, posts)), 2)
    assert (second > first + 100).all()
    first, second = np.split(np.array(once.latencies(19, posts)), 2)
    assert second == pytest.approx(first)


def test_a_chunk_that_is_not_read_waits_for_the_one_that_is() -> None:
    """Two sources that publish in turn: the second one's chunk is complete, but the first one's is read."""
    n = 40
    posts = Posts(np.arange(n, dtype=np.float64), np.where(np.arange(n) % 2, 5, 4))
    feed = Feed(23, Windows(1, 5, 5), np.arange(n), -np.arange(n, dtype=np.float64))
    run = simulated(Chain(4), posts, [feed], Setting("B-CHUNK", EveryCount(10)), Links(lambda: 0.0))
    # Of the first source, windows are known after nine seconds; of the second, when the first one's chunk is, after 18.
    assert run.delivered[0][0] == 8.0
    assert run.delivered[0][1] == 18.0
    assert run.delivered[0][10] == 18.0


def test_rechunking_spares_the_guards_between_chunks_beyond_the_first_core() -> None:
    posts, feeds = falling(400, Windows(1, 20, 20), [23])
    plain = counted(Chain(4), posts, feeds, Setting("B-CHUNK"))
    joined = counted(Chain(4), posts, feeds, Setting("B-CHUNK", together=4))
    assert plain.publications[4, 0] == joined.publications[4, 0] == 4 * 43
    assert plain.publications[3, 23] == 4 * 43
    # One chunk of twenty windows: two of guards, and eighteen winners.
    assert joined.publications[3, 23] == 2 * 20 + 18


def test_covering_sends_one_stream_for_all_that_are_alike() -> None:
    posts, feeds = falling(200, Windows(1, 20, 20), [9, 9, 23, 23])
    plain = counted(Chain(4), posts, feeds, Setting("CHUNK"))
    covered = counted(Chain(4), posts, feeds, Setting("CHUNK", cover=True))
    assert plain.publications[4, 0] == 4 * 86
    assert covered.publications[4, 0] == 86
    assert plain.delivered == covered.delivered == 4 * 10
