"""What a stream of feeds remembers on disk: batches not yet committed, entries seen, and how each feed fares.

All of it is one SQLite database in the state folder, and a round of visits is one transaction: its new entries as
a numbered batch, their ids as seen, validators and times of the next visits. So a process killed at any moment
leaves either none of a round, and its feeds are asked again, or all of it:
- recorded, but the offset never reached Spark: the batch is still ahead of the query's offset, and handed out first;
- the offset reached Spark, but was not committed: the batch is read again, the same rows in the same order;
- committed: the batch is dropped, its ids stay.
"""

import fcntl
import hashlib
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

from tidegate.errors import StoreError
from tidegate.spark.sources.feed_entries import Entry
from tidegate.spark.sources.feed_fetch import Validators
from tidegate.spark.sources.feed_poll import Feed, Visit

SEEN_PER_FEED: Final = 1_000
"""Ids remembered of a feed, or as many as its document has if that is more."""
_FORMAT: Final = 1
_LOCK_SECONDS: Final = 10.0
_TABLES: Final = """
    CREATE TABLE feeds (
        url TEXT PRIMARY KEY, etag TEXT, modified TEXT, failures INTEGER NOT NULL,
        last_ok REAL, last_error REAL, error TEXT, next_poll REAL
    );
    CREATE TABLE seen (url TEXT, digest BLOB, at REAL NOT NULL, PRIMARY KEY (url, digest)) WITHOUT ROWID;
    CREATE TABLE entries (
        batch INTEGER NOT NULL, id TEXT, ts INTEGER, author TEXT, text TEXT, title TEXT, link TEXT, feed TEXT, lang TEXT
    );
    CREATE INDEX entries_by_batch ON entries (batch);
    CREATE TABLE batches (committed INTEGER NOT NULL, recorded INTEGER NOT NULL);
    INSERT INTO batches VALUES (0, 0);
"""


class FeedStatus(NamedTuple):
    """How a feed fares: `failures` counts since `last_ok`; `next_poll` is None where the feed is gone for good."""

    url: str
    last_ok: datetime | None
    last_error: datetime | None
    error: str | None
    failures: int
    next_poll: datetime | None


def feed_status(state: Path | str) -> list[FeedStatus]:
    """How each feed in a state folder fares, by address; also while a query is using the folder."""
    path = _database(Path(state))
    if not path.exists():
        raise StoreError(f"{path.parent} is no state folder of feeds: it has no {path.name}")
    with _as_store_error(path), closing(sqlite3.connect(path)) as database:
        rows = database.execute(
            "SELECT url, last_ok, last_error, error, failures, next_poll FROM feeds ORDER BY url"
        ).fetchall()
    return [
        FeedStatus(url, _time(last_ok), _time(last_error), error, failures, _time(next_poll))
        for url, last_ok, last_error, error, failures, next_poll in rows
    ]


