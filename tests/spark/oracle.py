"""What posts match, found without Spark, a store, plans or segments: what the pipeline is compared with."""

from collections.abc import Mapping

import pyarrow as pa

from tidegate.index.matcher import Matcher

Pair = tuple[str, str]
"""A post's id and a subscription's."""


class Oracle:
    """Subscriptions in memory, which follow changes; every call of `pairs` sees them as they are then."""

    def __init__(self, queries: Mapping[str, str]) -> None:
        self._matcher = Matcher()
        self._asked: dict[str, str] = {}
        self.change(queries)

    def change(self, queries: Mapping[str, str | None]) -> None:
        """Subscribe each id to its query, or remove it where that is None."""
        for subscription in queries.keys() & self._asked.keys():
            self._matcher.unsubscribe(subscription)
            del self._asked[subscription]
        added = {subscription: query for subscription, query in queries.items() if query is not None}
        assert not self._matcher.subscribe_many(list(added), list(added.values()))
        self._asked |= added

    def pairs(self, posts: pa.Table | pa.RecordBatch, **columns: str) -> list[Pair]:
        """All matches of the posts, sorted; their ids are in a column `id` unless `columns` says otherwise."""
        ids = posts.column(columns.pop("id", "id")).to_pylist()
        return sorted(
            (str(ids[row]), subscription) for row, subscription in self._matcher.match(posts, **columns).pairs()
        )


def pairs_of(queries: Mapping[str, str], posts: pa.Table | pa.RecordBatch, **columns: str) -> list[Pair]:
    """All matches of the posts with subscriptions by id, sorted."""
    return Oracle(queries).pairs(posts, **columns)
