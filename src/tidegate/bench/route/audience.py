"""Subscriptions of the two kinds that the paper has, and short ones, as sets of a corpus's words."""

from dataclasses import dataclass
from typing import Final, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tidegate.bench.pipeline.corpus import Corpus as WordCorpus
from tidegate.bench.pipeline.searches import Searches
from tidegate.bench.plain_queries import plain_queries
from tidegate.bench.route.corpus import Corpus
from tidegate.csr import Csr, Int64, taken
from tidegate.index.asked import Asked
from tidegate.index.sets import distinct_sets
from tidegate.index.strings import strings
from tidegate.spark.columns import Columns
from tidegate.spark.topics import topics
from tidegate.spark.trials.batch import trial_session
from tidegate.workload.lengths import web_queries
from tidegate.workload.topical import topic_subscriptions

Marks = NDArray[np.bool_]

_CORES: Final = 2
_LONGEST: Final = 5


@dataclass(frozen=True)
class Audience:
    """Subscriptions in the order of their arrival; the first ones are an audience as well."""

    kind: str
    words: pa.LargeStringArray
    """Of the corpus."""
    sets: Csr
    """What there is to subscribe to, as numbers of the words."""
    drawn: Int64
    """By subscription: its set."""

    @classmethod
    def tweet_based(cls, corpus: Corpus, count: int, seed: int) -> Self:
        """Register random posts as subscriptions, some more than once if there are more subscriptions than posts."""
        posts = corpus.sample.posts
        with_words = np.flatnonzero(np.diff(posts.offsets))
        drawn = with_words[np.random.default_rng(seed).integers(len(with_words), size=count)]
        return cls("tweet-based", corpus.sample.words, posts, drawn)

    @classmethod
    def topic_based(cls, corpus: Corpus, subjects: list[list[str]], count: int, seed: int) -> Self:
        """Ask for one to five words of a topic."""
        sets, listed = topic_subscriptions(subjects, count, seed)
        # Topics are learned from posts of the corpus, which have all their words.
        numbers = pc.index_in(strings(listed), corpus.sample.words).to_numpy().astype(np.int32)
        return cls("topic-based", corpus.sample.words, Csr(sets.offsets, numbers[sets.values]), np.arange(count))

    @classmethod
    def short(cls, corpus: Corpus, count: int, per_post: float, seed: int) -> Self:
        """Ask for one to five words, as web queries do; a post matches `per_post` of all, or as near as may be."""
        lengths = web_queries()[: _LONGEST + 1]
        words = WordCorpus(corpus.texts, corpus.sample.words, corpus.sample.posts)
        searches = Searches.draw(words, count, per_post, lengths / lengths.sum(), seed)
        return cls("short", corpus.sample.words, searches.sets, np.arange(count))

    def __len__(self) -> int:
        """Return the number of subscriptions."""
        return len(self.drawn)

    def first(self, count: int) -> "Audience":
        """Return the audience that the first subscriptions are."""
        return Audience(self.kind, self.words, self.sets, self.drawn[:count])

    def subscribed(self) -> Marks:
        """By word: whether a subscription has it."""
        marks = np.zeros(len(self.words), np.bool_)
        marks[taken(self.sets, np.unique(self.drawn)).values] = True
        return marks

    def asked(self) -> Asked:
        """Return the subscriptions as a matcher takes them; the id of one is its number."""
        sets, set_of = distinct_sets(taken(self.sets, self.drawn), len(self.words))
        ids = strings(pa.array(np.arange(len(self))).cast(pa.string()))
        nobody = pa.repeat(pa.scalar("", pa.large_string()), len(self))
        return Asked(ids, nobody, set_of, list(plain_queries(sets.terms, self.words.to_pylist())))


def learned_topics(corpus: Corpus, count: int, posts: int, seed: int) -> list[list[str]]:
    """Return topics of the first posts, by Spark."""
    some = pa.table({"id": np.arange(min(posts, len(corpus.texts))), "text": corpus.texts.slice(0, posts)})
    with trial_session(_CORES) as spark:
        return topics(spark.createDataFrame(some), Columns(), count, _LONGEST, seed)
