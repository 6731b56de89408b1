"""Bulk import: subscriptions from Parquet, CSV or JSON lines into a store; what cannot be accepted is set aside.

Records are read one by one, each with its line; checked by other processes, a chunk at a time; and committed by the
million, so an import that is killed leaves whole commits.
"""

import csv
import gc
import gzip
import io
import json
import os
import time
import zlib
from codecs import BOM_UTF8
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import cache
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tidegate.errors import ConfigError, StoreError
from tidegate.query.parse import parse_many
from tidegate.store.exporting import format_of, is_packed, named_format
from tidegate.store.schema import SUBSCRIPTION, new_id, region_text, whole_query
from tidegate.store.store import Store
from tidegate.text.analyzer import Analyzer

_CHUNK = 20_000
_COMMIT = 1_000_000
_LONGEST_LINE = 1 << 20
# A quote that is never closed would take the rest of a file along: no query has so many lines.
_LONGEST_RECORD = 100
_SHOWN = 1_000
_REMEMBERED = 200_000
_GARBAGE = 500_000
_REQUIRED = ("subscriber", "query")
_REJECTS = ".rejects.jsonl"
_PLACE = pa.schema([("id", pa.large_string()), ("file", pa.int32()), ("line", pa.int64())])

Progress: TypeAlias = Callable[[int, float], None]
"""Told now and then how many records are done, and what share of the input that is."""


class Imported(NamedTuple):
    """What became of an import. Accepted, refused and superseded together are all the records there were."""

    accepted: int
    refused: int
    version: int
    """From which version on all that was accepted counts."""
    seconds: float
    superseded: int
    """Records that a later one of the same id took the place of."""
    rejects: tuple[Path, ...]
    """The files that list what was refused and superseded."""


class _Broken(NamedTuple):
    """A record that could not be read, and how it begins."""

    reason: str
    beginning: str


_Record: TypeAlias = tuple[int, dict[str, Any] | _Broken]
"""A record, and the line it begins on; in Parquet its row, from 1."""


class _Chunk(NamedTuple):
    file: int
    """Its number among the files of the import."""
    position: int
    """How far the file has been read, in bytes."""
    records: list[_Record]


class _Reject(NamedTuple):
    line: int
    reason: str
    row: Any


class _Checked(NamedTuple):
    rows: pa.Table
    lines: list[int]
    refused: list[_Reject]


def import_subscriptions(
    store: Store,
    path: str | os.PathLike[str],
    *,
    format: str | None = None,  # noqa: A002
    rejects: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    processes: int = 2,
) -> Imported:
    """Subscribe everything in a file, a folder or a glob of files; return when it is durable.

    A record that cannot be accepted never stops the others: it is listed in the file `rejects` (by default beside its
    own file, as NAME.rejects.jsonl) with its line and the reason. Of several records with one id the last counts. It
    takes the place of what the store has under that id, so an import of records with ids may be run again.
    """
    begun = time.perf_counter()
    files = _files(os.fspath(path), format)
    formats = [format_of(file, format) for file in files]
    ends = np.cumsum([0, *(file.stat().st_size for file in files)])
    intake = _Intake(store, _Rejects(files, None if rejects is None else Path(rejects)))
    chunks = (_Chunk(i, *part) for i in range(len(files)) for part in _parts(files[i], formats[i]))
    for chunk, checked in _all_checked(chunks, processes):
        intake.take(chunk.file, checked)
        if progress is not None:
            progress(intake.records, float((ends[chunk.file] + chunk.position) / max(1, ends[-1])))
    intake.commit()
    version = store.version if intake.version is None else intake.version
    seconds = time.perf_counter() - begun
    return Imported(intake.accepted, intake.refused, version, seconds, intake.superseded, tuple(intake.rejects.written))


class _Intake:
    """Checked records on their way into the store."""

    def __init__(self, store: Store, rejects: "_Rejects") -> None:
        self._store = store
        self._standing = _PLACE.empty_table()  # where the records that count so far came from
        self._waiting: list[tuple[pa.Table, pa.Table]] = []
        self.rejects = rejects
        self.version: int | None = None
        self.records = self.refused = self.superseded = 0

    @property
    def accepted(self) -> int:
        return int(self._standing.num_rows)

    def take(self, file: int, checked: _Checked) -> None:
        self.rejects.put(file, checked.refused)
        self.refused += len(checked.refused)
        self.records += len(checked.refused) + len(checked.lines)
        ids = checked.rows.column("id").cast(pa.large_string())
        places = [ids, pa.repeat(pa.scalar(file, pa.int32()), len(ids)), pa.array(checked.lines, pa.int64())]
        self._waiting.append((checked.rows, pa.Table.from_arrays(places, schema=_PLACE)))
        if sum(rows.num_rows for rows, _ in self._waiting) >= _COMMIT:
            self.commit()

    def commit(self) -> None:
        """Let what waits count, but of each id only the last, and report what no longer does."""
        if not any(rows.num_rows for rows, _ in self._waiting):
            return
        rows = pa.concat_tables([rows for rows, _ in self._waiting])
        places = pa.concat_tables([self._standing, *(places for _, places in self._waiting)])
        codes = places.column("id").combine_chunks().dictionary_encode().indices.to_numpy()
        last = np.empty(int(codes.max()) + 1, np.int64)
        last[codes] = np.arange(len(codes))
        counts = last[codes] == np.arange(len(codes))
        applied = self._store.apply(rows.filter(pa.array(counts[len(self._standing) :])), checked=True)
        self.version = applied.version
        gone = np.flatnonzero(~counts)
        self._report(places.take(pa.array(gone)), places.take(pa.array(last[codes[gone]])))
        self._standing = places.filter(pa.array(counts))
        self._waiting = []

    def _report(self, earlier: pa.Table, later: pa.Table) -> None:
        """List records that another one has taken the place of."""
        listed: defaultdict[int, list[_Reject]] = defaultdict(list)
        for old, new in zip(earlier.to_pylist(), later.to_pylist(), strict=True):
            where = f"line {new['line']} of {self.rejects.files[new['file']].name}"
            reason = f"superseded by {where}, which has the same id"
            listed[old["file"]].append(_Reject(old["line"], reason, {"id": old["id"]}))
        for file, rejects in listed.items():
            self.rejects.put(file, rejects)
        self.superseded += earlier.num_rows


