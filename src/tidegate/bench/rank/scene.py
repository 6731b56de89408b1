"""The synthetic workload of section V-A: subscribers who match every post, and score it in one of three ways."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal, Self

import numpy as np

from tidegate.overlay.borders import Floats
from tidegate.overlay.chain import Chain
from tidegate.overlay.feeds import Feed, Posts
from tidegate.overlay.network import Links
from tidegate.overlay.setting import Setting
from tidegate.overlay.simulation import Run, simulated
from tidegate.overlay.traffic import Traffic, counted
from tidegate.rank.windows import Windows

Scoring = Literal["deterministic", "Zipfian", "uniform"]

OF_THE_PAPER: Final = Windows(1, 20, 20)
COUNT: Final = 100
"""Events of a chunk."""
BROKERS: Final = 24
AN_EDGE: Final = 50
"""Subscribers of an edge broker, of which the paper speaks whatever their number in all."""
SECONDS_A_POST: Final = 4.0
_SECONDS_A_SUBSCRIPTION: Final = 1.0
HOP: Final = 0.01
"""Seconds from a broker to the next: assumed, and small beside the wait for a window."""
_GLOBAL: Final = 100.0
_ZIPF: Final = 2.0


@dataclass(frozen=True)
class Scene:
    """A chain, what is published on it, and who reads it."""

    chain: Chain
    posts: Posts
    feeds: list[Feed]

    @classmethod
    def draw(
        cls,
        subscribers: int,
        posts: int,
        seed: int,
        *,
        windows: Windows = OF_THE_PAPER,
        scoring: Scoring = "deterministic",
        mixed: bool = False,
        sources: int = 1,
        each: int | None = None,
    ) -> Self:
        """Publish at so many sources in turn, the first at the chain's end, others spread over it.

        If `mixed`, subscribers join one a second, while posts are published; if not, before (2-phase). Subscribers
        are spread over all edge brokers, or fill one after the other, `each` with so many.
        """
        chain = Chain.of(BROKERS)
        times = SECONDS_A_POST * np.arange(posts, dtype=np.float64)
        at = [chain.edges[number * len(chain.edges) // sources] for number in range(sources)]
        published = Posts(times, np.array(at)[np.arange(posts) % sources])
        score = scores_of(scoring, posts, seed)
        feeds = []
        for number, edge in enumerate(chain.spread(subscribers, at, each)):
            since = int(np.searchsorted(times, number * _SECONDS_A_SUBSCRIPTION)) if mixed else 0
            feeds.append(Feed(edge, windows, np.arange(since, posts), score()))
        return cls(chain, published, feeds)

    def counted(self, setting: Setting) -> Traffic:
        """Count with arrays."""
        return counted(self.chain, self.posts, self.feeds, setting)

    def simulated(self, setting: Setting, rate: float = np.inf) -> Run:
        """Simulate message by message; links carry so many publications a second."""
        return simulated(self.chain, self.posts, self.feeds, setting, Links(lambda: HOP, rate))

    @property
    def cores(self) -> range:
        """The core brokers."""
        return range(self.chain.cores)

    @property
    def sources(self) -> list[int]:
        """The source brokers."""
        return self.posts.used


def scores_of(scoring: Scoring, posts: int, seed: int) -> Callable[[], Floats]:
    """Return what gives one subscriber after the other the scores of all posts.

    Zipfian scores are a global one, up to 100, and what each subscriber adds, by a Zipf law of exponent 2: the paper
    tells neither.
    """
    generator = np.random.default_rng([seed, posts])
    if scoring == "deterministic":
        falling = -np.arange(posts, dtype=np.float64)
        return lambda: falling
    if scoring == "uniform":
        return lambda: generator.random(posts)
    everyones = _GLOBAL * generator.random(posts)
    return lambda: everyones + generator.zipf(_ZIPF, posts)
