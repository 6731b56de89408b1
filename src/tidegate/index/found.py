"""What a batch of posts matched, whoever matched it."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import pyarrow as pa

from tidegate.csr import Csr
from tidegate.query.reason import Reason
from tidegate.query.semantics import PostView
from tidegate.text.posts import Posts


class Subscriptions(Protocol):
    """What is asked of whoever holds the subscriptions."""

    def subscriptions_of(self, queries: Csr) -> Csr:
        """Replace the queries of every row by the subscriptions that ask for them."""
        ...

    def subscription_id(self, number: int) -> str:
        """The id of a subscription."""
        ...

    def query_of(self, subscription: str) -> int:
        """The number of the query a subscription asks for."""
        ...

    def why(self, query: int, post: PostView) -> Reason | None:
        """Say why the post satisfies the query; None if it does not."""
        ...


@dataclass(frozen=True)
class Found:
    """The matches of a batch: by query as they were found, by subscription when asked for."""

    matcher: Subscriptions
    posts: pa.Table | pa.RecordBatch
    columns: Mapping[str, str]
    """What the posts' columns are called where they have not their usual names."""
    read: Posts
    """The posts as they were read: with the counts of those that were cut, or lost a place."""
    queries: Csr
    """Row per post: the numbers of the distinct queries it satisfies."""
    visited: int
    """Index nodes touched."""
    candidates: int
    """Conjunctions the index proposed."""

    @cached_property
    def subscriptions(self) -> Csr:
        """Row per post: the numbers of the subscriptions it satisfies, as of the first time they are asked for."""
        return self.matcher.subscriptions_of(self.queries)

    def pairs(self) -> list[tuple[int, str]]:
        """Every match as (row of the post, id of the subscription)."""
        posts = np.repeat(np.arange(self.subscriptions.rows), np.diff(self.subscriptions.offsets))
        ids = map(self.matcher.subscription_id, self.subscriptions.values)
        return list(zip(posts.tolist(), ids, strict=True))

    def post(self, row: int) -> PostView:
        """One of the posts, as queries see it."""
        text, author, lang = (self._string(row, self.columns.get(name, name)) for name in ("text", "author", "lang"))
        lat, lon = float(self.read.lat[row]), float(self.read.lon[row])
        place = (None, None) if np.isnan(lat) else (lat, lon)
        return PostView(text or "", author, lang, *place)

    def _string(self, row: int, column: str) -> str | None:
        """A value as the text it was read as, whatever the column's type."""
        if column not in self.posts.schema.names:
            return None
        value: str | None = self.posts.column(column).slice(row, 1).cast(pa.large_string())[0].as_py()
        return value

    def why(self, row: int, subscription: str) -> Reason | None:
        """Say why a post satisfies a subscription, or None if it does not."""
        return self.matcher.why(self.matcher.query_of(subscription), self.post(row))