class _Rejects:
    """The lists of what did not make it, one for each file, or one for all. Lists of an earlier run are dropped."""

    def __init__(self, files: list[Path], into: Path | None) -> None:
        self.files = files
        self.written: list[Path] = []
        self._lists = [into or file.with_name(file.name + _REJECTS) for file in files]
        for path in dict.fromkeys(self._lists):
            if any(path.resolve() == file.resolve() for file in files):
                raise ConfigError(f"{path}: the rejects would take the place of what is imported: name another file")
            # A folder that cannot be written to is no obstacle while there is nothing to list.
            if path.exists():
                with _writing(path):
                    path.unlink()

    def put(self, file: int, rejects: list[_Reject]) -> None:
        if not rejects:
            return
        path = self._lists[file]
        # What is no Unicode becomes an escape of Python, which is also one of JSON.
        with _writing(path), path.open("a", encoding="utf-8", errors="backslashreplace") as listed:
            for reject in rejects:
                entry = {"file": str(self.files[file]), **reject._asdict()}
                listed.write(json.dumps(entry, ensure_ascii=False, default=str) + "\n")
        if path not in self.written:
            self.written.append(path)


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreError(f"{path}: the rejects cannot be written ({error.strerror}): name another file") from error


def _files(path: str, format: str | None) -> list[Path]:  # noqa: A002
    """Return the files meant: one, those in a folder that have a known format, or those that a pattern fits."""
    if Path(path).is_file():
        return [Path(path)]
    if Path(path).is_dir():
        # Spark writes _SUCCESS and hidden checksums beside its data.
        inside = [file for file in Path(path).rglob("*") if file.is_file() and not file.name.startswith(("_", "."))]
        found = [file for file in inside if format is not None or named_format(file) is not None]
    else:
        anchor = Path(path).anchor
        found = [file for file in Path(anchor).glob(path.removeprefix(anchor)) if file.is_file()]
    found = sorted(file for file in found if not file.name.endswith(_REJECTS))
    if not found:
        raise ConfigError(f"{path}: there is no file to import: give a file, a folder or a pattern of files")
    return found


# Reading: records with their lines.


def _parts(path: Path, format: str) -> Iterator[tuple[int, list[_Record]]]:  # noqa: A002
    """Read a file by chunks; with each comes how many bytes have been read."""
    try:
        raw = path.open("rb")
    except OSError as error:
        raise StoreError(f"{path}: cannot be read: {error.strerror}") from error
    with raw:
        records = _readable(_READERS[format](path, raw))
        while part := list(islice(records, _CHUNK)):
            yield raw.tell(), part


def _readable(records: Iterator[_Record]) -> Iterator[_Record]:
    """Read up to where a file is damaged, and make that the last record."""
    line = 0
    try:
        for line, record in records:
            yield line, record
    except (OSError, EOFError, zlib.error, pa.ArrowException) as error:
        yield line + 1, _Broken(f"the file is damaged, and cannot be read from here on: {error}", "")


def _read_jsonl(path: Path, raw: IO[bytes]) -> Iterator[_Record]:
    for number, line in enumerate(_lines(path, raw), 1):
        try:
            row = json.loads(text) if (text := _decoded(line).strip()) else None
        except json.JSONDecodeError as error:
            yield number, _Broken(f"not JSON: {error.msg} at character {error.colno}", _beginning(line))
        except (ValueError, RecursionError) as error:
            yield number, _Broken(f"not JSON: {error}", _beginning(line))
        else:
            if isinstance(row, dict):
                yield number, row
            elif text:
                yield number, _Broken("not a JSON object: write one {…} on each line", _beginning(line))


def _read_csv(path: Path, raw: IO[bytes]) -> Iterator[_Record]:
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
            yield first, _Broken(reason, lines.reread_all_but_first())
            continue
        if not fields:
            continue
        if not names:
            names = _columns(path, fields)
        elif len(fields) == len(names):
            yield first, {name: field or None for name, field in zip(names, fields, strict=True)}
        else:
            reason = f"{len(fields)} fields, where the header has {len(names)}"
            yield first, _Broken(reason, ",".join(fields)[:_SHOWN])


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


