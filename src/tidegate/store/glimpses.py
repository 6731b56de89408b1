"""Glimpses: a few of the posts that jobs have seen lately, left beside the store for whoever wants to try a query.

A job looks at its stream now and then, and leaves what it saw, with how many posts that stands for. It is bounded in
posts and in age, and nothing depends on it: one that is lost or damaged is made anew.
"""

import io
import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tidegate.deliver.clock import DAY, SECOND
from tidegate.store.location import Location

POST: Final = pa.schema(
    [
        ("id", pa.string()),
        ("ts", pa.timestamp("us", "UTC")),
        ("author", pa.string()),
        ("text", pa.string()),
        ("lang", pa.string()),
        ("lat", pa.float64()),
        ("lon", pa.float64()),
    ]
)
"""What is kept of a post: the columns that queries look at, and its time."""

OLDEST: Final = DAY
"""What was seen longer ago is forgotten."""

# A stream is what it was in the last hour, if that had posts enough to tell.
_LATELY: Final = 3600 * SECOND
_ENOUGH: Final = 1000
_A_MINUTE: Final = 60 * SECOND
_FOLDER: Final = "glimpses"
_ABOUT: Final = b"tidegate"


@dataclass(frozen=True)
class Look:
    """Some of the posts that came since the look before, each of which was as likely to be here as any other."""

    at: int
    """When (microseconds)."""
    stands_for: int
    """How many came."""
    posts: pa.Table
    """Of `POST`, in an order that is drawn: any beginning of it is as fair."""


@dataclass(frozen=True)
class Glimpse:
    """What a job has seen lately: looks, the oldest first."""

    looks: tuple[Look, ...] = ()
    batch: int = -1
    """The last micro-batch that was looked at: in a replay it would count twice."""

    @property
    def stands_for(self) -> int:
        """How many posts came."""
        return sum(look.stands_for for look in self.looks)

    @property
    def per_day(self) -> float:
        """How many come in a day, if they go on like this.

        The first look may have found what had waited for days, and only says when the time begins. Where it is the only
        one, it says nothing about a day: it is taken to be what came in a minute.
        """
        if len(self.looks) < 2:
            return self.stands_for * DAY / _A_MINUTE
        return (self.stands_for - self.looks[0].stands_for) * DAY / (self.looks[-1].at - self.looks[0].at)

    @property
    def posts(self) -> pa.Table:
        """All posts, look by look."""
        return pa.concat_tables([POST.empty_table(), *(look.posts for look in self.looks)])

    @property
    def weights(self) -> NDArray[np.float64]:
        """For how many posts each of `posts` stands."""
        kept = self._kept
        return np.repeat([look.stands_for / n for look, n in zip(self.looks, kept, strict=True)], kept)

    @property
    def seen(self) -> NDArray[np.int64]:
        """When each of `posts` was seen (microseconds)."""
        return np.repeat(np.array([look.at for look in self.looks], np.int64), self._kept)

    def since(self, moment: int) -> "Glimpse":
        """What was seen since a moment."""
        return replace(self, looks=tuple(look for look in self.looks if look.at >= moment))

    def with_look(self, look: Look, batch: int, size: int) -> "Glimpse":
        """The same with one more look, in `size` posts at most; what is too old by then is forgotten.

        The hour before it is kept, and what is older until that hour is enough to tell what the stream is like. Where
        posts are too many, the looks that have most of them are cut down.
        """
        # Should the clock have been turned back, what was seen by then is of no time.
        looks = [each for each in self.since(look.at - OLDEST).looks if each.at < look.at] + [look]
        while len(looks) > size or (looks[0].at < look.at - _LATELY and _rows(looks[1:]) >= min(_ENOUGH, size)):
            looks.pop(0)
        kept = _fair([each.posts.num_rows for each in looks], size)
        cut = (replace(each, posts=each.posts.slice(0, n)) for each, n in zip(looks, kept, strict=True))
        return Glimpse(tuple(cut), batch)

    @property
    def _kept(self) -> list[int]:
        return [look.posts.num_rows for look in self.looks]


class Glimpses:
    """The glimpses of the jobs on one store, by run."""

    def __init__(self, location: Location) -> None:
        """Keep them below `location`."""
        self._location = location

    def write(self, run: str, glimpse: Glimpse) -> None:
        """Take the place of what the job left before."""
        about = {
            "batch": glimpse.batch,
            "looks": [(look.at, look.stands_for, look.posts.num_rows) for look in glimpse.looks],
        }
        posts = glimpse.posts.replace_schema_metadata({_ABOUT: json.dumps(about)})
        buffer = io.BytesIO()
        pq.write_table(posts, buffer, compression="zstd")
        self._location.write(_name(run), buffer.getvalue())

    def read(self, run: str) -> Glimpse | None:
        """What a job has left, if it can be read."""
        content = self._location.read(_name(run))
        try:
            return None if content is None else _glimpse(pq.read_table(pa.BufferReader(content)))
        except (pa.ArrowException, KeyError, ValueError, TypeError):
            return None

    def written(self) -> dict[str, float]:
        """By run: when it left something (seconds since 1970)."""
        prefix, suffix = _name("").split(".")
        listing = self._location.listing(_FOLDER)
        return {name.removeprefix(prefix).removesuffix(f".{suffix}"): at for name, at in listing}

    def tidy(self, before: float) -> None:
        """Remove what was left before a time (seconds since 1970)."""
        for run, at in self.written().items():
            if at < before:
                self._location.delete(_name(run))


def _name(run: str) -> str:
    return f"{_FOLDER}/{run}.parquet"


def _glimpse(posts: pa.Table) -> Glimpse:
    about = json.loads(posts.schema.metadata[_ABOUT])
    bare = posts.replace_schema_metadata().cast(POST)
    ends = np.cumsum([0, *(kept for _, _, kept in about["looks"])]).tolist()
    parts = (bare.slice(begin, end - begin) for begin, end in pairwise(ends))
    looks = (Look(at, stands_for, part) for (at, stands_for, _), part in zip(about["looks"], parts, strict=True))
    return Glimpse(tuple(looks), about["batch"])


def _rows(looks: Iterable[Look]) -> int:
    return sum(look.posts.num_rows for look in looks)


def _fair(rows: list[int], size: int) -> list[int]:
    """How many rows each keeps if all together are to be `size` at most: the greatest number that is one for all."""
    if sum(rows) <= size:
        return rows
    least, most = 1, max(rows)
    while least < most:
        middle = (least + most + 1) // 2
        least, most = (middle, most) if sum(min(n, middle) for n in rows) <= size else (least, middle - 1)
    return [min(n, least) for n in rows]
