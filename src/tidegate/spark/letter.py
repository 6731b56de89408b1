"""A dead letter from a row, whatever is in it: what Python cannot hold is told by its text."""

import json
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from tidegate.text.utf8 import mended


def letter(row: pa.RecordBatch, id: str, reason: str) -> dict[str, Any]:  # noqa: A002
    """Return the one row of a batch as a dead letter; `id` is the column with its id."""
    values = {name: _value(row.column(name)) for name in row.schema.names}
    return {
        "id": None if values[id] is None else str(values[id]),
        "reason": reason,
        "post": json.dumps(values, default=str, ensure_ascii=False),
        "received": datetime.now(UTC),
    }


def _value(one: pa.Array) -> Any:
    """A value as Python has it; what it cannot have, such as a date beyond its calendar, as the text of it."""
    try:
        return (mended(one) if pa.types.is_string(one.type) else one)[0].as_py()
    except (ValueError, OverflowError, pa.ArrowException):
        return str(one)
