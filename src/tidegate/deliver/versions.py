"""The version of a database's schema, and the steps from one to the next. A step, once released, is never edited."""

import re
from importlib.resources import files
from typing import Final

from sqlalchemy import Connection, inspect

from tidegate.errors import StoreError

# What the steps cannot say alike to both databases. In SQLite, a key of this very type is the row's own number, and
# drawn where none is given. Texts compare by their bytes: faster, and the same everywhere.
_SPELLINGS: Final = {
    "sqlite": {"text": "TEXT", "number": "INTEGER", "generated": ""},
    "postgresql": {"text": 'TEXT COLLATE "C"', "number": "BIGINT", "generated": "GENERATED ALWAYS AS IDENTITY"},
}
_TABLE: Final = "tidegate_schema"
# "tidegate", as a number: whom PostgreSQL's advisory lock is for.
_LOCK: Final = 0x7469646567617465
_COMMENT: Final = re.compile(r"--.*")


def steps() -> list[str]:
    """The steps as SQL, the one to version 1 first."""
    folder = files(__package__) / "migrations"
    return [file.read_text() for file in sorted(folder.iterdir(), key=lambda file: file.name)]


def newest() -> int:
    """The version that this code knows."""
    return len(steps())


def version_of(connection: Connection) -> int:
    """The version of a database's schema; 0: it has none."""
    if not inspect(connection).has_table(_TABLE):
        return 0
    return int(connection.exec_driver_sql(f"SELECT version FROM {_TABLE}").scalar_one())


def upgrade(connection: Connection, target: int | None = None) -> None:
    """Bring the schema to a version, by default the newest, inside the connection's transaction.

    Several processes may try at once: one does it and the others wait. Of a database whose schema is newer than this
    code, which it might misread, nothing is touched.
    """
    known = steps()
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")
    version = version_of(connection)
    if version > len(known):
        raise StoreError(f"its schema has version {version}, this Tidegate knows {len(known)}: upgrade Tidegate")
    if version == 0:
        connection.exec_driver_sql(f"CREATE TABLE {_TABLE} (version INTEGER NOT NULL)")
        connection.exec_driver_sql(f"INSERT INTO {_TABLE} VALUES (0)")
    for number, step in enumerate(known[version:target], version + 1):
        sql = _COMMENT.sub("", step.format(**_SPELLINGS[connection.dialect.name]))
        for statement in filter(str.strip, sql.split(";")):
            connection.exec_driver_sql(statement)
        connection.exec_driver_sql(f"UPDATE {_TABLE} SET version = {number}")
