"""Dead letters: posts and changes that were set aside, each with its reason. Parquet files, for any reader.

A file is named by where its rows came from, so what a replay sets aside again takes the place of what it did before;
and by how many they are, so nobody has to open it to count them.
"""

import io
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from tidegate.store.location import Location
from tidegate.store.schema import INSTANT

LETTER = pa.schema([("id", pa.string()), ("reason", pa.string()), ("post", pa.string()), ("received", INSTANT)])
"""The id as far as there is one, what is wrong, the whole row as JSON, and when it came."""

_FOLDER = "dead-letters"
_NAME = re.compile(rf"{_FOLDER}/(?P<origin>.+)\.(?P<rows>\d+)\.parquet")


class _File(NamedTuple):
    name: str
    origin: str
    rows: int


class DeadLetters:
    """The dead letters of one store."""

    def __init__(self, location: Location) -> None:
        """Keep them below `location`."""
        self._location = location

    def put(self, origin: str, letters: list[dict[str, Any]]) -> None:
        """Set letters aside, in place of what came from the same origin before; durable when this returns."""
        buffer = io.BytesIO()
        pq.write_table(pa.Table.from_pylist(letters, schema=LETTER), buffer)
        self._location.write(f"{_FOLDER}/{origin}.{len(letters)}.parquet", buffer.getvalue())

    def clear(self, batch: str) -> None:
        """Remove what came from a batch, `RUN/NUMBER`, whatever its parts were."""
        run = batch.rpartition("/")[0]
        for name in list(self._location.names(f"{_FOLDER}/{run}")):
            if name.startswith(f"{_FOLDER}/{batch}-"):
                self._location.delete(name)

    def count(self) -> int:
        """How many there are; none is opened."""
        return sum(file.rows for file in self._files())

    def last(self, rows: int) -> pa.Table:
        """So many of those that were set aside last, oldest first; of the others hardly any is opened."""
        wanted, found = [], 0
        for file in reversed(self._files()):
            if found >= rows:
                break
            wanted.append(file)
            found += file.rows
        read = self._read(wanted)
        return read.slice(max(0, read.num_rows - rows))

    def read(self) -> pa.Table:
        """All letters, oldest first; `origin` says where each came from."""
        return self._read(self._files())

    def _files(self) -> list[_File]:
        """The files by the time of their writing; of each origin the last, should a replay have counted otherwise."""
        files: dict[str, _File] = {}
        for name, _ in sorted(self._location.listing(_FOLDER), key=lambda entry: entry[1]):
            if parts := _NAME.fullmatch(name):
                files.pop(parts["origin"], None)
                files[parts["origin"]] = _File(name, parts["origin"], int(parts["rows"]))
        return list(files.values())

    def _read(self, files: Iterable[_File]) -> pa.Table:
        tables = [LETTER.append(pa.field("origin", pa.string())).empty_table()]
        for file in files:
            content = self._location.read(file.name)
            if content is not None:
                rows = pq.read_table(pa.BufferReader(content))
                tables.append(rows.append_column("origin", pa.repeat(pa.scalar(file.origin), rows.num_rows)))
        return pa.concat_tables(tables).sort_by([("received", "ascending"), ("origin", "ascending")])
