"""Standing queries over social streams: match every post against millions of subscriptions.

>>> import pyarrow as pa
>>> matcher = Matcher()
>>> _ = matcher.subscribe("ana", "storm (coast OR harbour)")
>>> matcher.match(pa.table({"text": ["Storms at the harbour", "A quiet coast"]})).pairs()
[(0, 'ana')]
"""

from tidegate.errors import ConfigError, QueryError, StoreError, TidegateError
from tidegate.index.matcher import Matcher
from tidegate.text.analyzer import Analyzer

__all__ = ["Analyzer", "ConfigError", "Matcher", "QueryError", "StoreError", "TidegateError"]
