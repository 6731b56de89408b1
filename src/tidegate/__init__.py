"""Standing queries over social streams: match every post against millions of subscriptions."""

from tidegate.errors import ConfigError, QueryError, StoreError, TidegateError

__all__ = ["ConfigError", "QueryError", "StoreError", "TidegateError"]
__version__ = "0.1.0"
