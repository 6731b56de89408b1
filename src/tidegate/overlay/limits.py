"""What a source could leave unsent at best, wherever its chunks end."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tidegate.csr import Int64
from tidegate.errors import ConfigError
from tidegate.overlay.feeds import Feed, Posts
from tidegate.overlay.needs import ranks_of, starts_of, winners


class Limits(NamedTuple):
    """Shares of the posts that any feed matches, and that need not be sent."""

    winners_alone: float
    """If no chunk ever ended, so that there were no guards."""
    any_borders: float
    """At most, with chunks of a mean length over all feeds, wherever they end."""
    long_stretches: float
    """What common stretches come near to as their period grows: chunks end in a share of the stream only."""


def limits(posts: Posts, feeds: Sequence[Feed], count: int) -> Limits:
    """Return the limits of chunks of `count` events in the mean, of one source and tumbling windows.

    Every chunk has a window or more of guards, so that at least as many windows are sent whole as there are chunks. A
    post can be spared only by all of its followers: each of them has an equal part of it, and the windows that are sent
    whole are those that lose least by it.
    """
    feeds = [feed.in_step(posts) for feed in feeds]
    if len(posts.used) > 1 or not all(feed.windows.is_tumbling for feed in feeds):
        raise ConfigError("limits are known for one source and tumbling windows alone")
    followers, needed = np.zeros((2, len(posts.times)), np.int64)
    ranks: dict[int, Int64] = {}
    for feed in feeds:
        if id(feed.scores) not in ranks:
            ranks[id(feed.scores)] = ranks_of(feed.scores, posts.times)
        rank = ranks[id(feed.scores)][feed.matched]
        followers[feed.matched] += 1
        needed[feed.matched] += winners(rank, feed.windows, starts_of(len(rank), feed.windows))
    shares = np.divide(needed == 0, followers, where=followers > 0, out=np.zeros(len(followers)))
    windows = [shares[feed.matched].reshape(-1, feed.windows.width).sum(axis=1) for feed in feeds]
    matches = sum(len(feed.matched) for feed in feeds)
    spared = np.sort(np.concatenate(windows))[-(-matches // count) :]
    matched = int((followers > 0).sum())
    alone = float(shares @ followers) / matched
    closed = 1 - max(feed.windows.shift for feed in feeds) / count
    return Limits(alone, float(spared.sum()) / matched, closed * alone)
