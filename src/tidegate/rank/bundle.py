"""Bundles: entries of many feeds and the posts they are of, as three Arrow tables that travel and rest as bytes.

A post is there once, however many feeds it is in. What a slice sends is a bundle, and so is what is held of feeds
between two micro-batches.
"""

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tidegate.csr import Int64
from tidegate.errors import PipelineError

NAME = [pa.field("subscriber", pa.string()), pa.field("subscription", pa.string()), pa.field("ranking", pa.string())]
"""What tells feeds apart. One that takes in all subscriptions of a subscriber names none."""

FEED = pa.schema(
    [
        *NAME,
        pa.field("length", pa.int64()),  # how many events it stands for
        pa.field("seen", pa.int64()),  # the time of the last of them, or when it came if that was later
        pa.field("period", pa.int64()),
        pa.field("used", pa.int64()),  # what was served of the bound, and in which period
    ]
)
ENTRY = pa.schema(
    [
        pa.field("feed", pa.int64()),
        pa.field("position", pa.int64()),  # in the feed: from the beginning of the slice, or of the feed
        pa.field("score", pa.float64()),
        pa.field("post", pa.int64()),
    ]
)

_OPTIONS = pa.ipc.IpcWriteOptions(compression="lz4")


class PostColumns(NamedTuple):
    """Where posts say which they are, when they were written, and by whom."""

    id: str = "id"
    time: str = "ts"
    author: str | None = "author"


class Entries(NamedTuple):
    """Posts in feeds, those of a feed in its order; one row of every array each."""

    feed: Int64
    position: Int64
    score: NDArray[np.float64]
    post: Int64

    def at(self, rows: Int64) -> "Entries":
        """Return some of them."""
        return Entries(self.feed[rows], self.position[rows], self.score[rows], self.post[rows])


class Bundle(NamedTuple):
    """`entries` name rows of `feeds` and of `posts`; those of a feed are in its order."""

    feeds: pa.Table
    entries: pa.Table
    posts: pa.Table

    def to_bytes(self) -> bytes:
        """Write the tables, one after the other."""
        sink = pa.BufferOutputStream()
        for table in self:
            with pa.ipc.new_stream(sink, table.schema, options=_OPTIONS) as writer:
                writer.write_table(table)
        return bytes(sink.getvalue())

    @classmethod
    def from_bytes(cls, data: bytes) -> "Bundle":
        """Read what `to_bytes` has written."""
        source = pa.BufferReader(data)
        try:
            return cls(*(pa.ipc.open_stream(source).read_all() for _ in range(3)))
        except (pa.ArrowInvalid, OSError) as error:
            raise PipelineError(f"what is held of ranked feeds cannot be read: {error}") from error

    def column(self, name: str) -> Int64:
        """Return a column of the entries as an array."""
        return np.asarray(self.entries.column(name).to_numpy())


def bundle(feeds: pa.Table, entries: Entries, posts: pa.Table) -> Bundle:
    """Return entries as a bundle, with those of the posts that they need and no others."""
    is_used = np.zeros(posts.num_rows, np.bool_)
    is_used[entries.post] = True
    numbers = np.cumsum(is_used) - 1
    columns = [pa.array(column) for column in entries._replace(post=numbers[entries.post])]
    used = pa.array(np.flatnonzero(is_used))
    return Bundle(feeds, pa.Table.from_arrays(columns, schema=ENTRY), posts.take(used))


def numbered(*columns: pa.Array | pa.ChunkedArray) -> tuple[Int64, Int64]:
    """Number the distinct rows of columns in the order in which they first appear.

    Return the number of every row, and the first row of every number; a null is a value like any other.
    """
    numbers = np.zeros(1, np.int64)
    for column in columns:
        flat = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        found = flat.dictionary_encode()
        codes = found.indices.fill_null(len(found.dictionary)).to_numpy().astype(np.int64)
        # The numbers of several columns are one number, and that is numbered anew, as it would grow beyond all bounds.
        joined = numbers * (len(found.dictionary) + 1) + codes
        numbers = pa.array(joined).dictionary_encode().indices.to_numpy().astype(np.int64)
    return numbers, first_rows(numbers)


def first_rows(numbers: Int64) -> Int64:
    """Return the first row of every number from 0 to the largest, all of which are there."""
    first = np.zeros(int(numbers.max(initial=-1)) + 1, np.int64)
    first[numbers[::-1]] = np.arange(len(numbers))[::-1]
    return first


def id_texts(posts: pa.Table, columns: PostColumns) -> pa.Array:
    """Return the ids of posts as texts, by which those are put in order that nothing else tells apart."""
    return posts.column(columns.id).cast(pa.string()).combine_chunks()


def id_ranks(ids: pa.Array) -> Int64:
    """Return the place of every id among all, from 1; the same for those that are the same."""
    return np.asarray(pc.rank(ids, sort_keys="ascending", tiebreaker="dense").to_numpy()).astype(np.int64)


def times(posts: pa.Table, columns: PostColumns) -> Int64:
    """Return the times of posts in microseconds; 0 where there is none."""
    column = posts.column(columns.time)
    zone = column.type.tz if pa.types.is_timestamp(column.type) else None
    whole = column.cast(pa.timestamp("us", tz=zone), safe=False).cast(pa.int64())
    return np.asarray(whole.fill_null(0).to_numpy())


def authors(posts: pa.Table, columns: PostColumns) -> Int64:
    """Return a number for the author of each post, -1 where it is not known."""
    if columns.author is None or columns.author not in posts.schema.names:
        return np.full(posts.num_rows, -1, np.int64)
    found = posts.column(columns.author).combine_chunks().dictionary_encode()
    return np.asarray(found.indices.fill_null(-1).to_numpy()).astype(np.int64)
