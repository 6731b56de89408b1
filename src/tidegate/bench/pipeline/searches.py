"""Subscriptions drawn from the words of posts, so that a post matches about as many of them as was asked for."""

from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.bench.pipeline.corpus import Corpus
from tidegate.csr import Csr
from tidegate.index.flat import Flat
from tidegate.index.sets import distinct_sets
from tidegate.workload.lengths import fixed, web_queries
from tidegate.workload.subscriptions import term_sets
from tidegate.workload.terms import Floats

# Subscribers use the words of posts in proportion to this power of how often posts do: the higher, the more they
# agree on what is common. 0 is any word alike; beyond 2 there would be few different subscriptions left.
_POWERS: Final = (0.0, 2.0)
_STEPS: Final = 8
_SAMPLED_SUBSCRIPTIONS: Final = 100_000
_SAMPLED_POSTS: Final = 5_000


@dataclass(frozen=True)
class Searches:
    """Conjunctions of words, as numbers of a corpus's words."""

    corpus: Corpus
    sets: Csr
    power: float
    """How much common words are preferred, see above."""

    @classmethod
    def draw(cls, corpus: Corpus, count: int, per_post: float, lengths: Floats, seed: int) -> "Searches":
        """Draw `count` conjunctions, of which a post matches `per_post` on average, or as near as the words allow."""
        few = min(count, _SAMPLED_SUBSCRIPTIONS)
        low, high = _POWERS
        for _ in range(_STEPS):
            power = (low + high) / 2
            share = _matches_per_post(corpus, term_sets(few, _law(corpus, power), lengths, seed)) / few
            low, high = (low, power) if share * count > per_post else (power, high)
        power = (low + high) / 2
        return cls(corpus, term_sets(count, _law(corpus, power), lengths, seed), power)

    def __len__(self) -> int:
        """Return the number of subscriptions."""
        return self.sets.rows

    def changes(self, first: int = 0, count: int | None = None) -> pa.Table:
        """Subscriptions `first` to `first + count` as rows for a store; ids are their numbers in text."""
        stop = len(self) if count is None else min(first + count, len(self))
        ids = _ids(first, stop)
        return pa.table(
            {"id": ids, "subscriber": ids, "query": pc.binary_join(self._lists(self.sets.slice(first, stop)), " ")}
        )

    def rules(self) -> pa.Table:
        """All subscriptions as a rival likes them: the words, the one that the fewest posts have first and apart."""
        rows = np.repeat(np.arange(len(self)), np.diff(self.sets.offsets))
        # Words are numbered by falling use.
        rarest_first = self.sets.values[np.lexsort((-self.sets.values, rows))]
        return pa.table(
            {
                "subscription": _ids(0, len(self)),
                "rarest": self.corpus.words.take(pa.array(rarest_first[self.sets.offsets[:-1]])),
                "words": self._lists(Csr(self.sets.offsets, rarest_first)),
            }
        )

    def _lists(self, sets: Csr) -> pa.ListArray:
        words = self.corpus.words.take(pa.array(sets.values))
        return pa.ListArray.from_arrays(pa.array(sets.offsets, pa.int32()), words)


def several_words() -> Floats:
    """The lengths of web queries of two to five words."""
    lengths = web_queries()[:6]
    lengths[:2] = 0.0
    law: Floats = lengths / lengths.sum()
    return law


def one_word() -> Floats:
    """Every subscription a single word."""
    return fixed(1)


def _law(corpus: Corpus, power: float) -> Floats:
    weights = corpus.uses.astype(np.float64) ** power
    law: Floats = weights / weights.sum()
    return law


def _matches_per_post(corpus: Corpus, sets: Csr) -> float:
    distinct, numbers = distinct_sets(sets, len(corpus.words))
    posts = corpus.terms.slice(0, min(_SAMPLED_POSTS, corpus.terms.rows))
    found = Flat.build(distinct).match(posts).sets
    return float(np.bincount(numbers, minlength=distinct.rows)[found.values].sum()) / posts.rows


def _ids(first: int, stop: int) -> pa.Array:
    return pa.array(np.arange(first, stop)).cast(pa.string())
