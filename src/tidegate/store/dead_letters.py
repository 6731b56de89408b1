"""Dead letters: posts and changes that were set aside, each with its reason. Parquet files, for any reader.

A file is named by where its rows came from, so what a replay sets aside again takes the place of what it did before.
"""

import io
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tidegate.store.location import Location
from tidegate.store.schema import INSTANT

LETTER = pa.schema([("id", pa.string()), ("reason", pa.string()), ("post", pa.string()), ("received", INSTANT)])
"""The id as far as there is one, what is wrong, the whole row as JSON, and when it came."""

_FOLDER = "dead-letters"


class DeadLetters:
    """The dead letters of one store."""

    def __init__(self, location: Location) -> None:
        """Keep them below `location`."""
        self._location = location

    def put(self, origin: str, letters: list[dict[str, Any]]) -> None:
        """Set letters aside, in place of what came from the same origin before; durable when this returns."""
        buffer = io.BytesIO()
        pq.write_table(pa.Table.from_pylist(letters, schema=LETTER), buffer)
        self._location.write(f"{_FOLDER}/{origin}.parquet", buffer.getvalue())

    def read(self) -> pa.Table:
        """All letters, oldest first; `origin` says where each came from."""
        parts = []
        for name in sorted(self._location.names(_FOLDER)):
            content = self._location.read(name)
            if content is not None:
                rows = pq.read_table(pa.BufferReader(content))
                origin = name.removeprefix(f"{_FOLDER}/").removesuffix(".parquet")
                parts.append(rows.append_column("origin", pa.repeat(pa.scalar(origin), rows.num_rows)))
        empty = LETTER.append(pa.field("origin", pa.string())).empty_table()
        return pa.concat_tables([empty, *parts]).sort_by([("received", "ascending"), ("origin", "ascending")])
