"""Topics by name, window by window: what is told live fits, and new topics get what is left."""

from collections.abc import Callable, Iterable

import numpy as np
import pyarrow as pa
import pytest

from tidegate.capacity.live_topics import LiveTopics
from tidegate.capacity.offloading import Goal, Rule
from tidegate.errors import ConfigError

Told = list[tuple[str, str, str]]


def by_turns() -> Callable[[], float]:
    """A clock by which every batch is a window of one second."""
    moments = iter(range(1_000_000))
    return lambda: float(next(moments))


def table(rows: Told) -> pa.Table:
    columns = zip(*rows, strict=True) if rows else ([], [], [])
    return pa.table([pa.array(column, pa.string()) for column in columns], ["topic", "subscriber", "id"])


def told(topic: str, followers: int, posts: Iterable[str]) -> Told:
    return [(topic, f"s{follower}", f"{topic}/{post}") for post in posts for follower in range(followers)]


def live(service: LiveTopics, rows: Told) -> set[str]:
    """The topics of a batch that are told live; none is in part."""
    is_live = service.batch(table(rows)).tolist()
    found = {topic: {mark for (name, _, _), mark in zip(rows, is_live, strict=True) if name == topic}
             for topic, _, _ in rows}  # fmt: skip
    assert all(len(marks) == 1 for marks in found.values())
    return {topic for topic, marks in found.items() if marks == {True}}


def test_what_fits_is_served_whole_though_fewer_topics_would_satisfy_everybody() -> None:
    service = LiveTopics(Rule(1, 29), 1.0, by_turns())
    rows = told("nasa", 10, "ab") + told("esa", 3, "abc")
    assert live(service, rows) == {"nasa", "esa"}
    assert live(service, rows) == {"nasa", "esa"}
    standing = service.standing
    assert (standing.windows, standing.served_topics, standing.offloaded_topics) == (1, 2, 0)
    assert (standing.subscribers, standing.satisfied, standing.live, standing.later) == (10, 10, 58, 0)


@pytest.mark.parametrize("goal", Goal)
def test_the_choice_goes_by_the_last_window_and_changes_with_it(goal: Goal) -> None:
    service = LiveTopics(Rule(2, 20, goal), 1.0, by_turns())
    # Nothing is known yet: what has least to tell comes first, and the other does not fit any more.
    assert live(service, told("nasa", 10, "ab") + told("esa", 3, "abc")) == {"esa"}
    assert live(service, told("nasa", 10, "cde") + told("esa", 3, "d")) == {"nasa"}
    assert (service.standing.satisfied, service.standing.subscribers) == (10, 10)
    assert live(service, told("nasa", 10, "f") + told("esa", 3, "e")) == {"esa"}
    assert (service.standing.came, service.standing.went) == (1, 1)
    assert (service.standing.live, service.standing.later) == (9 + 30 + 3, 20 + 3 + 10)


def test_topics_that_are_new_get_what_is_left_of_the_capacity() -> None:
    service = LiveTopics(Rule(2, 25), 10.0, by_turns())
    assert live(service, told("nasa", 10, "ab")) == {"nasa"}
    assert live(service, told("esa", 3, "a") + told("jaxa", 4, "a")) == {"esa"}
    # There is not enough room for another post of it, but a topic is not given up in a window that it was served in.
    assert live(service, told("esa", 3, "b") + told("isro", 4, "a")) == {"esa"}
    assert service.standing.windows == 0


def test_a_match_by_two_subscriptions_is_told_once() -> None:
    service = LiveTopics(Rule(2, 3), 10.0, by_turns())
    assert live(service, 2 * told("esa", 3, "a")) == {"esa"}
    assert service.standing.live == 3


def test_a_topic_costs_what_was_told_of_it() -> None:
    # Not everybody who follows it gets every post.
    rows = [("esa", "s0", str(post)) for post in range(8)] + [("esa", "s1", "0")]
    for capacity, expected in ((8, set()), (9, {"esa"})):
        service = LiveTopics(Rule(2, capacity), 1.0, by_turns())
        live(service, rows)
        assert live(service, rows) == expected


def test_windows_pass_by_the_clock_however_batches_are_cut() -> None:
    random, moments = np.random.default_rng(4), [0.0, 1.0, 2.0, 9.9, 10.0, 15.0, 47.0, 48.0]
    service = LiveTopics(Rule(2, 10), 10.0, iter(moments).__next__)
    passed = []
    for _ in moments:
        rows = [(f"t{random.integers(9)}", f"s{random.integers(5)}", str(i)) for i in range(random.integers(30))]
        service.batch(table(rows))
        passed.append(service.standing.windows)
    assert passed == [0, 0, 0, 0, 1, 1, 2, 2]


def test_many_small_batches_come_to_what_one_large_one_does() -> None:
    random = np.random.default_rng(5)
    rows = [(f"t{random.integers(20)}", f"s{random.integers(9)}", str(i)) for i in range(600)]
    found = []
    for size in (1, 600):
        now = [0.0]
        service = LiveTopics(Rule(5, 200), 1.0, lambda now=now: now[0])  # type: ignore[misc]
        for begin in range(0, len(rows), size):
            service.batch(table(rows[begin : begin + size]))
        now[0] = 1.0
        found.append((live(service, rows), service.standing.satisfied))
    assert found[0] == found[1]
    assert found[0][0]


def test_a_window_without_anything_is_followed_by_an_open_mind() -> None:
    service = LiveTopics(Rule(2, 10), 1.0, by_turns())
    assert live(service, told("nasa", 20, "a")) == set()
    assert live(service, []) == set()
    assert live(service, told("nasa", 9, "a")) == {"nasa"}


def test_what_is_no_window_and_no_capacity_is_refused() -> None:
    with pytest.raises(ConfigError, match="a window of 0 s"):
        LiveTopics(Rule(1, 1), 0, by_turns())
    with pytest.raises(ConfigError, match="a capacity of -1 notifications"):
        LiveTopics(Rule(1, -1), 1, by_turns())