class FeedState:
    """The open state of one query; a folder belongs to one at a time.

    Batches are numbered from 0. Those below `committed` are dropped, those below `recorded` can be read.
    """

    def __init__(self, folder: Path, patience: float = _LOCK_SECONDS) -> None:
        """Open a folder, or make one; wait so many seconds for another query to leave it."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._lock = (folder / "lock").open("w")
        except OSError as error:
            raise StoreError(f"the state folder {folder} cannot be written: {error}") from error
        self._path = _database(folder)
        self._acquire(patience)
        with _as_store_error(self._path):
            self._database = sqlite3.connect(self._path)
            self._prepare()

    def close(self) -> None:
        """Leave the folder to others."""
        self._database.close()
        self._lock.close()

    @property
    def committed(self) -> int:
        """The first batch that may still be asked for."""
        return self._number("committed")

    @property
    def recorded(self) -> int:
        """One more than the last batch."""
        return self._number("recorded")

    def due(self, urls: Sequence[str], now: float, most: int) -> list[Feed]:
        """Up to `most` of these feeds whose time has come: those never visited, then the longest overdue."""
        with _as_store_error(self._path):
            known = {
                url: (next_poll, Feed(url, Validators(etag, modified), failures))
                for url, next_poll, etag, modified, failures in self._database.execute(
                    "SELECT url, next_poll, etag, modified, failures FROM feeds"
                )
            }
        waiting = [known.get(url, (0.0, Feed(url))) for url in urls]
        ready = [(time, feed) for time, feed in waiting if time is not None and time <= now]
        return [feed for _, feed in sorted(ready, key=lambda one: one[0])[:most]]

    def record(self, visits: Sequence[Visit]) -> None:
        """Remember a round of visits; if any of their entries is new, these make the next batch."""
        with _as_store_error(self._path), self._database:
            batch = self.recorded
            fresh = [entry for one in visits for entry in self._unseen(one)]
            marks = ", ".join("?" * (1 + len(Entry._fields)))
            self._database.executemany(f"INSERT INTO entries VALUES ({marks})", [(batch, *entry) for entry in fresh])
            if fresh:
                self._database.execute("UPDATE batches SET recorded = recorded + 1")
            for one in visits:
                self._remember(one)

    def entries(self, first: int, stop: int) -> list[Entry]:
        """The entries of batches `first` to `stop`, always in the same order."""
        self.require(first, stop)
        with _as_store_error(self._path):
            rows = self._database.execute(
                f"SELECT {', '.join(Entry._fields)} FROM entries WHERE batch >= ? AND batch < ? ORDER BY rowid",
                (first, stop),
            ).fetchall()
        return [Entry(*row) for row in rows]

    def require(self, first: int, stop: int) -> None:
        """Refuse to go on where batches `first` to `stop` are not all here."""
        if not self.committed <= first <= stop <= self.recorded:
            raise StoreError(
                f"feed batches {first} to {stop} are asked of {self._path}, which has {self.committed} to "
                f"{self.recorded}; a checkpoint and its state folder belong together: restore both, or start both anew"
            )

    def commit(self, stop: int) -> None:
        """Drop the batches below `stop`: they will not be asked for again."""
        with _as_store_error(self._path), self._database:
            self._database.execute("DELETE FROM entries WHERE batch < ?", (stop,))
            self._database.execute("UPDATE batches SET committed = max(committed, ?)", (stop,))

    def _acquire(self, patience: float) -> None:
        deadline = time.monotonic() + patience
        while True:
            try:
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except OSError as error:
                if time.monotonic() > deadline:
                    self._lock.close()
                    folder = self._path.parent
                    raise StoreError(f"another query uses the state folder {folder}; give each its own") from error
                time.sleep(0.05)

    def _prepare(self) -> None:
        found = self._database.execute("PRAGMA user_version").fetchone()[0]
        if found not in (0, _FORMAT):
            raise StoreError(f"{self._path} is of format {found}, this version of Tidegate knows {_FORMAT}; update it")
        if found == 0:
            self._database.executescript(f"BEGIN; {_TABLES} PRAGMA user_version = {_FORMAT}; COMMIT;")

    def _number(self, column: str) -> int:
        with _as_store_error(self._path):
            return int(self._database.execute(f"SELECT {column} FROM batches").fetchone()[0])

    def _unseen(self, one: Visit) -> Iterator[Entry]:
        for entry in one.entries or ():
            known = self._database.execute(
                "SELECT 1 FROM seen WHERE url = ? AND digest = ?", (one.feed.url, _digest(entry))
            ).fetchone()
            if not known:
                yield entry

    def _remember(self, one: Visit) -> None:
        url, validators, failures = one.feed
        succeeded = one.error is None
        self._database.execute(
            """INSERT INTO feeds VALUES (:url, :etag, :modified, :failures, :ok, :failed, :error, :next_poll)
            ON CONFLICT (url) DO UPDATE SET etag = :etag, modified = :modified, failures = :failures,
                last_ok = coalesce(:ok, last_ok), last_error = coalesce(:failed, last_error),
                error = coalesce(:error, error), next_poll = :next_poll""",
            {
                "url": url,
                "etag": validators.etag,
                "modified": validators.modified,
                "failures": failures,
                "ok": one.at if succeeded else None,
                "failed": None if succeeded else one.at,
                "error": one.error,
                "next_poll": one.next_poll,
            },
        )
        if one.entries is None:
            return
        self._database.executemany(
            "INSERT INTO seen VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET at = excluded.at",
            [(url, _digest(entry), one.at) for entry in one.entries],
        )
        self._database.execute(
            """DELETE FROM seen WHERE url = ?1 AND digest IN
            (SELECT digest FROM seen WHERE url = ?1 ORDER BY at DESC LIMIT -1 OFFSET ?2)""",
            (url, max(SEEN_PER_FEED, len(one.entries))),
        )


def _database(folder: Path) -> Path:
    return folder / "feeds.sqlite"


def _digest(entry: Entry) -> bytes:
    return hashlib.blake2b(entry.id.encode(), digest_size=12).digest()


def _time(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)


@contextmanager
def _as_store_error(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise StoreError(f"the feed state {path}: {error}; restore it, or start anew with an empty folder") from error