def _read_parquet(path: Path, raw: IO[bytes]) -> Iterator[_Record]:
    try:
        file = pq.ParquetFile(raw)
    except (OSError, pa.ArrowException) as error:
        raise StoreError(f"{path}: cannot be read as Parquet: {error}") from error
    _columns(path, file.schema_arrow.names)
    done = 0
    for batch in file.iter_batches(_CHUNK):
        yield from enumerate(_rows(batch), done + 1)
        done += batch.num_rows


def _rows(batch: pa.RecordBatch) -> list[dict[str, Any] | _Broken]:
    try:
        return list(batch.to_pylist())
    except (ValueError, OverflowError) as error:  # a text that is no UTF-8, a time that no calendar has
        if batch.num_rows == 1:
            return [_Broken(f"a value cannot be read: {error}", "")]
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
    for name in _REQUIRED:
        if name not in names:
            raise ConfigError(f"{path}: there is no column {name!r}: every subscription needs one")
    return names


# Checking: from records to rows of the store, in other processes when there are many.


def _all_checked(chunks: Iterator[_Chunk], processes: int) -> Iterator[tuple[_Chunk, _Checked]]:
    """Check chunks, in their order: the first here, since processes take a second to start, the others there."""
    n_here = 0
    for chunk in chunks:
        yield chunk, _check(chunk.records)
        n_here += len(chunk.records)
        if n_here >= _CHUNK and processes > 1:
            break
    # Not by forking: Arrow and Delta have threads. Records by the thousand are all alive: looking for garbage among
    # them as often as Python does would take as long as the checking.
    pool = ProcessPoolExecutor(processes, get_context("spawn"), gc.set_threshold, (_GARBAGE,))
    waiting: deque[tuple[_Chunk, Future[_Checked]]] = deque()
    try:
        for chunk in chunks:
            waiting.append((chunk._replace(records=[]), pool.submit(_check, chunk.records)))
            if len(waiting) > 2 * processes:
                done, future = waiting.popleft()
                yield done, future.result()
        yield from ((chunk, future.result()) for chunk, future in waiting)
    except BrokenProcessPool as error:
        raise StoreError(
            "the processes that check queries have ended: in a program of your own, import below"
            " `if __name__ == '__main__':`, or with processes=1"
        ) from error
    finally:
        pool.shutdown(cancel_futures=True)


def _check(records: list[_Record]) -> _Checked:
    """Return the rows of the good records, and why the others are refused."""
    refused: list[_Reject] = []
    read: list[tuple[_Record, dict[str, Any]]] = []
    for line, record in records:
        if isinstance(record, _Broken):
            refused.append(_Reject(line, record.reason, record.beginning))
            continue
        try:
            read.append(((line, record), _row(record)))
        except ConfigError as error:
            refused.append(_Reject(line, str(error), record))
    asked = [whole_query(row["query"], row.get("region")) for _, row in read]
    wrong = _query_errors(set(asked))
    refused += [
        _Reject(line, wrong[text], record)
        for ((line, record), _), text in zip(read, asked, strict=True)
        if text in wrong
    ]
    good = [(line, row) for ((line, _), row), text in zip(read, asked, strict=True) if text not in wrong]
    rows = pa.Table.from_pylist([row for _, row in good], schema=SUBSCRIPTION)
    return _Checked(rows, [line for line, _ in good], sorted(refused, key=lambda reject: reject.line))


def _query_errors(texts: set[str]) -> dict[str, str]:
    """Return what is wrong with those of the queries that cannot be accepted."""
    good = _good_queries()
    new = list(texts - good)
    queries, errors = parse_many(new, _analyzer())
    if len(good) > _REMEMBERED:
        good.clear()
    good.update(text for text, query in zip(new, queries, strict=True) if query is not None)
    refused = [text for text, query in zip(new, queries, strict=True) if query is None]
    return dict(zip(refused, map(str, errors), strict=True))


@cache
def _good_queries() -> set[str]:
    """Return what this process has accepted lately: popular queries are in every chunk."""
    return set()


@cache
def _analyzer() -> Analyzer:
    """One for each process, since the words it has met make it fast."""
    return Analyzer()


def _row(record: dict[str, Any]) -> dict[str, Any]:
    """Return a record as a row, or raise `ConfigError`; what its query means is not looked at."""
    unknown = record.keys() - _VALUES.keys()
    if unknown:
        raise ConfigError(f"{min(unknown)!r} is no field of a subscription: these are {', '.join(_VALUES)}")
    row = {name: read(name, value) for name, read in _VALUES.items() if (value := record.get(name)) not in (None, "")}
    for name in _REQUIRED:
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
    with suppress(ValueError, OverflowError):
        moment = datetime.fromisoformat(value) if isinstance(value, str) else value
        if isinstance(moment, datetime) and moment.tzinfo is not None:
            return moment.astimezone(UTC)
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
