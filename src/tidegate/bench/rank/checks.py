"""Answers are checked while they are counted: arrays against messages, and what is delivered against the criterion."""

from collections.abc import Sequence
from itertools import product
from random import Random
from typing import get_args

import numpy as np

from tidegate.errors import TidegateError
from tidegate.overlay.borders import Borders, CommonStretches, EveryCount, EveryPeriod
from tidegate.overlay.chain import Chain
from tidegate.overlay.feeds import Feed, Posts
from tidegate.overlay.network import Links
from tidegate.overlay.setting import Setting, Way
from tidegate.overlay.simulation import Run, simulated
from tidegate.overlay.traffic import counted
from tidegate.rank.event import Event
from tidegate.rank.reconstruction import is_explained
from tidegate.rank.windows import Windows


def check_links(chain: Chain, posts: Posts, feeds: Sequence[Feed], setting: Setting, run: Run | None = None) -> int:
    """Compare both counts on every link; return how many there are. `TidegateError` at one that differs."""
    messages = (run or simulated(chain, posts, feeds, setting)).traffic
    arrays = counted(chain, posts, feeds, setting)
    for what in ("publications", "nbytes"):
        ours, theirs = getattr(arrays, what), getattr(messages, what)
        for link in ours | theirs:
            if ours[link] != theirs[link]:
                raise TidegateError(
                    f"{setting.way}, link {link}: {ours[link]:,} {what} by arrays, {theirs[link]:,} by messages"
                )
    return len(arrays.publications)


def check_explained(posts: Posts, feeds: Sequence[Feed], run: Run, what: str) -> int:
    """Ask the criterion about every feed; return how many there are. `TidegateError` at one that is not explained."""
    for number, (feed, delivered) in enumerate(zip(feeds, run.delivered, strict=True)):
        kept = feed.in_step(posts)
        sources: list[list[Event]] = [
            [kept.event(post, posts) for post in kept.matched.tolist() if posts.sources[post] == source]
            for source in posts.used
        ]
        if not is_explained(sources, [feed.event(post, posts) for post in delivered], feed.windows):
            raise TidegateError(
                f"{what}: no legal order explains the {len(delivered)} posts delivered to feed {number}"
            )
    return len(feeds)


def checked_small_cases(seed: int, cases: int) -> tuple[int, int]:
    """Draw small chains with slow links, and check all ways; return the links and the feeds that were checked."""
    generator, random = np.random.default_rng([seed, 5]), Random(seed)
    links = feeds_checked = 0
    for _ in range(cases):
        chain, posts, feeds = _drawn(generator)
        slow = Links(delay=lambda: random.choice([0.0, 0.3, 2.5]))
        rules: tuple[Borders, ...] = (
            EveryCount(int(generator.integers(1, 6))),
            EveryPeriod(3.0),
            CommonStretches(4, 5),
        )
        for way, borders, cover, together in product(get_args(Way), rules, (False, True), (1, 2)):
            setting = Setting(way, borders, cover=cover, together=together)
            run = simulated(chain, posts, feeds, setting, slow)
            links += check_links(chain, posts, feeds, setting, run)
            feeds_checked += check_explained(posts, feeds, run, f"{way} with {borders}")
    return links, feeds_checked


def _drawn(generator: np.random.Generator) -> tuple[Chain, Posts, list[Feed]]:
    """Two sources, nine posts, and four feeds, two of which are alike but for their k: the criterion is exponential."""
    chain, n = Chain(3, 2), 9
    posts = Posts(np.arange(n, dtype=np.float64), generator.choice([3, 6], n))
    scores = generator.integers(0, 5, n).astype(np.float64)
    feeds = []
    for edge, k in ((4, 1), (5, 2), (7, 1)):
        matched = np.flatnonzero(generator.random(n) < 0.7)
        feeds.append(Feed(edge, Windows(k, 2, int(generator.integers(1, 3))), matched, scores))
    twin = feeds[1]
    return chain, posts, [*feeds, Feed(8, Windows(1, 2, twin.windows.shift), twin.matched, scores)]
