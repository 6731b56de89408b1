"""The fields of a subscription, read from what files hold: numbers and texts, lists, JSON inside of CSV, times."""

import json
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from typing import Any

from tidegate.errors import ConfigError
from tidegate.store.schema import in_utc, new_id, region_text

REQUIRED = ("subscriber", "query")
"""What every subscription must have."""


def row_of(record: dict[str, Any]) -> dict[str, Any]:
    """Return a record as a row, or raise `ConfigError`; what its query means is not looked at."""
    unknown = record.keys() - _VALUES.keys()
    if unknown:
        raise ConfigError(f"{min(unknown)!r} is no field of a subscription: these are {', '.join(_VALUES)}")
    row = {name: read(name, value) for name, read in _VALUES.items() if (value := record.get(name)) not in (None, "")}
    for name in REQUIRED:
        if not row.get(name, "").strip():
            raise ConfigError(f"{name} is missing: every subscription needs one")
    if "id" not in row:
        row["id"] = new_id()
    row.setdefault("tags", [])
    return row


def _text(name: str, value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)  # ids are often numbers
    if isinstance(value, str) and (value.isascii() or _is_unicode(value)):
        return value
    raise ConfigError(f"{name} is {value!r:.80}: give a text in UTF-8")


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _region(name: str, value: Any) -> str | None:
    if not isinstance(value, list):
        return _text(name, value)
    if all(isinstance(number, int | float) for number in value):
        return region_text(value)
    raise ConfigError(f"{name} is {value!r:.80}: give west, south, east and north in degrees")


def _ranking(name: str, value: Any) -> str:
    if isinstance(value, dict):
        return json.dumps(value, sort_keys=True)
    with suppress(ValueError, RecursionError):
        if isinstance(json.loads(_text(name, value)), dict):
            return str(value)
    raise ConfigError(f"{name} is {value!r:.80}: give a JSON object")


def _tags(name: str, value: Any) -> list[str]:
    """Read a list, or a text as `joined_tags` writes it."""
    tags = value
    with suppress(ValueError, RecursionError):
        if isinstance(value, str):
            tags = json.loads(value) if value.startswith("[") else list(filter(None, map(str.strip, value.split(";"))))
    if isinstance(tags, list) and all(isinstance(tag, str) and _is_unicode(tag) for tag in tags):
        return tags
    raise ConfigError(f"{name} is {value!r:.80}: give a list of texts, or one text such as a;b")


def _instant(name: str, value: Any) -> datetime:
    moment = value
    with suppress(ValueError):
        moment = datetime.fromisoformat(value) if isinstance(value, str) else value
    if isinstance(moment, datetime) and moment.tzinfo is not None:
        return in_utc(name, moment)
    raise ConfigError(f"{name} is {value!s:.80}: give a time with its zone, as in 2026-01-31T18:00:00+00:00")


_VALUES: dict[str, Callable[[str, Any], Any]] = {
    "id": _text,
    "subscriber": _text,
    "query": _text,
    "region": _region,
    "ranking": _ranking,
    "tags": _tags,
    "created": _instant,
    "expires": _instant,
}
"""How the value of each column of a subscription is read from what a file may hold."""
