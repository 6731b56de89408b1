"""Standing queries over social streams: match every post against millions of subscriptions.

>>> import pyarrow as pa
>>> from tidegate import Matcher
>>> matcher = Matcher()
>>> _ = matcher.subscribe("ana", "storm (coast OR harbour)")
>>> matcher.match(pa.table({"text": ["Storms at the harbour", "A quiet coast"]})).pairs()
[(0, 'ana')]
"""

import os
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from tidegate.errors import ConfigError, QueryError, StoreError, TidegateError

if TYPE_CHECKING:
    from tidegate.index.matcher import Matcher
    from tidegate.spark.pipeline import match
    from tidegate.spark.ranked_posts import ranked_feeds
    from tidegate.store.store import Store
    from tidegate.text.analyzer import Analyzer

__all__ = [
    "Analyzer",
    "ConfigError",
    "Matcher",
    "QueryError",
    "StoreError",
    "TidegateError",
    "match",
    "open",
    "ranked_feeds",
]

# Imported when first asked for: they bring Spark and compilers along, and an error or a help text needs none.
_LAZY = {
    "Analyzer": "tidegate.text.analyzer",
    "Matcher": "tidegate.index.matcher",
    "match": "tidegate.spark.pipeline",
    "ranked_feeds": "tidegate.spark.ranked_posts",
}


def open(where: str | os.PathLike[str], options: Mapping[str, str] | None = None) -> "Store":  # noqa: A001
    """Open the store in a folder or at an address such as s3://bucket/prefix; make one where there is none.

    `options` are for the object store, as `deltalake` takes them; without them the environment counts.
    """
    from tidegate.store.store import Store  # noqa: PLC0415

    return Store.open(where, options)


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
