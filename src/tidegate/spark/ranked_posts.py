"""From posts to ranked feeds; and how rare the words of posts are, by which they may be ranked."""

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import DoubleType, StructField, StructType

from tidegate.csr import Int64
from tidegate.errors import ConfigError
from tidegate.rank.scores import rarities
from tidegate.spark.columns import Columns, Shape
from tidegate.spark.counts import observed
from tidegate.spark.pipeline import match_rows, merged
from tidegate.spark.ranked import RankSettings, ranked
from tidegate.store.store import Store
from tidegate.text.analyzer import Analyzer
from tidegate.text.lexicon import Lexicon
from tidegate.text.vocabulary import Vocabulary

_Batches = Iterator[pa.RecordBatch]


def ranked_feeds(
    posts: DataFrame,
    store: Store,
    settings: RankSettings = RankSettings(),  # noqa: B008
    *,
    text: str = "text",
    lang: str | None = None,
    lat: str | None = None,
    lon: str | None = None,
    carry: Sequence[str] | None = None,
) -> DataFrame:
    """Match a stream of posts, and return the best of every window of every subscription that is ranked.

    Columns and what cannot be matched are as `tidegate.match` has them; posts have a time besides. `carry` names the
    columns of posts that are kept, those that scores are computed from among them (default: all). The result is as
    `ranked` describes it, and the session needs the settings of `PROVIDER`.
    """
    columns = settings.columns
    author = columns.author if columns.author in posts.schema.names else None
    if carry is not None:
        carry = list(dict.fromkeys([*carry, columns.time, *([author] if author else [])]))
    names = Columns(columns.id, text, author, lang, lat, lon)
    plan = store.plans.newest()
    shape = Shape(ranked=True)
    rows = match_rows(posts, store, names, carry, shape=shape, plan=plan)
    return ranked(merged(observed(rows, columns.id, shape), shape), settings, apart=plan.partitions)


@dataclass(frozen=True)
class WordCounts:
    """How common words are: in how many of `n_posts` posts each is, as `word_counts` finds it."""

    words: Mapping[str, int]
    n_posts: int

    def __post_init__(self) -> None:
        """Refuse what cannot have been counted."""
        if not self.words or self.n_posts < max(self.words.values()):
            problem = f"{len(self.words)} words were counted in {self.n_posts} posts"
            raise ConfigError(f"{problem}: count a history with words first")


def with_rarity(posts: DataFrame, counts: WordCounts, *, text: str = "text", column: str = "rarity") -> DataFrame:
    """Return posts with a column that says how rare their words are, by which `rarity` scores them.

    Words that were not counted count for nothing.
    """
    # To Spark, names that differ in case are the same.
    if column.lower() in (name.lower() for name in posts.schema.names):
        raise ConfigError(f"posts have a column {column!r} already: rename it, or do without a history of words")
    known = _Known(uuid.uuid4().hex, counts)

    def rate(batches: _Batches) -> _Batches:
        lexicon, frequency = _lexicon(known)
        for batch in batches:
            terms = lexicon.scan(batch.column(text)).terms
            values = rarities(terms, frequency, counts.n_posts, frequency.sum() / counts.n_posts)
            yield batch.append_column(column, pa.array(values))

    schema = StructType([*posts.schema.fields, StructField(column, DoubleType())])
    return posts.mapInArrow(rate, schema)


@dataclass(frozen=True)
class _Known:
    """Counts by a name of theirs: a worker reads them once, whatever the number of tasks that bring them."""

    name: str
    counts: WordCounts = field(compare=False)


@lru_cache(maxsize=2)
def _lexicon(known: _Known) -> tuple[Lexicon, Int64]:
    """What reads the words, and in how many posts each is."""
    words = known.counts.words
    vocabulary = Vocabulary.by_frequency(words)
    return Lexicon(Analyzer(), vocabulary), np.array([words[word] for word in vocabulary], np.int64)
