"""Why a post satisfies a subscription, asked after the fact: a notification has the subscription's id alone."""

from typing import Any, NamedTuple

from tidegate.errors import QueryError
from tidegate.query.conjunction import Query
from tidegate.query.reason import Reason, explain
from tidegate.query.semantics import PostView
from tidegate.serve.catalogue import Catalogue
from tidegate.store.checking import checked_query
from tidegate.store.schema import whole_query
from tidegate.text.analyzer import Analyzer


class _Known(NamedTuple):
    """A subscription's text, and what it means; None for what is not there or cannot be read any more."""

    text: str | None = None
    query: Query | None = None


class ReasonReader:
    """Explains a subscriber's posts by its subscriptions, each of which is looked up once."""

    def __init__(self, subscriber: str, catalogue: Catalogue, analyzer: Analyzer) -> None:
        """Look up nothing yet."""
        self._subscriber, self._catalogue, self._analyzer = subscriber, catalogue, analyzer
        self._known: dict[str, _Known] = {}

    def of(self, subscription: str, post: dict[str, Any]) -> tuple[str | None, Reason | None]:
        """The text of a subscription with its region, if it is still there, and why a post satisfies it, if it does."""
        if subscription not in self._known:
            self._known[subscription] = self._look_up(subscription)
        text, query = self._known[subscription]
        return text, None if query is None else explain(query, _view(post), self._analyzer)

    def _look_up(self, subscription: str) -> _Known:
        found = self._catalogue.get(subscription)
        # Its id may have been given to somebody else's since.
        if found is None or found.subscriber != self._subscriber:
            return _Known()
        query, region = found.row["query"], found.row["region"]
        try:
            return _Known(whole_query(query, region), checked_query(query, region, self._analyzer))
        except QueryError:
            return _Known(whole_query(query, region))


def _view(post: dict[str, Any]) -> PostView:
    """A post as queries see it, by the usual names of its columns: a job may have been told others."""

    def column(name: str, *kinds: type) -> Any:
        value = post.get(name)
        return value if isinstance(value, kinds) else None

    lat, lon = column("lat", int, float), column("lon", int, float)
    return PostView(column("text", str) or "", column("author", str), column("lang", str), lat, lon)
