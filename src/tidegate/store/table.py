"""The subscription table: a Delta table that is a log of changes.

Every row says what a subscription is from one version on, or that it is gone, and names that version itself; so a
removal is an append like any other, no file is ever rewritten to make a change, and writers on different machines need
no lock: a commit is for one version, and whoever comes second writes its rows again for the next one.
"""

import io
import json
import logging
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from random import uniform
from threading import RLock
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from deltalake import CommitProperties, DeltaTable, PostCommitHookProperties, Transaction
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError
from deltalake.transaction import AddAction, RemoveAction

from tidegate.errors import StoreError
from tidegate.store.location import Location, synced
from tidegate.store.rows import last_of_each, reordered
from tidegate.store.schema import CHANGE, FORMAT

_FORMAT_KEY = "tidegate.format"
_BASE = "base-"
# A writer that loses the race for a version tries the next; so many losses in a row mean that something is wrong.
_TRIES = 500
# Commits are many and small, and each reads the log since the last checkpoint: at Delta's 100 they take thrice as long.
_CHECKPOINT_EVERY = "20"
# Expired logs are looked for by upkeep, not by every commit.
_AFTER_COMMIT = PostCommitHookProperties(create_checkpoint=True, cleanup_expired_logs=False)
_log = logging.getLogger(__name__)


class File(NamedTuple):
    """A data file of the table at some version."""

    path: str
    size: int
    rows: int
    first: int
    last: int
    """The lowest and the highest version among its rows."""
    expires_from: int | None
    """The earliest expiry among its rows in microseconds since 1970, if any expires."""

    @property
    def folded_to(self) -> int:
        """Up to which version removals were dropped from it, since it replaced all there was; 0 if it did not."""
        return int(self.path.split("-")[1]) if self.path.startswith(_BASE) else 0


