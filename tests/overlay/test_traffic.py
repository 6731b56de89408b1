"""Posts on links of the whole chain, in the paper's settings."""

from dataclasses import replace
from typing import get_args

import numpy as np
import pytest

from tidegate.overlay.borders import EveryCount, EveryPeriod
from tidegate.overlay.chain import Chain
from tidegate.overlay.feeds import Feed, Posts
from tidegate.overlay.setting import Setting, Way
from tidegate.overlay.traffic import Traffic, counted
from tidegate.rank.windows import Windows

SOURCE = 4


def deterministic(n: int, setting: Setting) -> Traffic:
    posts = Posts(4 * np.arange(400.0), np.full(400, SOURCE))
    scores = -np.arange(400, dtype=np.float64)
    chain = Chain(4)
    feeds = [Feed(edge, Windows(1, 20, 20), np.arange(400), scores) for edge in chain.spread(n, [SOURCE])]
    return counted(chain, posts, feeds, setting)


@pytest.mark.parametrize("n", [50, 200])
def test_the_paper_setting_sends_43_percent_once_or_to_everyone(n: int) -> None:
    edge, chunk, once = (deterministic(n, Setting(way)) for way in ("EDGE", "CHUNK", "B-CHUNK"))
    assert edge.sent_by([SOURCE]) == 400
    assert once.sent_by([SOURCE]) == 0.43 * 400
    assert chunk.sent_by([SOURCE]) == 0.43 * n * 400
    assert once.sent_by(range(4)) / edge.sent_by(range(4)) == pytest.approx(0.43)
    assert edge.delivered == chunk.delivered == once.delivered == 0.05 * edge.matched


def test_guard_ids_are_told_to_every_feed_and_apart() -> None:
    assert deterministic(50, Setting("CHUNK")).told_by([SOURCE]) == 0
    told = {n: deterministic(n, Setting("B-CHUNK")).told_by([SOURCE]) for n in (50, 100)}
    assert told[100] == 2 * told[50]
    # In each of four chunks: forty ids of guards, and five winners told twice.
    assert told[50] == 50 * 4 * (2 * 16 + 40 * 8 + 5 * (8 + 1) + 5 * (16 + 8 + 1))


def test_chunks_are_sized_by_the_feed_else_by_its_source_else_by_the_setting() -> None:
    posts = Posts(np.arange(400.0), np.full(400, SOURCE))
    feed = Feed(23, Windows(1, 20, 20), np.arange(400), -np.arange(400.0))
    at_source = Setting("B-CHUNK", EveryCount(100), {SOURCE: EveryPeriod(200.0)})
    own = replace(feed, borders=EveryCount(400))
    for one, setting, chunks, spans in (
        (feed, Setting("B-CHUNK"), 4, 4 * 100**2),
        # The first to begin after 200 seconds is the twelfth window.
        (feed, at_source, 2, 220**2 + 180**2),
        (own, at_source, 1, 400**2),
    ):
        traffic = counted(Chain(4), posts, [one], setting)
        assert (traffic.chunks, traffic.spans) == (chunks, spans)
        assert traffic.sent_by([SOURCE]) == 20 + chunks * 38


def test_feeds_that_score_in_another_way_are_not_covered_by_each_other() -> None:
    posts = Posts(np.arange(400.0), np.full(400, SOURCE))
    feed = Feed(23, Windows(1, 20, 20), np.arange(400), -np.arange(400.0))
    feeds = [feed, replace(feed, scores=np.arange(400.0)), feed]
    assert counted(Chain(4), posts, feeds, Setting("CHUNK", cover=True)).chunks == 4 + 4


def test_feeds_whose_chunks_end_elsewhere_are_not_covered_by_each_other() -> None:
    posts = Posts(np.arange(400.0), np.full(400, SOURCE))
    feed = Feed(23, Windows(1, 20, 20), np.arange(400), -np.arange(400.0))
    feeds = [feed, replace(feed, borders=EveryCount(200)), feed]
    assert counted(Chain(4), posts, feeds, Setting("CHUNK", cover=True)).chunks == 4 + 2


def test_a_feed_without_posts_costs_nothing() -> None:
    posts = Posts(np.arange(10.0), np.full(10, SOURCE))
    feed = Feed(23, Windows(1, 20, 20), np.arange(10), np.zeros(10))
    for way in get_args(Way):
        traffic = counted(Chain(4), posts, [feed], Setting(way))
        assert traffic.sent_by(range(24)) == traffic.delivered == 0
