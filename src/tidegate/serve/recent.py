"""The posts that came last: what queries are tried on, and what estimates are made from. Bounded, and forgotten.

They are those that were handed in here, and those of which jobs leave a glimpse beside the store. A job that reads what
is handed in here has seen the same posts, and these are not counted twice.
"""

from collections import deque
from collections.abc import Iterable
from threading import Lock

import numpy as np
import pyarrow as pa

from tidegate.deliver.clock import SECOND, Clock, now
from tidegate.serve.post import COLUMNS, Post, found
from tidegate.serve.sample import Sample
from tidegate.serve.seen import Seen
from tidegate.store.glimpses import OLDEST


class Recent:
    """A ring of posts that were handed in, beside what jobs have seen. May be shared by threads."""

    def __init__(
        self,
        size: int,
        before: Iterable[tuple[int, Post]] = (),
        clock: Clock = now,
        seen: Seen | None = None,
    ) -> None:
        """Remember the last `size` posts, at first of those that came `before`; `clock` says when one comes.

        What jobs have `seen` is added to them.
        """
        self._ring: deque[tuple[int, Post]] = deque(before, maxlen=size)
        self._clock = clock
        self._lock = Lock()
        self._table: pa.Table | None = None
        self._seen = seen

    def add(self, posts: Iterable[Post]) -> None:
        """Remember posts that come now, the oldest first."""
        moment = self._clock()
        with self._lock:
            self._ring.extend((moment, post) for post in posts)
            self._table = None

    def last(self, limit: int) -> list[Post]:
        """The last posts, newest first."""
        sample = self.sample()
        with self._lock:
            whole = {post.id: post for _, post in self._ring if post.id is not None}
        rows = sample.posts.slice(max(0, sample.posts.num_rows - limit)).to_pylist()
        return [whole.get(row["id"]) or found(row) for row in reversed(rows)]

    def sample(self) -> Sample:
        """All that is known."""
        seen = [] if self._seen is None else self._seen.samples(self._clock() - OLDEST)
        return Sample.joined([self._handed_in(), *seen])

    def _handed_in(self) -> Sample:
        with self._lock:
            if self._table is None:
                self._table = pa.Table.from_pylist([post.columns() for _, post in self._ring], schema=COLUMNS)
            n = len(self._ring)
            came = np.fromiter((moment for moment, _ in self._ring), np.int64, n)
            # A burst of a moment says nothing about a day: it is taken to be what came in a minute.
            seconds = max(60.0, (self._clock() - came[0]) / SECOND) if n else 60.0
            return Sample(self._table, came, np.full(n, 86_400 / seconds), n)
