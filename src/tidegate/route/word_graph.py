"""The graph of words that occur together, and the maps that METIS makes of it (S³-TM §3.2).

Words are vertices, and two that are in one post share an edge. The four maps differ in the weights only.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
import pymetis

from tidegate.csr import Csr, Int32, Int64, offsets_of
from tidegate.route.sample import Sample


@dataclass(frozen=True)
class WordGraph:
    """Edges in both directions, each with the number of posts that two words share.

    >>> from tidegate.csr import from_rows
    >>> from tidegate.index.strings import strings
    >>> graph = WordGraph.of(Sample.from_rows(from_rows([[0, 1], [0, 1, 2]]), strings(["kiel", "storm", "tide"])))
    >>> graph.neighbours.row(2), graph.together[graph.neighbours.offsets[0] :].tolist()
    (array([0, 1], dtype=int32), [2, 1, 2, 1, 1, 1])
    """

    frequency: Int64
    """By word: in how many posts it is."""
    neighbours: Csr
    """By word: those it occurs together with, rising."""
    together: Int64
    """By entry of `neighbours`: in how many posts."""

    @classmethod
    def of(cls, sample: Sample) -> Self:
        """Return the graph of a sample."""
        found = [np.unique(pairs, return_counts=True) for pairs in pairs_of(sample.posts)]
        pairs = np.concatenate([np.empty(0, np.int64), *(pairs for pairs, _ in found)])
        counts = np.concatenate([np.empty(0, np.int64), *(counts for _, counts in found)])
        return cls.of_pairs(pairs >> 32, pairs & 0xFFFFFFFF, counts, sample.frequency)

    @classmethod
    def of_pairs(cls, first: Int64, second: Int64, posts: Int64, frequency: Int64) -> Self:
        """Return the graph of counted pairs, each in one direction; what is there twice is added up."""
        source, target = np.concatenate([first, second]), np.concatenate([second, first])
        packed, edge_of = np.unique(source.astype(np.int64) << 32 | target, return_inverse=True)
        together = np.bincount(edge_of, np.concatenate([posts, posts]), len(packed)).astype(np.int64)
        offsets = offsets_of(np.bincount(packed >> 32, minlength=len(frequency)))
        return cls(frequency, Csr(offsets, (packed & 0xFFFFFFFF).astype(np.int32)), together)

    @property
    def company(self) -> Int64:
        """By word: the posts shared with all its neighbours, added up, f_n."""
        sums = np.zeros(len(self.together) + 1, np.int64)
        np.cumsum(self.together, out=sums[1:])
        return sums[self.neighbours.offsets[1:]] - sums[self.neighbours.offsets[:-1]]

    def unweighted(self, matchers: int) -> Int32:
        """Share out words so that few edges are cut: gC."""
        return self._partition(matchers, None, None)

    def by_company(self, matchers: int) -> Int32:
        """Share out words so that words which are often together stay so: gFC."""
        return self._partition(matchers, self.together, None)

    def by_frequency(self, matchers: int) -> Int32:
        """The same, with the frequencies of words balanced: gFCL."""
        return self._partition(matchers, self.together, self.frequency)

    def by_normal_frequency(self, matchers: int) -> Int32:
        """The same, with what company takes off a word's load: l = f² / (f + f_n), gNFCL."""
        squared = self.frequency.astype(np.float64) ** 2
        return self._partition(matchers, self.together, squared / np.maximum(self.frequency + self.company, 1))

    def _partition(self, matchers: int, edges: Int64 | None, vertices: "np.typing.ArrayLike | None") -> Int32:
        if matchers == 1 or len(self.frequency) <= matchers:
            return np.arange(len(self.frequency), dtype=np.int32) % matchers
        # METIS knows whole weights from 1 on, and ids of 32 bits.
        weights = None if vertices is None else np.maximum(np.rint(vertices), 1).astype(np.int32).tolist()
        _, owners = pymetis.part_graph(
            matchers,
            pymetis.CSRAdjacency(self.neighbours.offsets.astype(np.int32), self.neighbours.values),
            vweights=weights,
            eweights=None if edges is None else edges.astype(np.int32).tolist(),
            options=pymetis.Options(seed=0),
        )
        return np.array(owners, np.int32)


def pairs_of(rows: Csr, at_once: int = 1 << 22) -> Iterator[Int64]:
    """Yield all pairs of values that are in one row, as one number, the earlier value in its upper half.

    Rows are taken together until they have more pairs than `at_once`: long posts do not fill the memory.

    >>> from tidegate.csr import from_rows
    >>> [[divmod(pair, 1 << 32) for pair in pairs.tolist()] for pairs in pairs_of(from_rows([[1, 4, 7], [], [2, 5]]))]
    [[(1, 4), (4, 7), (2, 5), (1, 7)]]
    """
    lengths = np.diff(rows.offsets)
    ends = np.cumsum(lengths * (lengths - 1) // 2)
    begin = 0
    while begin < rows.rows:
        before = ends[begin - 1] if begin else 0
        end = max(begin + 1, int(np.searchsorted(ends, before + at_once, side="right")))
        yield _all_pairs(rows.slice(begin, end))
        begin = end


def _all_pairs(rows: Csr) -> Int64:
    values = rows.values.astype(np.int64)
    end_of = np.repeat(rows.offsets[1:], np.diff(rows.offsets))
    # Each value with its neighbour, then with the one after that, as long as any row reaches so far.
    left = np.arange(len(values))
    found = [np.empty(0, np.int64)]
    while len(left):
        gap = len(found)
        left = left[left + gap < end_of[left]]
        found.append(values[left] << 32 | values[left + gap])
    return np.concatenate(found)
