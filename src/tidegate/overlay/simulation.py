"""The chain message by message, with delays: exact, for small cases, and for how late feeds are.

`traffic` counts the same with arrays.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from tidegate.overlay.brokers import Brokers, ChunkBrokers, EventBrokers
from tidegate.overlay.chain import Chain
from tidegate.overlay.feeds import Feed, Posts
from tidegate.overlay.network import Links, Network
from tidegate.overlay.setting import Setting
from tidegate.overlay.traffic import Traffic


@dataclass(frozen=True)
class Run:
    """What came of it."""

    traffic: Traffic
    """Without what is said of chunks."""
    delivered: list[dict[int, float]]
    """By feed, when which posts were delivered."""

    def latencies(self, feed: int, posts: Posts) -> list[float]:
        """Return the seconds from publication to delivery, of all posts that a feed was delivered."""
        return [when - float(posts.times[post]) for post, when in self.delivered[feed].items()]


def simulated(chain: Chain, posts: Posts, feeds: Sequence[Feed], setting: Setting, links: Links | None = None) -> Run:
    """Let all posts be published and all that follows from them arrive. Of a run's end, only what is in step counts."""
    feeds = [feed.in_step(posts) for feed in feeds]
    network = Network(links or Links())
    kind: type[Brokers] = EventBrokers if setting.way == "EDGE" else ChunkBrokers
    brokers = kind(chain, posts, feeds, setting, network)
    for post, (source, time) in enumerate(zip(posts.sources.tolist(), posts.times.tolist(), strict=True)):
        network.at(time, partial(brokers.publish, post, source))
    network.run()
    brokers.flush()
    network.run()
    traffic = Traffic(
        network.publications,
        network.nbytes,
        matched=sum(len(feed.matched) for feed in feeds),
        delivered=sum(map(len, brokers.delivered)),
    )
    return Run(traffic, brokers.delivered)
