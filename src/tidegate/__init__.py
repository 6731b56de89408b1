"""Standing queries over social streams: match every post against millions of subscriptions.

>>> import pyarrow as pa
>>> from tidegate import Matcher
>>> matcher = Matcher()
>>> _ = matcher.subscribe("ana", "storm (coast OR harbour)")
>>> matcher.match(pa.table({"text": ["Storms at the harbour", "A quiet coast"]})).pairs()
[(0, 'ana')]
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tidegate.errors import ConfigError, QueryError, StoreError, TidegateError

if TYPE_CHECKING:
    from tidegate.index.matcher import Matcher
    from tidegate.text.analyzer import Analyzer

__all__ = ["Analyzer", "ConfigError", "Matcher", "QueryError", "StoreError", "TidegateError"]

# Imported when first asked for: they bring compilers along, and an error or a help text needs none.
_LAZY = {"Analyzer": "tidegate.text.analyzer", "Matcher": "tidegate.index.matcher"}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
