"""What a stream's history tells of its words, computed by Spark: counts of words and of pairs, and a sample of posts.

Nothing is collected that grows with the history, and nothing touches the JVM, so it runs under Spark Connect too.
Posts that cannot be matched, without an id or a text, do not count.
"""

from collections.abc import Callable, Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tidegate.csr import Csr, taken
from tidegate.errors import ConfigError
from tidegate.index.sets import ranked_items
from tidegate.index.strings import strings
from tidegate.route.sample import Points, Sample
from tidegate.route.word_graph import pairs_of
from tidegate.spark.columns import Columns
from tidegate.text.analyzer import Analyzer
from tidegate.text.profile import SOCIAL, Profile

_Batches = Iterator[pa.RecordBatch]

# A worker reads so many bytes of posts at once: a lexicon is learned for each block, and serves all of it.
_BLOCK = 1 << 24
_DRAW = "draw"
# The upper bits of a draw, by which posts are counted before any is taken.
_SHARE_BITS = 16
_PART = pa.schema(
    [
        (_DRAW, pa.int64()),
        ("words", pa.large_list(pa.dictionary(pa.int32(), pa.large_string()))),
        ("lat", pa.float64()),
        ("lon", pa.float64()),
    ]
)
"""A part of a sample on its way to the driver: a word is spelled out once, and is a number from then on."""


def word_counts(posts: DataFrame, columns: Columns, *, profile: Profile = SOCIAL) -> DataFrame:
    """Return rows `word`, `posts`: each word of the history, as `Sample.of` reads them, and in how many posts it is."""

    def count(batches: _Batches) -> _Batches:
        for _, read in _read(batches, profile):
            yield pa.record_batch({"word": read.words.cast(pa.string()), "posts": read.frequency})

    counted = _readable(posts, columns).drop("id").mapInArrow(count, "word string, posts long")
    return counted.groupBy("word").agg(F.sum("posts").alias("posts"))


def pair_counts(posts: DataFrame, columns: Columns, words: Iterable[str], *, profile: Profile = SOCIAL) -> DataFrame:
    """Return rows `first`, `second`, `posts`: in how many posts two of the `words` are together.

    Words are named by their place in `words`, which every task is given; `first` is less than `second`. Pairs that
    are never together have no row.
    """
    known = strings(words)

    def count(batches: _Batches) -> _Batches:
        for _, read in _read(batches, profile):
            numbers = pc.index_in(read.words, known).fill_null(-1).to_numpy()
            rows = ranked_items(Csr(read.posts.offsets, numbers[read.posts.values]), len(known))
            for pairs in pairs_of(rows):
                distinct, counts = np.unique(pairs, return_counts=True)
                first, second = (distinct >> 32).astype(np.int32), distinct.astype(np.int32)
                yield pa.record_batch({"first": first, "second": second, "posts": counts})

    counted = _readable(posts, columns).drop("id").mapInArrow(count, "first int, second int, posts long")
    return counted.groupBy("first", "second").agg(F.sum("posts").alias("posts"))


def sample_of(posts: DataFrame, columns: Columns, size: int, seed: int = 0, *, profile: Profile = SOCIAL) -> Sample:
    """Return at most `size` posts, every post as likely as any other; all of them, if there are no more.

    Posts are drawn by a hash of their ids, and are in its order: they are the same however the history is partitioned,
    and of one seed, a smaller sample is the beginning of a larger one. A sample falls short of `size` by about one in
    65,536 posts of the history at most. The history is read twice, the first time without its words.
    """
    if size < 1:
        raise ConfigError(f"a sample of {size} posts: at least 1 is needed")
    draw = F.xxhash64(F.col("id").cast("string"), F.lit(seed))
    drawn = _first(_readable(posts, columns).withColumn(_DRAW, draw).drop("id"), size)
    parts = drawn.mapInArrow(_packing(profile), "part binary").toArrow().column("part")
    tables = [pa.ipc.open_stream(part.as_buffer()).read_all() for part in parts]
    table = pa.concat_tables([_PART.empty_table(), *tables]).unify_dictionaries()
    rows = table.column("words").combine_chunks()
    order = np.argsort(table.column(_DRAW).to_numpy().view(np.uint64), kind="stable")
    words = rows.values
    points = Points(table.column("lat").to_numpy(), table.column("lon").to_numpy()).only(order)
    posts_drawn = taken(Csr(np.array(rows.offsets), np.array(words.indices)), order)
    return Sample.from_rows(posts_drawn, words.dictionary, points)


def _readable(posts: DataFrame, columns: Columns) -> DataFrame:
    """Posts that can be matched: their ids, and what is read of them, under the names that `read_posts` knows."""
    names = columns.of(posts.schema)
    called = {"id": names.id, **names.read}
    read = posts.select(*(F.col(f"`{name}`").alias(parameter) for parameter, name in called.items()))
    return read.where((F.col("id").cast("string") != "") & F.col("text").isNotNull())


def _read(batches: _Batches, profile: Profile) -> Iterator[tuple[pa.Table, Sample]]:
    """Read posts in a worker, block by block; a block is a sample with words and numbers of its own."""
    analyzer = Analyzer(profile)
    for block in _blocks(batches):
        yield block, Sample.of(block, analyzer)


def _blocks(batches: _Batches) -> Iterator[pa.Table]:
    block: list[pa.RecordBatch] = []
    for batch in batches:
        block.append(batch)
        if sum(part.nbytes for part in block) >= _BLOCK:
            yield pa.Table.from_batches(block)
            block = []
    if block:
        yield pa.Table.from_batches(block)


def _first(posts: DataFrame, size: int) -> DataFrame:
    """The posts with the least draws, as many shares of them as together are no more than `size`."""
    share = F.shiftrightunsigned(_DRAW, 64 - _SHARE_BITS)
    counted = posts.groupBy(share.alias("share")).count().toArrow()
    counts = np.zeros(1 << _SHARE_BITS, np.int64)
    counts[counted.column("share").to_numpy()] = counted.column("count").to_numpy()
    return posts.where(share < int(np.searchsorted(np.cumsum(counts), size, side="right")))


def _packing(profile: Profile) -> Callable[[_Batches], _Batches]:
    """Return the stage that reads posts into words and packs each block of them as one value."""

    def pack(batches: _Batches) -> _Batches:
        for block, read in _read(batches, profile):
            words = pa.DictionaryArray.from_arrays(pa.array(read.posts.values), read.words)
            rows = pa.LargeListArray.from_arrays(pa.array(read.posts.offsets), words)
            part = pa.BufferOutputStream()
            with pa.ipc.new_stream(part, _PART) as writer:
                writer.write_table(pa.table([block.column(_DRAW), rows, *map(pa.array, read.at)], schema=_PART))
            yield pa.record_batch({"part": [part.getvalue().to_pybytes()]})

    return pack
