"""Records of subscriptions as files hold them, Parquet, CSV or JSON lines: each with its line, the unreadable ones too.

What their values mean is read in `fields`.
"""

import csv
import gzip
import io
import json
import zlib
from codecs import BOM_UTF8
from collections import deque
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from tidegate.errors import ConfigError, StoreError
from tidegate.store.exporting import is_packed
from tidegate.store.fields import REQUIRED
from tidegate.store.schema import SUBSCRIPTION

_BATCH = 20_000
_LONGEST_LINE = 1 << 20
# A quote that is never closed would take the rest of a file along: no query has so many lines.
_LONGEST_RECORD = 100
_SHOWN = 1_000


class Broken(NamedTuple):
    """A record that could not be read, and how it begins."""

    reason: str
    beginning: str


Record: TypeAlias = tuple[int, dict[str, Any] | Broken]
"""A record, and the line it begins on; in Parquet its row, from 1."""


def parts(path: Path, format: str, size: int) -> Iterator[tuple[int, list[Record]]]:  # noqa: A002
    """Read a file by parts of `size` records; with each comes how many bytes have been read."""
    try:
        raw = path.open("rb")
    except OSError as error:
        raise StoreError(f"{path}: cannot be read: {error.strerror}") from error
    with raw:
        records = _readable(_READERS[format](path, raw))
        while part := list(islice(records, size)):
            yield raw.tell(), part


def _readable(records: Iterator[Record]) -> Iterator[Record]:
    """Read up to where a file is damaged, and make that the last record."""
    line = 0
    try:
        for line, record in records:
            yield line, record
    except (OSError, EOFError, zlib.error, pa.ArrowException) as error:
        yield line + 1, Broken(f"the file is damaged, and cannot be read from here on: {error}", "")


def _read_jsonl(path: Path, raw: IO[bytes]) -> Iterator[Record]:
    for number, line in enumerate(_lines(path, raw), 1):
        try:
            row = json.loads(text) if (text := _decoded(line).strip()) else None
        except json.JSONDecodeError as error:
            yield number, Broken(f"not JSON: {error.msg} at character {error.colno}", _beginning(line))
        except (ValueError, RecursionError) as error:
            yield number, Broken(f"not JSON: {error}", _beginning(line))
        else:
            if isinstance(row, dict):
                yield number, row
            elif text:
                yield number, Broken("not a JSON object: write one {…} on each line", _beginning(line))


def _read_csv(path: Path, raw: IO[bytes]) -> Iterator[Record]:
    lines = _RereadableLines(_lines(path, raw))
    reader = csv.reader(lines, strict=True)
    names: list[str] = []
    while True:
        first = lines.begin_record()
        try:
            fields = next(reader)
        except StopIteration:
            return
        except (csv.Error, ValueError) as error:
            reason = f"not a record of CSV ({error}): close every quote, and double those inside a field"
            if not names:
                raise ConfigError(f"{path}: the header is {reason}") from error
            yield first, Broken(reason, lines.reread_all_but_first())
            continue
        if not fields:
            continue
        if not names:
            names = _columns(path, fields)
        elif len(fields) == len(names):
            yield first, {name: field or None for name, field in zip(names, fields, strict=True)}
        else:
            reason = f"{len(fields)} fields, where the header has {len(names)}"
            yield first, Broken(reason, ",".join(fields)[:_SHOWN])


class _RereadableLines:
    """Lines for the csv module, which does not say where a record began nor gives back what a stray quote swallowed."""

    def __init__(self, lines: Iterator[bytes]) -> None:
        self._lines = lines
        self._again: deque[bytes] = deque()
        self._record: list[bytes] = []
        self._number = 0

    def begin_record(self) -> int:
        """Return the number of the line that comes next."""
        self._number += len(self._record)
        self._record = []
        return self._number + 1

    def reread_all_but_first(self) -> str:
        """Let the next record begin on the second line of this one; return how the first begins."""
        self._again.extendleft(reversed(self._record[1:]))
        del self._record[1:]
        return _beginning(self._record[0])

    def __iter__(self) -> "_RereadableLines":
        return self

    def __next__(self) -> str:
        if len(self._record) == _LONGEST_RECORD:
            raise StopIteration
        line = self._again.popleft() if self._again else next(self._lines)
        self._record.append(line)
        return _decoded(line, "surrogateescape")


def _read_parquet(path: Path, raw: IO[bytes]) -> Iterator[Record]:
    try:
        file = pq.ParquetFile(raw)
    except (OSError, pa.ArrowException) as error:
        raise StoreError(f"{path}: cannot be read as Parquet: {error}") from error
    _columns(path, file.schema_arrow.names)
    done = 0
    for batch in file.iter_batches(_BATCH):
        yield from enumerate(_rows(batch), done + 1)
        done += batch.num_rows


def _rows(batch: pa.RecordBatch) -> list[dict[str, Any] | Broken]:
    try:
        return list(batch.to_pylist())
    except (ValueError, OverflowError) as error:  # a text that is no UTF-8, a time that no calendar has
        if batch.num_rows == 1:
            return [Broken(f"a value cannot be read: {error}", "")]
        return [row for i in range(batch.num_rows) for row in _rows(batch.slice(i, 1))]


_READERS = {"parquet": _read_parquet, "csv": _read_csv, "jsonl": _read_jsonl}


def _lines(path: Path, raw: IO[bytes]) -> Iterator[bytes]:
    """The lines of a file; of one that is too long only the beginning, which `_decoded` refuses."""
    file: Any = io.BufferedReader(gzip.GzipFile(fileobj=raw)) if is_packed(path) else raw
    line = file.readline(_LONGEST_LINE + 1).removeprefix(BOM_UTF8)
    while line:
        yield line
        while len(line) > _LONGEST_LINE and not line.endswith(b"\n"):
            line = file.readline(_LONGEST_LINE + 1)
        line = file.readline(_LONGEST_LINE + 1)


def _decoded(line: bytes, errors: str = "strict") -> str:
    if len(line) > _LONGEST_LINE:
        raise ValueError(f"the line is longer than {_LONGEST_LINE:,} bytes")
    return line.decode(errors=errors)


def _beginning(line: bytes) -> str:
    return line[:_SHOWN].decode(errors="replace").rstrip("\r\n")


def _columns(path: Path, names: list[str]) -> list[str]:
    """Return the names of a file's columns if they are those of subscriptions."""
    for name in names:
        if name not in SUBSCRIPTION.names or names.count(name) > 1:
            problem = "is there twice" if name in SUBSCRIPTION.names else "is none of a subscription's"
            raise ConfigError(f"{path}: column {name!r} {problem}: these are {', '.join(SUBSCRIPTION.names)}")
    for name in REQUIRED:
        if name not in names:
            raise ConfigError(f"{path}: there is no column {name!r}: every subscription needs one")
    return names
