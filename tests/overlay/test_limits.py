"""No rule for where chunks end does better than what is said to be allowed."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tidegate.errors import ConfigError
from tidegate.overlay.borders import Borders, CommonStretches, EveryCount
from tidegate.overlay.chain import Chain
from tidegate.overlay.feeds import Feed, Posts
from tidegate.overlay.limits import limits
from tidegate.overlay.setting import Setting
from tidegate.overlay.traffic import counted
from tidegate.rank.windows import Windows

RULES = st.builds(EveryCount, st.integers(1, 30)) | st.builds(CommonStretches, st.integers(1, 30), st.integers(1, 80))


def drawn(seed: int, width: int, feeds: int = 6, posts: int = 150) -> tuple[Posts, list[Feed]]:
    generator = np.random.default_rng(seed)
    published = Posts(np.arange(posts, dtype=np.float64), np.full(posts, 1))
    scores = generator.integers(0, 9, posts).astype(np.float64)
    rates = generator.random(feeds)
    return published, [
        Feed(2, Windows(1, width, width), np.flatnonzero(generator.random(posts) < rate), scores) for rate in rates
    ]


@given(seed=st.integers(0, 2**16), width=st.integers(1, 8), rule=RULES)
@settings(max_examples=150, deadline=None)
def test_no_rule_saves_more_than_its_mean_length_allows(seed: int, width: int, rule: Borders) -> None:
    posts, feeds = drawn(seed, width)
    edge, once = (counted(Chain(1), posts, feeds, Setting(way, rule)) for way in ("EDGE", "B-CHUNK"))
    assume(once.chunks)
    allowed = limits(posts, feeds, -(-once.matched // once.chunks))
    saved = 1 - once.sent_by([1]) / edge.sent_by([1])
    assert saved <= allowed.any_borders + 1e-9
    assert allowed.any_borders <= allowed.winners_alone + 1e-9


def test_without_an_end_all_but_winners_are_saved() -> None:
    posts, feeds = drawn(3, 5)
    edge, once = (counted(Chain(1), posts, feeds, Setting(way, EveryCount(10_000))) for way in ("EDGE", "B-CHUNK"))
    saved = 1 - once.sent_by([1]) / edge.sent_by([1])
    allowed = limits(posts, feeds, 10_000)
    # The first and the last window of each feed are guards.
    assert saved < allowed.winners_alone < saved + 0.3


def test_a_single_feed_may_give_up_the_share_of_its_windows_that_there_are_chunks() -> None:
    posts = Posts(np.arange(100.0), np.full(100, 1))
    feed = Feed(2, Windows(1, 10, 10), np.arange(100), -np.arange(100.0))
    allowed = limits(posts, [feed], 50)
    # Nine of ten win nothing; two of ten windows are sent whole.
    assert allowed == pytest.approx((0.9, 0.72, 0.72))


def test_limits_of_sliding_windows_are_not_known() -> None:
    posts = Posts(np.arange(10.0), np.full(10, 1))
    with pytest.raises(ConfigError, match="one source and tumbling windows alone"):
        limits(posts, [Feed(2, Windows(1, 5, 1), np.arange(10), np.zeros(10))], 5)
