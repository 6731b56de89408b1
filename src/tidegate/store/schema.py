"""What a subscription is made of, as a row: the columns users give, and what the store adds to them."""

import json
import secrets
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from tidegate.errors import ConfigError, StoreError
from tidegate.query.region import Circle, Polygon, Rectangle, RegionError, rectangle

FORMAT = 1
"""Of the table and the files beside it; written into the table, and checked before anything is read."""

INSTANT = pa.timestamp("us", tz="UTC")

SUBSCRIPTION = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("subscriber", pa.string()),
        pa.field("query", pa.string()),
        pa.field("region", pa.string()),
        pa.field("ranking", pa.string()),
        pa.field("tags", pa.list_(pa.string())),
        pa.field("created", INSTANT),
        pa.field("expires", INSTANT),
    ]
)
"""A subscription as users see it."""

CHANGE = SUBSCRIPTION.append(pa.field("removed", pa.bool_(), nullable=False)).append(
    pa.field("version", pa.int64(), nullable=False)
)
"""A row of the table: a subscription as it is from `version` on, or that it is gone."""

Region = str | Rectangle | Circle | Polygon | Sequence[float] | None


def beyond_calendar(name: str, moment: str) -> ConfigError:
    """The error of a time that Python, and so whoever lists or exports subscriptions, could not show."""
    return ConfigError(f"{name} is {moment}: give a time of the years 1 to 9999, in UTC")


def new_id() -> str:
    """Return an id that nobody else has."""
    return secrets.token_hex(8)


def row(
    subscriber: str,
    query: str,
    *,
    subscription: str | None = None,
    region: Region = None,
    ranking: Mapping[str, Any] | None = None,
    tags: Iterable[str] = (),
    expires: datetime | None = None,
) -> dict[str, Any]:
    """Return a subscription as a row, its arguments checked apart from what only the query's parser can say."""
    for name, value in (("subscriber", subscriber), ("query", query)):
        if not isinstance(value, str) or not value.strip():
            raise ConfigError(f"{name} is {value!r}: give a text that is not empty")
    if subscription is not None and not subscription:
        raise ConfigError("id is empty: give one, or leave it out to have one made")
    if expires is not None and expires.tzinfo is None:
        raise ConfigError(
            f"expires is {expires.isoformat()} with no time zone: add one, as in {expires.isoformat()}+00:00"
        )
    return {
        "id": subscription or new_id(),
        "subscriber": subscriber,
        "query": query,
        "region": region_text(region),
        "ranking": None if ranking is None else json.dumps(ranking, sort_keys=True),
        "tags": list(tags),
        "created": datetime.now(UTC),
        "expires": None if expires is None else in_utc("expires", expires),
    }


def in_utc(name: str, moment: datetime) -> datetime:
    """Return a time with a zone as one in UTC, or raise `ConfigError` where the calendar ends in between."""
    try:
        return moment.astimezone(UTC)
    except OverflowError as error:
        raise beyond_calendar(name, moment.isoformat()) from error


def region_text(region: Region) -> str | None:
    """Return a region as the query language writes it; a text is taken as it is.

    >>> region_text((-10, 36, 4, 44))
    'in:(-10,36,4,44)'
    """
    if region is None or isinstance(region, str):
        return region or None
    if isinstance(region, Rectangle | Circle | Polygon):
        return str(region)
    try:
        west, south, east, north = map(float, region)
        return str(rectangle(west, south, east, north))
    except RegionError as error:
        raise ConfigError(f"region is {region!r:.80}: {error.problem} ({error.hint})") from error
    except (TypeError, ValueError, OverflowError) as error:
        raise ConfigError(f"region is {region!r:.80}: give west, south, east and north in degrees") from error


def whole_query(query: str, region: str | None) -> str:
    """Return what a post has to satisfy: the query, and to be inside the region where one is given apart.

    That holds for what `checking` accepts; other texts may close a parenthesis that they have not opened.

    >>> whole_query("storm OR flood", "in:(-10,36,4,44)")
    '(storm OR flood) in:(-10,36,4,44)'
    """
    return f"({query}) {region}" if region else query


def whole_queries(rows: pa.Table) -> pa.Array | pa.ChunkedArray:
    """Return the whole query of every row."""
    if rows.column("region").null_count == rows.num_rows:
        return rows.column("query")
    pairs = zip(rows.column("query").to_pylist(), rows.column("region").to_pylist(), strict=True)
    return pa.array([whole_query(query, region) for query, region in pairs], pa.string())


def conform(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return the rows with exactly the columns of `schema`; what is missing is null, what is more is refused."""
    unknown = set(rows.schema.names) - set(schema.names)
    if unknown:
        raise ConfigError(f"column {min(unknown)!r} is none of a subscription's: these are {', '.join(schema.names)}")
    columns = []
    for wanted in schema:
        if wanted.name not in rows.schema.names:
            columns.append(pa.nulls(rows.num_rows, wanted.type))
            continue
        column = rows.column(wanted.name)
        try:
            columns.append(column if column.type == wanted.type else column.cast(wanted.type))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise StoreError(f"column {wanted.name!r} is of type {column.type}, not {wanted.type}: {error}") from error
    return pa.Table.from_arrays(columns, schema=schema)
