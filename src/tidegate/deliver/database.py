"""The database of delivery: SQLite in a file, or PostgreSQL. What differs between the two ends here and in `bulk`."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import psycopg
from sqlalchemy import URL, Connection, Engine, Insert, Table, create_engine, event, func, make_url, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from tidegate.deliver.versions import newest, upgrade, version_of
from tidegate.errors import ConfigError, StoreError

CONNECTIONS: Final = 16
"""That are kept open, where nothing else is said."""

_ALLOWED: Final = "write sqlite:///PATH or postgresql+psycopg://USER@HOST/DATABASE"
_WRITES: Final = "tidegate_writes"
# "tide", as a number: whom the advisory locks of two numbers are for.
_ALONE: Final = 0x74696465
# A writer in another process holds SQLite's lock for one batch, or a checkpoint of its log.
_PATIENCE_S: Final = 60
# What SQLite says of a file that is not its own, or no longer.
_DAMAGED: Final = ("file is not a database", "malformed", "disk image")


class UnreachableError(StoreError):
    """A database that does not answer, or no longer: what was under way did not happen, or is known by its key."""


class Database:
    """Connections to one database whose schema is up to date. May be shared by threads, not by processes."""

    def __init__(self, engine: Engine) -> None:
        """Use an engine as it is; `open` is the way to get one that is set up."""
        self.engine = engine

    @classmethod
    def open(cls, url: str, *, connections: int = CONNECTIONS, version: int | None = None) -> "Database":
        """Open the database at a URL, make it if it is an SQLite file, and bring its schema to the newest version.

        So many connections are kept open once they were needed, and a few more are opened while all are in use.
        Another `version` is for tests of upgrading. Raises `ConfigError` for a URL that cannot be one, and `StoreError`
        for a database that cannot be reached, is damaged, or has a schema newer than this code.
        """
        database = cls(_engine(_checked(url), connections))
        try:
            # As a rule there is nothing to do: whoever is writing need not be waited for to see that.
            with database.reading() as connection:
                is_due = version_of(connection) != (newest() if version is None else version)
            if is_due:
                with database.writing() as connection:
                    upgrade(connection, version)
        except StoreError as error:
            database.close()
            if str(error).startswith(database.name):
                raise
            raise type(error)(f"{database.name}: {error}") from error
        return database

    @property
    def name(self) -> str:
        """The URL, without a password."""
        return self.engine.url.render_as_string(hide_password=True)

    @property
    def is_postgres(self) -> bool:
        """Whether this is PostgreSQL."""
        return self.engine.dialect.name == "postgresql"

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that changes nothing and that no writer holds up."""
        with self._translated(), self.engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction; on SQLite the only one that writes, from its beginning to its end."""
        with self._translated(), self.engine.connect() as connection:
            # How many rows a statement has inserted is not kept for later by itself.
            connection.execution_options(**{_WRITES: True}, preserve_rowcount=True)
            with connection.begin():
                yield connection

    @contextmanager
    def alone_with(self, name: str) -> Iterator[None]:
        """Keep others from being alone with what is called so, in whatever process, as long as the block runs.

        On PostgreSQL: a file of SQLite's has one service, which sees to that itself.
        """
        if not self.is_postgres:
            yield
            return
        with self.writing() as connection:
            connection.execute(select(func.pg_advisory_xact_lock(_ALONE, func.hashtext(name))))
            yield

    def insert(self, table: Table) -> Any:
        """An INSERT that has `on_conflict_do_nothing` and `on_conflict_do_update`, which both databases spell alike."""
        made: Insert = postgresql.insert(table) if self.is_postgres else sqlite.insert(table)
        return made

    def close(self) -> None:
        """Close the connections that nobody uses."""
        self.engine.dispose()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Errors of the database as ours."""
        try:
            yield
        except DBAPIError as error:
            raise self._error(error.orig) from error
        except (psycopg.Error, sqlite3.Error) as error:  # of what is sent past SQLAlchemy, in bulk
            raise self._error(error) from error
        except PoolTimeout as error:  # all are in use, since something holds up everybody: it may pass
            raise UnreachableError(f"{self.name}: cannot be reached, or does not answer: {error}") from error
        except SQLAlchemyError as error:
            raise StoreError(f"{self.name}: {error}") from error

    def _error(self, error: BaseException | None) -> StoreError:
        said = str(error).strip()
        if any(words in said for words in _DAMAGED):
            return StoreError(f"{self.name}: this is no SQLite database, or a damaged one ({said}): restore a copy")
        if isinstance(error, psycopg.OperationalError | sqlite3.OperationalError):
            return UnreachableError(f"{self.name}: cannot be reached, or does not answer: {said}")
        return StoreError(f"{self.name}: {said}")


def _checked(url: str) -> URL:
    try:
        parsed = make_url(url)
    except ArgumentError as error:
        raise ConfigError(f"{url!r} is no address of a database: {_ALLOWED}") from error
    if parsed.drivername not in ("sqlite", "postgresql+psycopg", "postgresql"):
        raise ConfigError(f"{parsed.drivername!r} is no database that is known here: {_ALLOWED}")
    if parsed.drivername == "postgresql":
        return parsed.set(drivername="postgresql+psycopg")
    if parsed.drivername == "sqlite":
        if parsed.database in (None, "", ":memory:"):
            raise ConfigError(f"{url!r} names no file, and nothing would outlive the process: {_ALLOWED}")
        folder = Path(str(parsed.database)).absolute().parent
        if not folder.is_dir():
            raise ConfigError(f"{url!r}: there is no folder {folder}: make it first")
    return parsed


def _engine(url: URL, connections: int) -> Engine:
    if url.get_backend_name() == "postgresql":
        # A pooled connection may have died with the server since it was last used.
        return create_engine(url, pool_size=connections, pool_pre_ping=True)
    engine = create_engine(url, pool_size=connections, connect_args={"timeout": _PATIENCE_S})
    event.listen(engine, "connect", _set_up_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _set_up_sqlite(connection: Any, _: Any) -> None:
    connection.isolation_level = None  # the driver would begin transactions where it sees fit
    # Readers go on while one writes. FULL: Spark forgets a batch once it is here, so it has to be on the disk by then.
    for pragma in ("journal_mode = WAL", "synchronous = FULL", "temp_store = MEMORY", "cache_size = -65536"):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: Connection) -> None:
    # A transaction that reads first and writes later could find that another has written in between, and fail.
    writes = connection.get_execution_options().get(_WRITES)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
