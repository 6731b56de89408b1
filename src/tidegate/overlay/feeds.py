"""Posts and the feeds that rank them, as arrays; and the streams of chunks that serve feeds."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from tidegate.csr import Int64
from tidegate.overlay.borders import Borders, Floats
from tidegate.rank.event import Event
from tidegate.rank.windows import Windows


@dataclass(frozen=True)
class Posts:
    """By number, in the order in which they are published."""

    times: Floats
    """Rising."""
    sources: Int64
    """The edge broker at which each arises."""

    @cached_property
    def positions(self) -> Int64:
        """By post, how many its source had published before."""
        positions = np.empty(len(self.sources), np.int64)
        for source in self.used:
            here = self.sources == source
            positions[here] = np.arange(here.sum())
        return positions

    @cached_property
    def used(self) -> list[int]:
        """The sources, each once."""
        return [int(source) for source in np.unique(self.sources)]

    def of(self, source: int, some: Int64) -> Int64:
        """Return those of some posts that arise at a source."""
        return some if self.used == [source] else some[self.sources[some] == source]


@dataclass(frozen=True)
class Feed:
    """What a subscriber reads, at an edge broker."""

    edge: int
    windows: Windows
    matched: Int64
    """Numbers of the posts that belong to it, rising: none from before it was subscribed to."""
    scores: Floats
    """By post, of all posts; feeds that score alike share the array."""
    borders: Borders | None = None
    """Where its chunks end, if it does not leave that to their source."""

    def event(self, post: int, posts: Posts) -> Event:
        """Return a post as the feed sees it."""
        return Event(name_of(post), float(self.scores[post]), float(posts.times[post]))

    def in_step(self, posts: Posts) -> "Feed":
        """Return the feed without what, of each source, is left over at the end of a run and in no chunk yet."""
        by_source = [posts.of(source, self.matched) for source in posts.used]
        kept = [own[: len(own) - len(own) % self.windows.shift] for own in by_source]
        if sum(map(len, kept)) == len(self.matched):
            return self
        return replace(self, matched=np.sort(np.concatenate(kept)))


@dataclass(frozen=True)
class Stream:
    """Chunks that serve a feed, or several that it covers: alike, but for how many they want."""

    feeds: tuple[int, ...]
    """Their numbers."""
    edges: frozenset[int]
    """Where they are read."""
    model: Feed
    """The one that wants most."""


def streams_of(feeds: Sequence[Feed], *, cover: bool) -> list[Stream]:
    """Return the streams that serve these feeds, each in one; without covering, every feed has its own."""
    groups: dict[Any, list[int]] = {}
    for number, feed in enumerate(feeds):
        groups.setdefault(_alike(feed) if cover else number, []).append(number)
    return [
        Stream(
            tuple(numbers),
            frozenset(feeds[number].edge for number in numbers),
            max((feeds[number] for number in numbers), key=lambda feed: feed.windows.k),
        )
        for numbers in groups.values()
    ]


def _alike(feed: Feed) -> tuple[Any, ...]:
    return feed.windows.width, feed.windows.shift, id(feed.scores), feed.matched.tobytes(), feed.borders


def name_of(post: int) -> str:
    """Return the id of a post; ids sort as their numbers do."""
    return f"{post:09}"