class Table:
    """The log of changes; versions are Delta's. Safe to use from several threads."""

    def __init__(self, location: Location) -> None:
        """Open the table at `location`; it must exist."""
        self.location = location
        self._lock = RLock()
        with self._errors("opened"):
            try:
                self._delta = DeltaTable(location.url, storage_options=_options(location))
            except TableNotFoundError as error:
                raise StoreError(f"{location.url}: there is no subscription table here") from error
        found = int(self._delta.metadata().configuration.get(_FORMAT_KEY, 0))
        if found > FORMAT:
            raise StoreError(
                f"{location.url}: written in format {found}, this version of Tidegate reads {FORMAT}: upgrade Tidegate"
            )
        if found < FORMAT:
            raise StoreError(f"{location.url}: a Delta table, but not one of Tidegate's subscriptions")

    @property
    def identity(self) -> str:
        """What tells this table from one that is made later in the same place."""
        return str(self._delta.metadata().id)

    @classmethod
    def create(cls, location: Location) -> "Table":
        """Create the table unless there is one, and open it."""
        try:
            DeltaTable.create(
                location.url,
                CHANGE,
                mode="ignore",
                name="subscriptions",
                description="A log of changes: per id, the row of the highest version counts, unless it is removed.",
                configuration={_FORMAT_KEY: str(FORMAT), "delta.checkpointInterval": _CHECKPOINT_EVERY},
                storage_options=_options(location),
                raise_if_key_not_exists=False,
            )
        except (DeltaError, OSError) as error:
            raise StoreError(f"{location.url}: the table cannot be created: {error}") from error
        return cls(location)

    @property
    def version(self) -> int:
        """The newest version there is now."""
        with self._lock, self._errors("read"):
            self._delta.update_incremental()
            # A log that is not there any more would pass for one without news.
            if self.location.folder is not None and not (self.location.folder / "_delta_log").is_dir():
                raise StoreError(f"{self.location.url}: the subscription table has vanished while it was in use")
            return int(self._delta.version())

    def done(self, application: str) -> int:
        """The number of the last batch that an application committed, or -1."""
        with self._lock, self._errors("read"):
            self._delta.update_incremental()
            return self._done(application)

    def _done(self, application: str) -> int:
        number = self._delta.transaction_version(application)
        return -1 if number is None else int(number)

    def append(self, rows: pa.Table, *, batch: tuple[str, int] | None = None) -> int:
        """Commit changes (`CHANGE` without its version, each id once); return their version, when they are durable.

        With `batch`, an application and a number, the commit is made once however often it is asked for.
        """
        with self._lock:
            for _ in range(_TRIES):
                last = self.version
                # Of the same moment as `last`: whoever commits the batch after it takes the version that is tried here.
                if batch is not None and self._done(batch[0]) >= batch[1]:
                    return last
                version = self.append_after(last, rows, batch=batch)
                if version is not None:
                    return version
        raise StoreError(f"{self.location.url}: {_TRIES} other commits came first: too many writers; try again")

    def append_after(self, last: int, rows: pa.Table, *, batch: tuple[str, int] | None = None) -> int | None:
        """Commit changes as the version after `last`; return it, or None if there is another such version."""
        with self._lock:
            version = last + 1
            if self._delta.version() != last:
                return None
            file = self._write("change", rows.append_column(CHANGE.field("version"), _constant(version, len(rows))))
            transactions = None if batch is None else [Transaction(batch[0], batch[1])]
            if self._commit(file, [_added(file)], version, transactions):
                return version
            self._discard(file)
            return None

    def replace(self, old: list[File], rows: pa.Table, *, folded_to: int | None = None) -> int | None:
        """Commit `rows` in place of files; return the version, or None if not all of these files are there any more.

        With `folded_to`, the rows are all there is up to that version, with no removals among them.
        """
        file = self._write("merged" if folded_to is None else f"{_BASE}{folded_to}", rows)
        now = int(time.time() * 1000)
        removed = [RemoveAction(path=f.path, deletion_timestamp=now, data_change=False, size=f.size) for f in old]
        for _ in range(_TRIES):
            with self._lock:
                version = self.version + 1
                # Appends may come in between, but nobody else may have replaced the same files: with a second copy of
                # their rows, what was removed since would be back.
                if not {f.path for f in old} <= {f.path for f in self.files(version - 1)}:
                    break
                if self._commit(file, [_added(file, data_change=False), *removed], version, None):
                    return version
        self._discard(file)
        return None

    def files(self, version: int) -> list[File]:
        """The data files at a version."""
        with self._errors("read"):
            actions = pa.table(self._actions(version))
        columns = ("path", "size_bytes", "num_records", "min.version", "max.version", "min.expires")
        if actions.num_rows == 0:
            return []
        expiries = actions.column("min.expires").cast(pa.timestamp("us", tz="UTC")).cast(pa.int64())
        values = [actions.column(name).to_pylist() for name in columns[:-1]]
        return [File(*fields) for fields in zip(*values, expiries.to_pylist(), strict=True)]

    def changes(self, after: int, version: int, columns: list[str] | None = None) -> pa.Table:
        """The rows of the versions after `after` and up to `version`, one for each id: its last."""
        files = [file for file in self.files(version) if file.last > after]
        wanted = None if columns is None else list(dict.fromkeys([*columns, "id", "version"]))
        rows = self._read(files, wanted)
        if any(file.first <= after for file in files):
            rows = rows.filter(pc.greater(rows.column("version"), after))
        return last_of_each(rows)

    def last_rows(self, files: list[File]) -> pa.Table:
        """Of all rows in some files, the last of each id."""
        return last_of_each(self._read(files, None))

    def newest(self, ids: pa.Array, version: int, columns: list[str]) -> pa.Table:
        """The last row up to `version` of each of some ids, removed or not. Reads the ids of the whole table."""
        wanted = list(dict.fromkeys([*columns, "id", "version"]))
        parts = [pa.schema([CHANGE.field(name) for name in wanted]).empty_table()]
        with self._errors("read"):
            for file in self.files(version):
                rows = self.rows(file, wanted)
                parts.append(rows.filter(pc.is_in(rows.column("id"), value_set=ids)))
        return last_of_each(pa.concat_tables(parts))

    def living(self, version: int, columns: list[str] | None = None) -> pa.Table:
        """The subscriptions at a version, by rising id."""
        wanted = None if columns is None else [*columns, "removed"]
        rows = self.changes(0, version, wanted)
        rows = rows.filter(pc.invert(rows.column("removed")))
        rows = reordered(rows, pc.sort_indices(rows.column("id").cast(pa.large_binary())).to_numpy())
        return rows.drop_columns([name for name in ("removed", "version") if name not in (columns or ())])

    def folded_to(self, version: int) -> int:
        """Removals up to here cannot be seen any more at `version`: what they removed is simply not there."""
        return max((file.folded_to for file in self.files(version)), default=0)

    def vacuum(self, hours: int, keep: list[int]) -> list[str]:
        """Delete data files that no version of the last `hours`, nor any in `keep`, needs; return their names."""
        readable = [version for version in keep if self._is_readable(version)]
        with self._lock, self._errors("vacuumed"):
            self._delta.update_incremental()
            listed = self._delta.vacuum(
                retention_hours=hours,
                enforce_retention_duration=False,
                keep_versions=readable or None,
                # A file that no commit names is either left over or about to be committed: only age can tell.
                full=hours > 0,
                # Delta would note every vacuum as two versions, and names what is long deleted again and again.
                dry_run=True,
            )
        deleted = sorted(set(listed) & set(self.location.top()))
        for name in deleted:
            self.location.delete(name)
        return deleted

    def clean_log(self) -> None:
        """Delete the log of versions older than Delta's log retention (30 days): they cannot be opened any more."""
        with self._lock, self._errors("cleaned"):
            self._delta.cleanup_metadata()

    def _is_readable(self, version: int) -> bool:
        try:
            self.files(version)
        except StoreError:
            return False
        return True

    def _actions(self, version: int) -> Any:
        # Under the lock, since a commit of another thread would move the table on to the next version.
        with self._lock:
            if self._delta.version() < version:
                self._delta.update_incremental()
            if self._delta.version() == version:
                return self._delta.get_add_actions(flatten=True)
        old = DeltaTable(self.location.url, version=version, storage_options=_options(self.location))
        return old.get_add_actions(flatten=True)

    def _read(self, files: list[File], columns: list[str] | None) -> pa.Table:
        """All rows of some files, by rising version as far as the files do not overlap."""
        schema = CHANGE if columns is None else pa.schema([CHANGE.field(name) for name in columns])
        with self._errors("read"):
            parts = [self.rows(file, columns) for file in sorted(files, key=lambda file: (file.first, file.last))]
        return pa.concat_tables([schema.empty_table(), *parts])

    def rows(self, file: File, columns: list[str] | None = None) -> pa.Table:
        """All rows of a data file."""
        folder = self.location.folder
        if folder is not None:
            rows = pq.read_table(folder / file.path, columns=columns, partitioning=None)
        else:
            content = self.location.read(file.path)
            if content is None:
                raise StoreError(f"{self.location.url}/{file.path}: a data file of the table is gone")
            rows = pq.read_table(pa.BufferReader(content), columns=columns)
        names = CHANGE.names if columns is None else columns
        return rows.select(names).cast(pa.schema([CHANGE.field(name) for name in names]))

    def _write(self, kind: str, rows: pa.Table) -> File:
        name = f"{kind}-{uuid.uuid4().hex}.parquet"
        buffer = io.BytesIO()
        pq.write_table(rows.cast(CHANGE), buffer, compression="zstd")
        self.location.write(name, buffer.getvalue())
        versions = pc.min_max(rows.column("version"))
        earliest = pc.min(rows.column("expires").cast(pa.int64())).as_py()
        first, last = versions["min"].as_py() or 0, versions["max"].as_py() or 0  # all may be gone when it is folded
        return File(name, buffer.tell(), len(rows), first, last, earliest)

    def _commit(
        self, file: File, actions: list[AddAction | RemoveAction], version: int, transactions: list[Transaction] | None
    ) -> bool:
        """Commit as exactly this version; tell whether it was still free."""
        try:
            with self._errors("written"):
                self._delta.create_write_transaction(
                    actions,
                    "append",
                    CHANGE,
                    commit_properties=CommitProperties(max_commit_retries=0, app_transactions=transactions),
                    post_commithook_properties=_AFTER_COMMIT,
                )
        except CommitFailedError:
            # An object store may do what it was asked, lose its answer, and refuse to do it again.
            if file.path.encode() in (self.location.read(_log_name(version)) or b""):
                return True
            time.sleep(uniform(0, 0.01))
            return False
        if self.location.folder is not None:
            synced(self.location.folder / _log_name(version))
        return True

    def _discard(self, file: File) -> None:
        # Nobody refers to it; if this fails, vacuuming will find it.
        with suppress(StoreError):
            self.location.delete(file.path)

    @contextmanager
    def _errors(self, verb: str) -> Iterator[None]:
        """Say what could not be done to which table, whoever noticed."""
        try:
            yield
        except (CommitFailedError, TableNotFoundError):
            raise
        except FileNotFoundError as error:
            raise StoreError(
                f"{self.location.url}: a data file of this version is gone (vacuumed?): {error}"
            ) from error
        except (DeltaError, OSError, pa.ArrowException) as error:
            raise StoreError(f"{self.location.url}: the table cannot be {verb}: {error}") from error


def _options(location: Location) -> dict[str, str] | None:
    return dict(location.options) or None


def _constant(value: int, length: int) -> pa.Array:
    return pa.array(np.full(length, value, np.int64))


def _added(file: File, *, data_change: bool = True) -> AddAction:
    lowest: dict[str, int | str] = {"version": file.first}
    if file.expires_from is not None:
        # Delta's statistics of a time are its text, cut to milliseconds; too early by less than one of them is safe.
        stamp = np.datetime64(file.expires_from // 1000, "ms")
        lowest["expires"] = f"{stamp}Z"
    statistics = {
        "numRecords": file.rows,
        "minValues": lowest,
        "maxValues": {"version": file.last},
        "nullCount": {"version": 0},
    }
    return AddAction(file.path, file.size, {}, int(time.time() * 1000), data_change, json.dumps(statistics))


def _log_name(version: int) -> str:
    return f"_delta_log/{version:020}.json"
