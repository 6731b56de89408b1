"""What ranking needs beside matches: the rankings of their subscriptions, and how rare the words of posts are."""

import uuid
from collections.abc import Iterator, Mapping
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql.types import DoubleType, StringType, StructField, StructType

from tidegate.csr import Int64
from tidegate.errors import ConfigError
from tidegate.rank.scores import rarities
from tidegate.spark.columns import Columns, Shape
from tidegate.spark.worker import Task, store_at
from tidegate.store.location import Location
from tidegate.store.store import Store
from tidegate.text.analyzer import Analyzer
from tidegate.text.lexicon import Lexicon
from tidegate.text.vocabulary import Vocabulary

_Batches = Iterator[pa.RecordBatch]


def with_rankings(matches: DataFrame, store: Store) -> DataFrame:
    """Return matches with the `ranking` of their subscription, null where it is not ranked; order and partitions stay.

    A micro-batch of a stream sees the same subscriptions as `match` does in it.
    """
    newest = store.newest()
    plan = store.plans.at(newest.plan)
    version = None if matches.isStreaming else newest.store
    task = Task(store.location, store.table.identity, Columns(), (), Shape(), plan, version, "")

    def look_up(batches: _Batches) -> _Batches:
        for batch in batches:
            # Not before: it is up to the stage that matches to say what the micro-batch sees.
            known = _rankings(task.location, task.identity, task.store_version())
            row = pc.index_in(batch.column("subscription"), known.column("id"))
            yield batch.append_column("ranking", known.column("ranking").take(row).combine_chunks())

    return matches.mapInArrow(look_up, _with(matches.schema, StructField("ranking", StringType())))


@lru_cache(maxsize=2)
def _rankings(location: Location, identity: str, version: int) -> pa.Table:
    """The rankings of all subscriptions that have one."""
    rows = store_at(location, identity).table.living(version, ["id", "ranking"])
    ranked = rows.filter(pc.is_valid(rows.column("ranking"))).combine_chunks()
    return pa.table({name: ranked.column(name).cast(pa.string()) for name in ("id", "ranking")})


def with_rarity(
    posts: DataFrame, counts: Mapping[str, int], n_posts: int, *, text: str = "text", column: str = "rarity"
) -> DataFrame:
    """Return posts with a column that says how rare their words are, by which `rarity` scores them.

    `counts` says in how many of `n_posts` posts a word is, as `word_counts` finds them; words that are not there count
    for nothing.
    """
    if column in posts.schema.names:
        raise ConfigError(f"posts have a column {column!r} already: name another")
    if not counts or n_posts < max(counts.values()):
        raise ConfigError(f"{len(counts)} words were counted in {n_posts} posts: count a history with words first")
    known = _Counts(counts)

    def rate(batches: _Batches) -> _Batches:
        lexicon, frequency = _lexicon(known)
        for batch in batches:
            terms = lexicon.scan(batch.column(text)).terms
            values = rarities(terms, frequency, n_posts, frequency.sum() / n_posts)
            yield batch.append_column(column, pa.array(values))

    return posts.mapInArrow(rate, _with(posts.schema, StructField(column, DoubleType())))


class _Counts:
    """Counts of words, as a worker knows them: read once, whatever the number of tasks."""

    def __init__(self, counts: Mapping[str, int]) -> None:
        self._counts, self._name = dict(counts), uuid.uuid4().hex

    def __hash__(self) -> int:
        return hash(self._name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Counts) and self._name == other._name

    def lexicon(self) -> tuple[Lexicon, Int64]:
        """What reads the words, and in how many posts each is."""
        vocabulary = Vocabulary.by_frequency(self._counts)
        return Lexicon(Analyzer(), vocabulary), np.array([self._counts[word] for word in vocabulary], np.int64)


@lru_cache(maxsize=2)
def _lexicon(counts: _Counts) -> tuple[Lexicon, Int64]:
    return counts.lexicon()


def _with(schema: StructType, column: StructField) -> StructType:
    return StructType([*schema.fields, column])
