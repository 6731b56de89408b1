"""Random small chains with feeds of every kind."""

from dataclasses import dataclass
from random import Random

import numpy as np
from hypothesis import strategies as st

from tests.rank.feeds import windows
from tidegate.overlay.borders import Borders, CommonStretches, EveryCount, EveryPeriod
from tidegate.overlay.chain import Chain
from tidegate.overlay.feeds import Feed, Posts
from tidegate.overlay.network import Links
from tidegate.overlay.setting import Setting, Way
from tidegate.rank.windows import Windows

BORDERS: st.SearchStrategy[Borders] = (
    st.builds(EveryCount, st.integers(1, 12))
    | st.builds(EveryPeriod, st.sampled_from([0.5, 2.0, 7.0, 12.0]))
    | st.builds(CommonStretches, st.integers(1, 12), st.integers(1, 15))
)


@dataclass(frozen=True)
class Case:
    """A chain, what is published and what is read on it, and how slow its links are."""

    chain: Chain
    posts: Posts
    feeds: list[Feed]
    borders: Borders
    at_source: dict[int, Borders]
    seed: int

    def setting(self, way: Way, *, cover: bool = False, together: int = 1) -> Setting:
        """Serve feeds in a way, with chunks sized for all, by source and by feed."""
        return Setting(way, self.borders, self.at_source, cover, together)

    @property
    def links(self) -> Links:
        """Links that take from no time to many posts' time."""
        random = Random(self.seed)
        return Links(delay=lambda: random.choice([0.0, 0.3, 2.5, 9.0]))


@st.composite
def cases(draw: st.DrawFn, most: int = 40, widest: int = 5, sources: int = 3) -> Case:
    """Up to three sources and six feeds, some of which are alike but for their k."""
    chain = Chain(draw(st.integers(1, 4)), draw(st.integers(2, 3)))
    edges = list(chain.edges)
    chosen = draw(st.lists(st.sampled_from(edges), min_size=1, max_size=min(sources, len(edges) - 1), unique=True))
    n = draw(st.integers(1, most))
    arising = draw(st.lists(st.sampled_from(chosen), min_size=n, max_size=n))
    posts = Posts(np.arange(n, dtype=np.float64), np.array(arising, np.int64))
    scores = draw(st.lists(scored(n), min_size=1, max_size=2))
    free = [edge for edge in edges if edge not in chosen]
    feeds: list[Feed] = []
    own = st.none() | BORDERS
    for _ in range(draw(st.integers(1, 6))):
        edge = draw(st.sampled_from(free))
        if draw(st.booleans()) and feeds:
            twin = draw(st.sampled_from(feeds))
            by = Windows(draw(st.integers(1, twin.windows.width)), twin.windows.width, twin.windows.shift)
            feeds.append(Feed(edge, by, twin.matched, twin.scores, draw(st.just(twin.borders) | own)))
        else:
            matched = np.array(sorted(draw(st.sets(st.integers(0, n - 1)) | st.just(set(range(n))))), np.int64)
            feeds.append(Feed(edge, draw(windows(widest)), matched, draw(st.sampled_from(scores)), draw(own)))
    at_source = draw(st.dictionaries(st.sampled_from(chosen), BORDERS, max_size=2))
    return Case(chain, posts, feeds, draw(BORDERS), at_source, draw(st.integers(0, 2**16)))


@st.composite
def scored(draw: st.DrawFn, n: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Scores of posts; they repeat often."""
    return np.array(draw(st.lists(st.integers(0, 5), min_size=n, max_size=n)), np.float64)
