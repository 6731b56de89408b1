"""Bulk import: subscriptions from Parquet, CSV or JSON lines into a store; what cannot be accepted is set aside.

Records are read one by one, each with its line; checked by other processes, a chunk at a time; and committed by the
million, so an import that is killed leaves whole commits.
"""

import json
import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from tidegate.errors import ConfigError, StoreError
from tidegate.store.chunks import Checked, Chunk, Reject, all_checked
from tidegate.store.exporting import format_of, named_format
from tidegate.store.records import parts
from tidegate.store.store import Store

_CHUNK = 20_000
_COMMIT = 1_000_000
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
    chunks = (Chunk(i, *part) for i in range(len(files)) for part in parts(files[i], formats[i], _CHUNK))
    for chunk, checked in all_checked(chunks, processes, _CHUNK, store.scorable):
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

    def take(self, file: int, checked: Checked) -> None:
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
        listed: defaultdict[int, list[Reject]] = defaultdict(list)
        for old, new in zip(earlier.to_pylist(), later.to_pylist(), strict=True):
            where = f"line {new['line']} of {self.rejects.files[new['file']].name}"
            reason = f"superseded by {where}, which has the same id"
            listed[old["file"]].append(Reject(old["line"], reason, {"id": old["id"]}))
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

    def put(self, file: int, rejects: list[Reject]) -> None:
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
