"""The posts that came last: what queries are tried on, and what estimates are made from. Bounded, and forgotten."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from threading import Lock

import pyarrow as pa

from tidegate.deliver.clock import SECOND, Clock, now
from tidegate.serve.post import COLUMNS, Post


@dataclass(frozen=True)
class Sample:
    """The recent posts at a moment, oldest first, and how fast they came."""

    posts: pa.Table
    per_day: float


class Recent:
    """A ring of posts. May be shared by threads."""

    def __init__(self, size: int, before: Iterable[tuple[int, Post]] = (), clock: Clock = now) -> None:
        """Remember the last `size` posts, at first of those that came `before`; `clock` says when one comes."""
        self._ring: deque[tuple[int, Post]] = deque(before, maxlen=size)
        self._clock = clock
        self._lock = Lock()
        self._table: pa.Table | None = None

    def add(self, posts: Iterable[Post]) -> None:
        """Remember posts that come now, the oldest first."""
        moment = self._clock()
        with self._lock:
            self._ring.extend((moment, post) for post in posts)
            self._table = None

    def last(self, limit: int) -> list[Post]:
        """The last posts, newest first."""
        with self._lock:
            return [post for _, post in list(self._ring)[: -limit - 1 : -1]]

    def sample(self) -> Sample:
        """All of them, as a table."""
        with self._lock:
            if self._table is None:
                self._table = pa.Table.from_pylist([post.columns() for _, post in self._ring], schema=COLUMNS)
            if not self._ring:
                return Sample(self._table, 0.0)
            # A burst of a moment says nothing about a day: it is taken to be what came in a minute.
            seconds = max(60.0, (self._clock() - self._ring[0][0]) / SECOND)
            return Sample(self._table, len(self._ring) * 86_400 / seconds)
