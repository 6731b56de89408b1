"""Matches as the inbox takes them: whose they are, by which subscription, and their post as JSON."""

from collections.abc import Sequence
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import TimestampType

from tidegate.errors import ConfigError

_USUAL_TIME: Final = "ts"
# What matching and ranking add to the columns of a post.
_WHOSE: Final = ("subscriber", "subscription")
_TOPIC: Final = ("topic", "topic_type")
_RANKED: Final = ("ranking", "window", "begins", "rank", "score", "reason")


def told(matches: DataFrame, key: Sequence[str], at: str | None, served_by: str | None = None) -> DataFrame:
    """Return a row for each match; the first column of `key` has a post's id, and `at` says when it was written.

    Without `at`, that is the column `ts`, if posts have such a column of timestamps, or else left open. Matches that
    are known by their rank as well keep it, and their window; posts that name a `topic` and its `topic_type` are told
    as about that. `served_by` names a column of posts that is kept as `served_by`, whatever else becomes of it.
    """
    for name in _WHOSE:
        if name not in matches.columns:
            raise ConfigError(f"an inbox needs matches with a {name}, one to a row: this job's have none")
    is_ranked = "rank" in key
    if is_ranked:
        # What could not be ranked is told to whoever looks after the job, not to subscribers.
        matches = matches.where(F.col("rank").isNotNull())
    added = (*_WHOSE, *_RANKED) if is_ranked else _WHOSE
    kept = (*_WHOSE, "window", "rank") if is_ranked else _WHOSE
    post = F.to_json(F.struct(*(name for name in matches.columns if name not in added)))
    topics = [F.col(name).cast("string") for name in _TOPIC if name in matches.columns]
    id_ = F.col(key[0]).cast("string").alias("id")
    apart = [] if served_by is None else [_named(matches, served_by).cast("string").alias("served_by")]
    return matches.select(*kept, *topics, id_, post.alias("post"), *_time(matches, at), *apart)


def _named(matches: DataFrame, name: str) -> Column:
    if name not in matches.columns:
        raise ConfigError(f"topics are offloaded by {name!r}, which matches do not carry: {', '.join(matches.columns)}")
    return F.col(name)


def _time(matches: DataFrame, at: str | None) -> list[Column]:
    name = at or _USUAL_TIME
    kind = matches.schema[name].dataType if name in matches.columns else None
    if kind == TimestampType():
        return [F.unix_micros(F.col(name)).alias("at")]
    if at is not None:
        found = "there is no such column" if kind is None else f"it is of type {kind.simpleString()}"
        raise ConfigError(f"at names {name!r}, and {found}: name a column of timestamps that matches carry")
    return []
