"""Posts on every link of the chain, counted with arrays: for thousands of brokers, feeds and posts.

What a link carries is, for EDGE, what any feed behind it matches; for B-CHUNK, what any stream behind it needs; and for
CHUNK the sum of what they need. `simulation` counts the same, message by message.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from tidegate.csr import Int64
from tidegate.overlay.chain import Chain, Link
from tidegate.overlay.feeds import Feed, Posts, Stream, streams_of
from tidegate.overlay.needs import Flags, chunk_ends, needs_of, ranks_of, starts_of, winners
from tidegate.overlay.setting import Setting


@dataclass
class Traffic:
    """Of one run."""

    publications: Counter[Link] = field(default_factory=Counter)
    nbytes: Counter[Link] = field(default_factory=Counter)
    """Of ids, by which B-CHUNK tells chunks; not counted for the others."""
    matched: int = 0
    """Posts that feeds match, each for every feed."""
    delivered: int = 0
    """Posts that reach subscribers, each for every one of them."""
    chunks: int = 0
    """That sources send to streams."""
    longest: int = 0
    """Chunk of all."""
    spans: int = 0
    """Of all events that feeds match, the lengths of the chunks that they are in."""

    def sent_by(self, brokers: Collection[int]) -> int:
        """Return the publications that some brokers send on."""
        return sum(n for (sender, _), n in self.publications.items() if sender in brokers)

    def told_by(self, brokers: Collection[int]) -> int:
        """Return the bytes of ids that some brokers send on."""
        return sum(n for (sender, _), n in self.nbytes.items() if sender in brokers)


def counted(chain: Chain, posts: Posts, feeds: Sequence[Feed], setting: Setting) -> Traffic:
    """Return what is sent over the links of a chain. Of a run's end, only what is in step counts.

    Deliveries are those of windows within what each source sends: with several sources, exact for tumbling ones.
    """
    feeds = [feed.in_step(posts) for feed in feeds]
    ranks: dict[int, Int64] = {}
    for feed in feeds:
        if id(feed.scores) not in ranks:
            ranks[id(feed.scores)] = ranks_of(feed.scores, posts.times)
    traffic = Traffic(matched=sum(len(feed.matched) for feed in feeds))
    traffic.delivered = sum(
        int(winners(rank, feed.windows, starts_of(len(rank), feed.windows)).sum())
        for feed in feeds
        for rank in (ranks[id(feed.scores)][posts.of(source, feed.matched)] for source in posts.used)
    )
    streams = streams_of(feeds, cover=setting.cover)
    for source in posts.used:
        _Source(chain, posts, source, traffic).count(streams, ranks, setting)
    return traffic


class _Source:
    """Counts what the posts of one source cause."""

    def __init__(self, chain: Chain, posts: Posts, source: int, traffic: Traffic) -> None:
        self._chain, self._posts, self._source, self._traffic = chain, posts, source, traffic
        self._core = chain.core_of(source)
        n = int((posts.sources == source).sum())
        # By post: whether it is sent on by the source at all, and to which edge brokers.
        self._any = np.zeros(n, np.bool_)
        self._edges = np.zeros((len(chain.edges), n), np.bool_)

    def count(self, streams: Sequence[Stream], ranks: dict[int, Int64], setting: Setting) -> None:
        for stream in streams:
            own = self._posts.of(self._source, stream.model.matched)
            if not len(own):
                continue
            positions = self._posts.positions[own]
            if setting.way == "EDGE":
                self._note(stream, positions, positions)
                continue
            windows, shift = stream.model.windows, stream.model.windows.shift
            borders, times = setting.borders_of(self._source, stream.model), self._posts.times[own]
            ends = chunk_ends(positions, times, shift, borders)
            rank = ranks[id(stream.model.scores)][own]
            first = beyond = needs_of(rank, ends, windows)
            if setting.together > 1:
                ends = chunk_ends(positions, times, shift, borders, setting.together)
                beyond = needs_of(rank, ends, windows)
            self._traffic.chunks += first.chunks
            self._traffic.longest = max(self._traffic.longest, first.longest)
            self._traffic.spans += first.spans
            if setting.way == "CHUNK":
                self._add(self._traffic.publications, stream, int(first.sent.sum()), int(beyond.sent.sum()))
            else:
                self._add(self._traffic.nbytes, stream, first.nbytes, beyond.nbytes)
                self._note(stream, positions[first.sent], positions[beyond.sent])
        if setting.way != "CHUNK":
            self._add_up()

    def _add(self, counter: Counter[Link], stream: Stream, first: int, beyond: int) -> None:
        """Count what a stream alone causes on the links that lead to it."""
        for link in self._chain.links(self._source, stream.edges):
            counter[link] += first if link[0] == self._source else beyond

    def _note(self, stream: Stream, first: Int64, beyond: Int64) -> None:
        self._any[first] = True
        for edge in stream.edges:
            self._edges[edge - self._chain.cores, beyond] = True

    def _add_up(self) -> None:
        """Count posts on links that carry them once: those that anybody behind a link needs."""
        counter, cores = self._traffic.publications, self._chain.cores
        counter[self._source, self._core] += int(self._any.sum())
        for edge in self._chain.edges:
            counter[self._chain.core_of(edge), edge] += int(self._edges[edge - cores].sum())
        by_core = np.logical_or.reduce(self._edges.reshape(cores, self._chain.edges_each, -1), axis=1)
        for core, behind in self._behind(by_core[self._core + 1 :][::-1], range(cores - 1, self._core, -1)):
            counter[core - 1, core] += behind
        for core, behind in self._behind(by_core[: self._core], range(self._core)):
            counter[core + 1, core] += behind

    @staticmethod
    def _behind(by_core: Flags, cores: range) -> Iterator[tuple[int, int]]:
        """Yield with each core, from an end of the chain on, how many posts go to it or further."""
        for core, row in zip(cores, np.logical_or.accumulate(by_core, axis=0), strict=True):
            yield core, int(row.sum())
