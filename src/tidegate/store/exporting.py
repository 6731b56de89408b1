"""Subscriptions out of a store, into a file that can be imported again; and which formats there are."""

import csv
import gzip
import io
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from tidegate.errors import ConfigError, StoreError
from tidegate.store.schema import SUBSCRIPTION
from tidegate.store.store import Store

FORMATS = ("parquet", "csv", "jsonl")
_SUFFIXES = {".parquet": "parquet", ".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl"}
_PACKED = ".gz"
# Rows become Python objects by so many at a time.
_BATCH = 20_000


def export_subscriptions(
    store: Store,
    path: str | os.PathLike[str],
    *,
    format: str | None = None,  # noqa: A002
    version: int | None = None,
) -> int:
    """Write all subscriptions of a version to a file, by rising id; return how many.

    The format is that of the name's ending unless given. The file appears when it is whole, in place of what was there.
    """
    target = Path(path)
    write = _WRITERS[format_of(target, format)]
    rows = store.subscriptions(version)
    with _appearing(target) as file:
        write(rows, file)
    return int(rows.num_rows)


def format_of(path: Path, given: str | None = None) -> str:
    """Return which of `FORMATS` a file is in: the one given, or the one its name ends in.

    >>> format_of(Path("searches.ndjson.gz"))
    'jsonl'
    """
    if given is not None and given not in FORMATS:
        raise ConfigError(f"format is {given!r}: allowed are {', '.join(FORMATS)}")
    found = given or named_format(path)
    if found is None:
        raise ConfigError(f"{path}: the name does not end in one of {', '.join(_SUFFIXES)}: give the format")
    if found == "parquet" and is_packed(path):
        raise ConfigError(f"{path}: a Parquet file is compressed inside: take the {_PACKED} off")
    return found


def named_format(path: Path) -> str | None:
    """Return the format that a file's name ends in, if that is one of `FORMATS`."""
    return _SUFFIXES.get(Path(path.name.removesuffix(_PACKED)).suffix)


def is_packed(path: Path) -> bool:
    """Whether a file of text is compressed as a whole."""
    return path.suffix == _PACKED


def json_line(row: Mapping[str, Any]) -> str:
    """Return a subscription as a JSON object on one line, without what it does not have."""
    return json.dumps({name: _plain(value) for name, value in row.items() if value is not None}, ensure_ascii=False)


def joined_tags(tags: list[str]) -> str:
    """Return tags as one field of a CSV file: `a;b`, or as a JSON list where that would not read back.

    >>> joined_tags(["sea", "urgent"]), joined_tags(["a;b"])
    ('sea;urgent', '["a;b"]')
    """
    if all(tag and tag == tag.strip() and ";" not in tag and not tag.startswith("[") for tag in tags):
        return ";".join(tags)
    return json.dumps(tags, ensure_ascii=False)


def _write_parquet(rows: pa.Table, file: IO[bytes]) -> None:
    pq.write_table(rows, file, compression="zstd")


def _write_csv(rows: pa.Table, file: IO[bytes]) -> None:
    # The line ends of RFC 4180, since the csv module quotes every field that has one of its characters.
    with io.TextIOWrapper(file, encoding="utf-8", newline="") as text:
        writer = csv.writer(text, lineterminator="\r\n")
        writer.writerow(SUBSCRIPTION.names)
        for row in _dicts(rows):
            writer.writerow([_plain(value) for value in {**row, "tags": joined_tags(row["tags"] or [])}.values()])


def _write_jsonl(rows: pa.Table, file: IO[bytes]) -> None:
    with io.TextIOWrapper(file, encoding="utf-8", newline="\n") as text:
        text.writelines(f"{json_line(row)}\n" for row in _dicts(rows))


_WRITERS: dict[str, Callable[[pa.Table, IO[bytes]], None]] = {
    "parquet": _write_parquet,
    "csv": _write_csv,
    "jsonl": _write_jsonl,
}


def _dicts(rows: pa.Table) -> Iterator[dict[str, Any]]:
    for batch in rows.to_batches(_BATCH):
        yield from batch.to_pylist()


def _plain(value: Any) -> Any:
    return value.isoformat() if hasattr(value, "isoformat") else value


@contextmanager
def _appearing(path: Path) -> Iterator[IO[bytes]]:
    """Open a file to write that takes its name when it is complete."""
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with scratch.open("wb") as raw:
            if is_packed(path):
                with gzip.GzipFile("", "wb", fileobj=raw, compresslevel=6, mtime=0) as packed:
                    yield packed  # type: ignore[misc]
            else:
                yield raw
        scratch.replace(path)
    except OSError as error:
        raise StoreError(f"{path}: cannot be written: {error.strerror or error}") from error
    finally:
        scratch.unlink(missing_ok=True)
