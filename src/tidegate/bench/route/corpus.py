"""The posts of a run, in folds, with the table and the figure that the paper has of its own."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final, Self

import numpy as np
import pyarrow as pa

from tidegate.bench.report import Report, Row
from tidegate.bench.stored import stored_texts
from tidegate.csr import Int64, taken
from tidegate.errors import ConfigError
from tidegate.index.strings import strings
from tidegate.route.sample import Sample
from tidegate.route.word_graph import WordGraph
from tidegate.text.analyzer import Analyzer
from tidegate.workload.posts import posts as generated_posts

_PAPER: Final = {
    "posts": (979_442, 979_442),
    "words": (100_310, 198_887),
    "word occurrences": (3_874_826, 10_190_479),
    "word pairs": (5_507_437, 7_559_671),
}
"""Table 1: the data sets April-2013 and Sparse."""
_STEPS: Final = (1, 2, 5)


@dataclass(frozen=True)
class Lesson:
    """Posts to learn from; what several maps need of them is made once."""

    sample: Sample

    @cached_property
    def graph(self) -> WordGraph:
        """The words that are together."""
        return WordGraph.of(self.sample)

    def __len__(self) -> int:
        """Return the number of posts."""
        return len(self.sample)


@dataclass(frozen=True)
class Fold:
    """A part of the posts that maps are measured on, and the others, which they are learned from."""

    number: int
    learned: Sample
    seen: Sample
    rows: Int64
    """By post of `seen`: its row in the corpus."""
    word_of: Int64
    """By word of `seen`: its number in the corpus."""
    _lessons: dict[int, Lesson] = field(default_factory=dict, init=False)

    def lesson(self, most: int) -> Lesson:
        """Return the posts to learn from, or so many of them."""
        count = min(most, len(self.learned))
        if count not in self._lessons:
            whole = count == len(self.learned)
            self._lessons[count] = Lesson(self.learned if whole else self.learned.only(np.arange(count)))
        return self._lessons[count]


@dataclass(frozen=True)
class Corpus:
    """Posts in a random order: stored ones may be sorted by time or place."""

    texts: pa.LargeStringArray
    sample: Sample

    @classmethod
    def read(cls, path: Path | None, count: int, seed: int) -> Self:
        """Take up to `count` posts of a file, or generate as many."""
        texts = strings(generated_posts(count, seed)["text"]) if path is None else stored_texts(path)
        order = np.random.default_rng(seed).permutation(len(texts))[:count]
        if len(order) < 2:
            raise ConfigError(f"a corpus of {len(order)} posts cannot be learned from and measured on: give at least 2")
        chosen = texts.take(pa.array(order))
        return cls(chosen, Sample.of(pa.table({"text": chosen}), Analyzer()))

    def posts(self, rows: Int64) -> pa.Table:
        """Return some of the posts as matchers take them: with their texts, and numbers for ids."""
        return pa.table({"id": np.arange(len(rows)), "text": self.texts.take(pa.array(rows))})

    def folds(self, count: int) -> Iterator[Fold]:
        """Yield every fold of a cross-validation."""
        for number in range(count):
            yield self.fold(number, count)

    def fold(self, number: int, count: int) -> Fold:
        """Return one of `count` folds."""
        is_seen = np.arange(len(self.sample)) % count == number
        rows = np.flatnonzero(is_seen)
        seen, word_of = Sample.renumbered(taken(self.sample.posts, rows), self.sample.words)
        return Fold(number, self.sample.only(np.flatnonzero(~is_seen)), seen, rows, word_of)


def report_corpus(report: Report, corpus: Corpus) -> None:
    """Report Table 1 and Figure 4."""
    sample = corpus.sample
    ours = {
        "posts": len(sample),
        "words": len(sample.words),
        "word occurrences": len(sample.posts.values),
        "word pairs": len(WordGraph.of(sample).together) // 2,  # an edge has two directions
    }
    report.section(
        "Table 1: the corpus that maps are learned from",
        [
            {"number of": name, "ours": ours[name], "paper, April-2013": april, "paper, Sparse": sparse}
            for name, (april, sparse) in _PAPER.items()
        ],
        note=f"{ours['word occurrences'] / ours['posts']:.1f} words a post; the paper's have 4.0 and 10.4",
    )
    report.section("Figure 4: word frequencies", list(_by_rank(sample)))


def _by_rank(sample: Sample) -> Iterator[Row]:
    ranks = sorted({min(step * 10**power, len(sample.words)) for power in range(10) for step in _STEPS})
    for rank in ranks:
        posts = int(sample.frequency[rank - 1])
        yield {"rank": rank, "posts with the word": posts, "% of posts": 100 * posts / len(sample)}
