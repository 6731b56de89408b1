"""Matches on their way into the inbox: what is one notification becomes one row, with its reasons, in Arrow's kernels.

Nothing here is done row by row in Python, and nothing knows of a database.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.errors import ConfigError

REQUIRED: Final = ("subscriber", "subscription", "id", "post")
OPTIONAL: Final = ("at", "topic", "topic_type", "window", "rank", "offloaded")
_KEY: Final = ["subscriber", "post"]
# What JSON writes otherwise than it is; and the character that PostgreSQL has no place for.
_ESCAPED: Final = r'["\\\x00-\x1f]'
_NUL: Final = "\0"


@dataclass(frozen=True)
class Arriving:
    """What a batch brings, each thing once, in the order in which it came."""

    notifications: pa.Table
    """`subscriber`, `post`, `reasons`, `topic`, `topic_type`, `at`, `offloaded`."""
    posts: pa.Table
    """`id`, `body`."""
    history: pa.Table
    """`topic`, `post`, `topic_type`, `at`: of topics that were named."""

    @property
    def cursors(self) -> int:
        """How many cursors have to be set aside: a notification and an entry of a history may share one."""
        return max(len(self.notifications), len(self.history))


def arriving(rows: "pa.Table | Iterable[Mapping[str, Any]]", now: int) -> Arriving:
    """Arrange matches, one to a row, for the inbox; raise `ConfigError` for columns that are missing or empty.

    `id` and `post` are the id and the JSON of a post. `subscription` is the reason, with `window` and `rank` if a
    ranked feed is one. `at` is when the post was written (a time or microseconds; `now` where it is not known).
    `topic` and `topic_type` say what it is about: without a topic, the subscription. A topic that is named has a
    history, to which a row without a subscriber adds, and nothing else. `offloaded` are matches that are not to be told
    in real time; a notification is, unless all of its matches are such.
    """
    table = rows if isinstance(rows, pa.Table) else _table(rows)
    _check(table)
    columns = _columns(table, now)
    told = columns.filter(pc.is_valid(columns["subscriber"]))
    told = told.append_column("reason", _reasons(told))
    topics = columns.filter(columns["named"]).select(["topic", "post", "topic_type", "at"])
    return Arriving(
        notifications=_merged(told.drop_columns(["body"])),
        posts=_first(columns.select(["post", "body"]), ["post"]).rename_columns(["id", "body"]),
        history=_first(topics, ["topic", "post"]),
    )


def _table(rows: Iterable[Mapping[str, Any]]) -> pa.Table:
    listed = list(rows)
    names = [*REQUIRED, *(name for name in OPTIONAL if any(name in row for row in listed))]
    return pa.table({name: [row.get(name) for row in listed] for name in names})


def _check(table: pa.Table) -> None:
    for name in REQUIRED:
        if name not in table.column_names:
            raise ConfigError(f"notifications have no column {name!r}: they need {', '.join(REQUIRED)}")
    for name in ("id", "post"):
        if missing := table[name].null_count:
            raise ConfigError(f"{missing} of {table.num_rows} notifications have no {name}: give each one")


def _columns(table: pa.Table, now: int) -> pa.Table:
    """All columns, required or not, with one type each."""
    n = table.num_rows

    def text(name: str) -> pa.ChunkedArray:
        return _text(table[name]) if name in table.column_names else pa.chunked_array([pa.nulls(n, pa.large_string())])

    def number(name: str) -> pa.ChunkedArray:
        if name not in table.column_names:
            return pa.chunked_array([pa.nulls(n, pa.int64())])
        column = table[name]
        if pa.types.is_timestamp(column.type):
            column = column.cast(pa.timestamp("us", column.type.tz), safe=False)
        return column.cast(pa.int64())

    topic, subscription, subscriber = text("topic"), text("subscription"), text("subscriber")
    own = pc.coalesce(
        _concatenated("subscription:", subscription),
        _concatenated("subscriber:", subscriber),
        "",
    )
    rank = number("rank")
    usual = pc.if_else(pc.is_valid(rank), "ranked", "match")
    return pa.table(
        {
            "subscriber": subscriber,
            "post": text("id"),
            "body": text("post"),
            "subscription": subscription,
            "window": number("window"),
            "rank": rank,
            "topic": pc.coalesce(topic, own),
            "topic_type": pc.coalesce(text("topic_type"), usual),
            "at": pc.fill_null(number("at"), now),
            "offloaded": pc.fill_null(number("offloaded"), 0),
            "named": pc.is_valid(topic),
        }
    )


def _text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    # Posts of a large batch may come to more than short offsets can tell apart.
    texts = column.cast(pa.large_string())
    if pc.any(pc.match_substring(texts, _NUL)).as_py():
        return pc.replace_substring(texts, _NUL, "\ufffd")
    return texts


def _reasons(told: pa.Table) -> pa.ChunkedArray:
    """A JSON object for every row."""
    parts = ['{"subscription":', pc.fill_null(_quoted(told["subscription"]), "null")]
    for name in ("window", "rank"):
        if told[name].null_count < told.num_rows:
            written = _concatenated(f',"{name}":', told[name].cast(pa.large_string()))
            parts.append(pc.fill_null(written, ""))
    return _concatenated(*parts, "}")


def _concatenated(*parts: Any) -> pa.ChunkedArray:
    """Texts put together row by row, or the same text in all rows; null where one of them is."""
    texts = [pa.scalar(part, pa.large_string()) if isinstance(part, str) else part for part in (*parts, "")]
    return pc.binary_join_element_wise(*texts)


def _quoted(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Texts as JSON writes them."""
    plain = _concatenated('"', texts, '"')
    odd = pc.fill_null(pc.match_substring_regex(texts, _ESCAPED), False)
    if not pc.any(odd).as_py():
        return plain
    written = [json.dumps(text, ensure_ascii=False) for text in pc.filter(texts, odd).to_pylist()]
    return pc.replace_with_mask(plain.combine_chunks(), odd.combine_chunks(), pa.array(written, pa.large_string()))


def _merged(rows: pa.Table) -> pa.Table:
    """One row for each subscriber and post, with the list of its reasons; what else differs is the first one's."""
    firsts = _first(rows, _KEY)
    if len(firsts) == len(rows):
        reasons, offloaded = firsts["reason"], firsts["offloaded"]
    else:
        distinct = _numbered(_first(rows, [*_KEY, "reason"]))
        grouped = distinct.group_by(_KEY, use_threads=False).aggregate([("number", "min"), ("reason", "list")])
        reasons = pc.binary_join(grouped.sort_by("number_min")["reason_list"], pa.scalar(",", pa.large_string()))
        all_of_them = [("number", "min"), ("offloaded", "min")]
        least = _numbered(rows).group_by(_KEY, use_threads=False).aggregate(all_of_them)
        offloaded = least.sort_by("number_min")["offloaded_min"]
    merged = firsts.drop_columns("offloaded").append_column("offloaded", offloaded)
    merged = merged.append_column("reasons", _concatenated("[", reasons, "]"))
    # Neighbours in the indexes are written together; a subscriber's own stay in the order in which they came.
    order = pc.sort_indices(_numbered(merged), [("subscriber", "ascending"), ("number", "ascending")])
    return merged.select(["subscriber", "post", "reasons", "topic", "topic_type", "at", "offloaded"]).take(order)


def _first(rows: pa.Table, key: list[str]) -> pa.Table:
    """The first row of each key, in the order in which they came: groups are in none."""
    grouped = _numbered(rows.select(key)).group_by(key, use_threads=False).aggregate([("number", "min")])
    if len(grouped) == len(rows):
        return rows
    return rows.take(np.sort(grouped["number_min"].to_numpy()))


def _numbered(rows: pa.Table) -> pa.Table:
    return rows.append_column("number", pa.array(np.arange(len(rows))))
